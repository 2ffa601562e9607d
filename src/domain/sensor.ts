// A sensor as its user sees it: identity, alias, compensation, latest value, online or not.

/** The newest reading of a sensor; of several at the same time, the one accepted last. */
export interface LatestReading {
  readonly measuredAtMs: number
  readonly rawCelsius: number
}

/**
 * Which measurements of a sensor have been accepted: differs whenever another one has been. Opaque
 * to all but the journal's adapter; others may only test equality.
 */
export type DataVersion = string

export interface Sensor {
  readonly id: number
  readonly userId: number
  /** The serial number as it was first spelled. */
  readonly serialNumber: string
  readonly alias: string
  readonly compensationCelsius: number
  readonly createdAtMs: number
  /** When a new measurement of it was last received; `null` before the first. */
  readonly lastSeenAtMs: number | null
  readonly latest: LatestReading | null
  readonly dataVersion: DataVersion
}

/** What an owner may change. */
export interface SensorChange {
  readonly alias?: string
  readonly compensationCelsius?: number
}

/** Sums are rounded to this many decimals, so that 11.75 − 0.4 is 11.35. */
const DECIMALS = 1_000_000

/** Rounds to 6 decimals; −0 becomes 0. */
export function roundCelsius(celsius: number): number {
  const scaled = celsius * DECIMALS
  // Beyond 2^53 a double has no sixth decimal to round.
  return Math.abs(scaled) < Number.MAX_SAFE_INTEGER ? Math.round(scaled) / DECIMALS + 0 : celsius
}

/** The value shown for a raw one: unchanged without compensation, else the rounded sum. */
export function compensate(rawCelsius: number, compensationCelsius: number): number {
  return compensationCelsius === 0 ? rawCelsius : roundCelsius(rawCelsius + compensationCelsius)
}

export interface OnlineSettings {
  /** A sensor not heard from for this long is offline. */
  readonly offlineAfterMs: number
  /** How far ahead of its receipt a measurement may be. */
  readonly futureMsMax: number
}

/** Online is who was heard from since the one, and whose latest time is between both. */
export interface OnlineTimes {
  readonly sinceMs: number
  readonly untilMs: number
}

export function onlineTimes(
  nowMs: number,
  { offlineAfterMs, futureMsMax }: OnlineSettings,
): OnlineTimes {
  return { sinceMs: nowMs - offlineAfterMs, untilMs: nowMs + futureMsMax }
}

/**
 * Online means recently heard from and recently measured: backfilled old data do not count, nor
 * does what came while the service's own clock was ahead.
 */
export function isOnline(
  { lastSeenAtMs, latest }: Sensor,
  { sinceMs, untilMs }: OnlineTimes,
): boolean {
  if (lastSeenAtMs === null || latest === null) return false
  const { measuredAtMs } = latest
  return lastSeenAtMs >= sinceMs && measuredAtMs >= sinceMs && measuredAtMs <= untilMs
}

/**
 * Whether a newly accepted measurement becomes the latest: it is not earlier, or the latest is
 * later than anything accepted now, because the service's own clock was ahead then.
 *
 * @param acceptedMsMax MAX_FUTURE after the receipt
 */
export function becomesLatest(
  measuredAtMs: number,
  latestAtMs: number,
  acceptedMsMax: number,
): boolean {
  return measuredAtMs >= latestAtMs || latestAtMs > acceptedMsMax
}

/**
 * Two spellings with the same key are the same sensor: case is ignored; `:`, `-`, `.` and `_` are
 * ignored if the rest is 8 or more hexadecimal digits.
 */
export function serialNumberKey(serialNumber: string): string {
  const lower = serialNumber.toLowerCase()
  const bare = lower.replace(/[:._-]/g, '')
  return /^[0-9a-f]{8,}$/.test(bare) ? bare : lower
}
