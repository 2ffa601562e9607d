// Numbers and times in the browser's language and time zone.

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const oneDigit = new Intl.NumberFormat(undefined, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
})
const twoDigits = new Intl.NumberFormat(undefined, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 2,
})
const signed = new Intl.NumberFormat(undefined, {
  signDisplay: 'exceptZero',
  minimumFractionDigits: 1,
  maximumFractionDigits: 6,
})
const whole = new Intl.NumberFormat()
const ago = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })

const clock = { hour: '2-digit', minute: '2-digit' }
const day = { weekday: 'short', day: 'numeric', month: 'short' }
const formats = {
  time: format(clock),
  second: format({ ...clock, second: '2-digit' }),
  day: format(day),
  dayOfYear: format({ ...day, year: 'numeric' }),
  dayAndTime: format({ ...day, ...clock }),
  dayAndSecond: format({ ...day, ...clock, second: '2-digit' }),
  full: format({ dateStyle: 'medium', timeStyle: 'medium' }),
  shortDay: format({ day: 'numeric', month: 'short' }),
  month: format({ month: 'short' }),
  year: format({ year: 'numeric' }),
}

/** The time zone for days. */
export const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

/** @param {number} celsius */
export function shortTemp(celsius) {
  return `${minus(oneDigit.format(celsius))} °C`
}

/** @param {number} celsius */
export function temp(celsius) {
  return `${minus(twoDigits.format(celsius))} °C`
}

/**
 * The marks of an axis: all with as many digits as the step between them has.
 *
 * @param {readonly number[]} marks
 * @param {number} step
 */
export function temperatureMarks(marks, step) {
  const digits = String(step).split('.')[1]?.length ?? 0
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  const number = new Intl.NumberFormat(undefined, options)
  return marks.map((celsius) => `${minus(number.format(celsius))}°`)
}

/** @param {number} celsius */
export function difference(celsius) {
  return `${minus(signed.format(celsius))} °C`
}

/** @param {number} number */
export function count(number) {
  return whole.format(number)
}

/**
 * How long ago something was, in words.
 *
 * @param {number} atMs
 * @param {number} nowMs
 */
export function since(atMs, nowMs) {
  const agoMs = nowMs - atMs
  if (agoMs < 5_000) return 'just now'
  if (agoMs < MINUTE_MS) return ago.format(-Math.floor(agoMs / 1_000), 'second')
  if (agoMs < HOUR_MS) return ago.format(-Math.floor(agoMs / MINUTE_MS), 'minute')
  if (agoMs < 2 * DAY_MS) return ago.format(-Math.floor(agoMs / HOUR_MS), 'hour')
  return ago.format(-Math.floor(agoMs / DAY_MS), 'day')
}

/** The time of today, or day and time. @param {number} atMs @param {number} nowMs */
export function moment(atMs, nowMs) {
  const isToday = formats.dayOfYear.format(atMs) === formats.dayOfYear.format(nowMs)
  return (isToday ? formats.time : formats.dayAndTime).format(atMs)
}

/** @param {number} atMs */
export function fullMoment(atMs) {
  return formats.full.format(atMs)
}

/**
 * What a point stands for: a day, the two ends of a bucket, or a moment.
 *
 * @param {number} atMs
 * @param {number} bucketMs 0 for a single measurement
 */
export function pointTime(atMs, bucketMs) {
  if (bucketMs === 0) return formats.dayAndSecond.format(atMs)
  if (bucketMs >= DAY_MS) return formats.dayOfYear.format(atMs)
  return formats.dayAndTime.formatRange(atMs, atMs + bucketMs)
}

/** @param {number} fromMs @param {number} toMs */
export function period(fromMs, toMs) {
  const days = (toMs - fromMs) / DAY_MS
  return (days > 14 ? formats.dayOfYear : formats.dayAndTime).formatRange(fromMs, toMs)
}

/**
 * The marks of a time axis. The first of a day, and of a year, says which one it is.
 *
 * @param {readonly number[]} marksMs
 * @param {number} stepMs
 */
export function timeMarks(marksMs, stepMs) {
  let before = ''
  return marksMs.map((atMs) => {
    if (stepMs >= 360 * DAY_MS) return formats.year.format(atMs)
    const isMonth = stepMs >= 28 * DAY_MS
    const label = (
      isMonth ? formats.month : stepMs >= DAY_MS ? formats.shortDay : fine(stepMs)
    ).format(atMs)
    const greater = (stepMs >= DAY_MS ? formats.year : formats.shortDay).format(atMs)
    const isSaid = greater === before
    before = greater
    return isSaid ? label : `${label}\n${greater}`
  })
}

/** @param {number} stepMs */
function fine(stepMs) {
  return stepMs < MINUTE_MS ? formats.second : formats.time
}

/** @param {Intl.DateTimeFormatOptions | object} options */
function format(options) {
  return new Intl.DateTimeFormat(undefined, options)
}

/** A real minus sign, which is as wide as a plus. @param {string} text */
function minus(text) {
  return text.replace('-', '−')
}
