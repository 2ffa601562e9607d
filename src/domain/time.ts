// Instants, durations and ranges. Wire times are RFC 3339 text and are read and written only here.
// Inside, an instant is an integer of milliseconds since the UTC epoch; ranges are half-open.

/** The period [startMs, stopMs): includes the start, excludes the stop. */
export interface TimeRange {
  readonly startMs: number
  readonly stopMs: number
}

/** All possible times of a measurement. */
export const EVER: TimeRange = { startMs: Date.UTC(1900, 0, 1), stopMs: Date.UTC(2200, 0, 1) }

export const SECOND_MS = 1_000
export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

const DAYS_BEFORE_MONTH = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]
const DIGIT_ZERO = 48

/** Start of the window of `windowMs` on the epoch grid that holds `atMs`. */
export function floorToWindow(atMs: number, windowMs: number): number {
  return Math.floor(atMs / windowMs) * windowMs
}

/** First window edge at or after `atMs`. */
export function ceilToWindow(atMs: number, windowMs: number): number {
  return Math.ceil(atMs / windowMs) * windowMs
}

/** `2026-11-20T10:15:00.000Z`: always UTC, always three fraction digits. */
export function formatInstant(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** `2026-11-20T10:15:00Z`, for people. */
export function formatSecond(atMs: number): string {
  return formatInstant(atMs).replace(/\.\d{3}/, '')
}

/**
 * Reads the RFC 3339 profile of ISO 8601: `T` or `t`, `Z`, `z` or an offset, up to nine fraction
 * digits, truncated to the millisecond. Rejects a leap second (`:60`).
 *
 * @returns the instant, or `undefined` if `text` has another form or names no real moment
 */
export function parseInstant(text: string): number | undefined {
  if (text.length < 20 || text.length > 35) return undefined
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2)
  const month = twoDigits(text, 5)
  const day = twoDigits(text, 8)
  const hour = twoDigits(text, 11)
  const minute = twoDigits(text, 14)
  const second = twoDigits(text, 17)
  const isDate = text[4] === '-' && text[7] === '-' && (text[10] === 'T' || text[10] === 't')
  if (!isDate || text[13] !== ':' || text[16] !== ':') return undefined
  // Comparisons with NaN are false, so a missing digit fails here too.
  if (!(year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month)))
    return undefined
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return undefined
  const fraction = readFraction(text)
  if (fraction === undefined) return undefined
  const offsetMs = readOffset(text, fraction.end)
  if (offsetMs === undefined) return undefined
  const days = daysSinceEpoch(year, month, day)
  const ofDayMs = hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS + fraction.ms
  return days * DAY_MS + ofDayMs - offsetMs
}

function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - DIGIT_ZERO
  const ones = text.charCodeAt(at + 1) - DIGIT_ZERO
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN
}

function readFraction(text: string): { ms: number; end: number } | undefined {
  if (text[19] !== '.') return { ms: 0, end: 19 }
  let ms = 0
  let end = 20
  for (let weight = 100; end < text.length; end++, weight /= 10) {
    const digit = text.charCodeAt(end) - DIGIT_ZERO
    if (digit < 0 || digit > 9) break
    if (weight >= 1) ms += digit * weight
  }
  const digits = end - 20
  return digits >= 1 && digits <= 9 ? { ms, end } : undefined
}

function readOffset(text: string, at: number): number | undefined {
  const sign = text[at]
  if (sign === 'Z' || sign === 'z') return text.length === at + 1 ? 0 : undefined
  if ((sign !== '+' && sign !== '-') || text.length !== at + 6 || text[at + 3] !== ':') {
    return undefined
  }
  const hours = twoDigits(text, at + 1)
  const minutes = twoDigits(text, at + 4)
  if (!(hours <= 23 && minutes <= 59)) return undefined
  const offsetMs = hours * HOUR_MS + minutes * MINUTE_MS
  return sign === '-' ? -offsetMs : offsetMs
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

function daysSinceEpoch(year: number, month: number, day: number): number {
  const before = year - 1
  const leapDays = Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400)
  const leapDayThisYear = month > 2 && isLeapYear(year) ? 1 : 0
  const dayOfYear = (DAYS_BEFORE_MONTH[month - 1] ?? 0) + leapDayThisYear + day - 1
  return before * 365 + leapDays + dayOfYear - 719_162
}
