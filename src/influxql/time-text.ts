// How a response writes times: in the unit of `epoch`, without it as RFC 3339.

import { StatementError } from './scanner.ts'

/** The JSON of a time. */
export type TimeText = (atMs: number) => string

const NS_PER_MS = 1_000_000n
const US_PER_MS = 1_000n

/** Larger units take whole ones, as InfluxDB does: -1 ms is second 0. */
const inUnits = (ms: number) => (atMs: number) => String(Math.trunc(atMs / ms) + 0)
const inParts = (ofMs: bigint) => (atMs: number) => String(BigInt(atMs) * ofMs)

const BY_EPOCH: ReadonlyMap<string, TimeText> = new Map([
  ['ns', inParts(NS_PER_MS)],
  ['u', inParts(US_PER_MS)],
  ['µ', inParts(US_PER_MS)],
  ['ms', String],
  ['s', inUnits(1_000)],
  ['m', inUnits(60_000)],
  ['h', inUnits(3_600_000)],
])

/** @throws StatementError if there is no such unit */
export function timeTextOf(epoch: string | null): TimeText {
  const text = epoch === null ? rfc3339 : BY_EPOCH.get(epoch)
  if (text !== undefined) return text
  const units = [...BY_EPOCH.keys()].join(', ')
  throw new StatementError(`epoch takes ${units}; times without it are RFC 3339`)
}

/** With as many digits of a second as there are. */
function rfc3339(atMs: number): string {
  return `"${new Date(atMs).toISOString().replace(/\.?0{1,3}Z$/, 'Z')}"`
}
