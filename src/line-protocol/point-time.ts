// The time of a point: a decimal number since 1970, in the unit that the request names.

export interface PointTime {
  /** Decimal. */
  readonly nanoseconds: string
  /** Truncated to the millisecond. */
  readonly measuredAtMs: number
}

/** Nanoseconds by unit name, as in `precision`. */
const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['n', 1n],
  ['ns', 1n],
  ['u', 1_000n],
  ['us', 1_000n],
  ['µ', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
])

const V2_UNITS: ReadonlySet<string> = new Set(['ns', 'us', 'ms', 's'])
const NS_PER_MS = 1_000_000n
const NS_MAX = 2n ** 63n

/** Nanoseconds of a unit, `undefined` if this version of the API does not have it. */
export function unitOf(precision: string, version: 'v1' | 'v2'): bigint | undefined {
  return version === 'v2' && !V2_UNITS.has(precision) ? undefined : UNITS.get(precision)
}

/** The zeros that turn common units into nanoseconds. */
const ZEROS: ReadonlyMap<bigint, string> = new Map([
  [1n, ''],
  [1_000n, '000'],
  [1_000_000n, '000000'],
  [1_000_000_000n, '000000000'],
])
const NS_DIGITS = 19
const MS_DIGITS = 13
const ZERO = 48

/** @returns `undefined` for a time that does not fit 64 bits of nanoseconds */
export function pointTime(text: string, unitNs: bigint): PointTime | undefined {
  const zeros = ZEROS.get(unitNs)
  if (zeros !== undefined) {
    const nanoseconds = text + zeros
    const measuredAtMs = usualTime(nanoseconds)
    if (measuredAtMs !== undefined) return { nanoseconds, measuredAtMs }
  }
  const ns = BigInt(text) * unitNs
  if (ns >= NS_MAX || ns < -NS_MAX) return undefined
  const cutMs = ns / NS_PER_MS
  const measuredAtMs = Number(ns < 0n && ns % NS_PER_MS !== 0n ? cutMs - 1n : cutMs)
  return { nanoseconds: String(ns), measuredAtMs }
}

/** Milliseconds of a time after 2001 and before 2255, without BigInt, which is slow. */
function usualTime(nanoseconds: string): number | undefined {
  const first = nanoseconds.charCodeAt(0) - ZERO
  if (nanoseconds.length !== NS_DIGITS || first < 1 || first > 8) return undefined
  let ms = first
  for (let at = 1; at < MS_DIGITS; at++) ms = ms * 10 + nanoseconds.charCodeAt(at) - ZERO
  return ms
}
