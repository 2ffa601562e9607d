// The period that a chart shows: pure rules for zooming and moving, and its form in the URL.
//
// A live period ends now and advances with time. A period moved up to now becomes live.

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const SPAN_MS_MIN = MINUTE_MS
const SPAN_MS_MAX = 10 * 365 * DAY_MS
/** Sensors have no data before this; by default the service accepts nothing older. */
const FIRST_MS = Date.UTC(2000, 0, 1)

/**
 * @typedef {{ readonly fromMs: number, readonly toMs: number, readonly isLive: boolean }} Period
 */

/** The period of a URL without one. */
export const FIRST_PERIOD = '1d'

/** The periods with a button. */
export const SPANS = /** @type {const} */ ([
  { name: '1h', label: '1 h', title: 'Last hour', spanMs: HOUR_MS },
  { name: '1d', label: '1 d', title: 'Last day', spanMs: DAY_MS },
  { name: '1w', label: '1 w', title: 'Last week', spanMs: 7 * DAY_MS },
  { name: '1m', label: '1 mo', title: 'Last 30 days', spanMs: 30 * DAY_MS },
  { name: '1y', label: '1 y', title: 'Last year', spanMs: 365 * DAY_MS },
])

/** @param {number} spanMs @param {number} nowMs @returns {Period} */
export function livePeriod(spanMs, nowMs) {
  return { fromMs: nowMs - spanMs, toMs: nowMs, isLive: true }
}

/**
 * @param {number} fromMs
 * @param {number} toMs
 * @param {number} nowMs
 * @returns {Period}
 */
export function fixedPeriod(fromMs, toMs, nowMs) {
  const spanMs = Math.round(Math.min(SPAN_MS_MAX, Math.max(SPAN_MS_MIN, toMs - fromMs)))
  const endMs = Math.round((fromMs + toMs + spanMs) / 2)
  if (endMs >= nowMs) return livePeriod(spanMs, nowMs)
  const startMs = Math.max(FIRST_MS, endMs - spanMs)
  return { fromMs: startMs, toMs: startMs + spanMs, isLive: false }
}

/**
 * @param {Period} period
 * @param {number} factor below 1: closer
 * @param {number} atMs stays in place
 * @param {number} nowMs
 */
export function zoomed({ fromMs, toMs, isLive }, factor, atMs, nowMs) {
  const spanMs = toMs - fromMs
  const newSpanMs = Math.min(SPAN_MS_MAX, Math.max(SPAN_MS_MIN, spanMs * factor))
  // A live period stays live when zoomed at its end.
  if (isLive && toMs - atMs < spanMs * 0.02) return livePeriod(newSpanMs, nowMs)
  const startMs = atMs - (atMs - fromMs) * (newSpanMs / spanMs)
  return fixedPeriod(startMs, startMs + newSpanMs, nowMs)
}

/** @param {Period} period @param {number} byMs @param {number} nowMs */
export function moved({ fromMs, toMs }, byMs, nowMs) {
  return fixedPeriod(fromMs + byMs, toMs + byMs, nowMs)
}

/**
 * A period with the same end and another span.
 *
 * @param {Period} period
 * @param {number} spanMs
 * @param {number} nowMs
 */
export function ofSpan({ toMs, isLive }, spanMs, nowMs) {
  return isLive ? livePeriod(spanMs, nowMs) : fixedPeriod(toMs - spanMs, toMs, nowMs)
}

/** The same days a year earlier. @param {Period} period @param {number} nowMs */
export function yearEarlier({ fromMs, toMs }, nowMs) {
  const from = new Date(fromMs)
  from.setFullYear(from.getFullYear() - 1)
  return fixedPeriod(from.getTime(), from.getTime() + toMs - fromMs, nowMs)
}

/** A live period moved to the current time. @param {Period} period @param {number} nowMs */
export function ofNow(period, nowMs) {
  return period.isLive ? livePeriod(period.toMs - period.fromMs, nowMs) : period
}

/**
 * The name of a period, for URLs and keys: `1d`, `5400s`, or two times.
 *
 * @param {Period} period
 */
export function periodName({ fromMs, toMs, isLive }) {
  const spanMs = toMs - fromMs
  if (!isLive) return `${instant(fromMs)}/${instant(toMs)}`
  return SPANS.find((span) => span.spanMs === spanMs)?.name ?? `${Math.round(spanMs / 1_000)}s`
}

/**
 * @param {string} name
 * @param {number} nowMs
 * @returns {Period} the last day if the name is not valid
 */
export function periodNamed(name, nowMs) {
  const span = SPANS.find((known) => known.name === name)
  if (span !== undefined) return livePeriod(span.spanMs, nowMs)
  const seconds = /^(\d{1,9})s$/.exec(name)?.[1]
  if (seconds !== undefined) {
    return livePeriod(Math.min(SPAN_MS_MAX, Math.max(SPAN_MS_MIN, Number(seconds) * 1_000)), nowMs)
  }
  const [fromMs = NaN, toMs = NaN] = name.split('/').map((text) => Date.parse(text))
  return fromMs < toMs ? fixedPeriod(fromMs, toMs, nowMs) : livePeriod(DAY_MS, nowMs)
}

/** To the second: people read URLs. @param {number} atMs */
function instant(atMs) {
  return new Date(atMs).toISOString().replace(/\.\d+Z$/, 'Z')
}
