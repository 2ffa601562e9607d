// Numbers and times as text, in the page's language and unit and the browser's time zone.

import { nowMs } from './clock.js'
import { HOURS, LOCALE, UNIT_SHOWN, differenceInUnit, inUnit } from './locale.js'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const oneDigit = digits(1)
const twoDigits = digits(2)
const signed = new Intl.NumberFormat(LOCALE, {
  signDisplay: 'exceptZero',
  minimumFractionDigits: 1,
  maximumFractionDigits: 6,
})
const whole = new Intl.NumberFormat(LOCALE)
const ago = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })

/** @type {Intl.DateTimeFormatOptions} */
const clock = { ...HOURS, minute: '2-digit' }
/** @type {Intl.DateTimeFormatOptions} */
const second = { ...clock, second: '2-digit' }
/** @type {Intl.DateTimeFormatOptions} */
const date = { day: 'numeric', month: 'short' }
/** @type {Intl.DateTimeFormatOptions} */
const day = { weekday: 'short', ...date }
const year = /** @type {const} */ ({ year: 'numeric' })
const formats = {
  time: format(clock),
  second: format(second),
  dayOfYear: format({ ...day, ...year }),
  date: format(date),
  month: format({ month: 'short' }),
  monthOfYear: format({ month: 'long', ...year }),
  day: format(day),
  dateAndTime: format({ ...date, ...clock }),
  yearAndTime: format({ ...date, ...year, ...clock }),
  year: format(year),
}
/** With the year if it is not the current one. */
const dayAndTime = dated({ ...day, ...clock })
const fullDay = dated(day)
const shortDay = dated(date)

/** The time zone for days. */
export const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

/** @param {number} celsius */
export function shortTemp(celsius) {
  return `${minus(oneDigit.format(inUnit(celsius)))} °${UNIT_SHOWN}`
}

/** Without the unit. @param {number} lowest @param {number} highest both in degrees Celsius */
export function shortRange(lowest, highest) {
  const [low, high] = [lowest, highest].map((celsius) => minus(oneDigit.format(inUnit(celsius))))
  return `${low} to ${high}`
}

/**
 * With a fixed number of digits, so that changing numbers and columns do not jump.
 *
 * @param {number} celsius
 */
export function temp(celsius) {
  return `${degrees(celsius)} °${UNIT_SHOWN}`
}

/** The same, for places that name the unit elsewhere. @param {number} celsius */
export function degrees(celsius) {
  return minus(twoDigits.format(inUnit(celsius)))
}

/**
 * The marks of an axis in the displayed unit, with as many digits as the step between them.
 *
 * @param {readonly number[]} marks
 * @param {number} step
 */
export function temperatureMarks(marks, step) {
  const number = digits(String(step).split('.')[1]?.length ?? 0)
  return marks.map((temperature) => `${minus(number.format(temperature))}°`)
}

/** @param {number} celsius */
export function difference(celsius) {
  const rounded = Math.round(differenceInUnit(celsius) * 1e6) / 1e6
  return `${minus(signed.format(rounded))} °${UNIT_SHOWN}`
}

/** @param {number} number */
export function count(number) {
  return whole.format(number)
}

/**
 * How long ago something was, in words.
 *
 * @param {number} atMs
 * @param {number} currentMs
 */
export function since(atMs, currentMs) {
  const agoMs = currentMs - atMs
  if (agoMs < 5_000) return 'just now'
  if (agoMs < MINUTE_MS) return ago.format(-Math.floor(agoMs / 1_000), 'second')
  if (agoMs < HOUR_MS) return ago.format(-Math.floor(agoMs / MINUTE_MS), 'minute')
  if (agoMs < 2 * DAY_MS) return ago.format(-Math.floor(agoMs / HOUR_MS), 'hour')
  return ago.format(-Math.floor(agoMs / DAY_MS), 'day')
}

/** @param {number} ms @returns {string} such as `26 h` */
export function span(ms) {
  const minutes = Math.round(ms / MINUTE_MS)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`
}

/** The time today, or day and time. @param {number} atMs @param {number} currentMs */
export function moment(atMs, currentMs) {
  const isToday = dayOf(atMs) === dayOf(currentMs)
  return isToday ? formats.time.format(atMs) : written(dayAndTime(atMs), atMs)
}

/**
 * The same for narrow places; other years have no time.
 *
 * @param {number} atMs
 * @param {number} currentMs
 */
export function shortMoment(atMs, currentMs) {
  if (dayOf(atMs) === dayOf(currentMs)) return formats.time.format(atMs)
  const isThisYear = yearOf(atMs) === yearOf(currentMs)
  return (isThisYear ? formats.dateAndTime : shortDay(atMs)).format(atMs)
}

/**
 * What a point stands for: a day, the two ends of a bucket, or one time.
 *
 * @param {number} atMs
 * @param {number} bucketMs 0 for a single measurement
 */
export function pointTime(atMs, bucketMs) {
  if (bucketMs >= DAY_MS) return written(formats.dayOfYear, atMs)
  return groupedTime(atMs, bucketMs).join(', ')
}

/**
 * The same in two parts: day and time, or month and day.
 *
 * @param {number} atMs
 * @param {number} bucketMs
 * @returns {[group: string, time: string]}
 */
export function groupedTime(atMs, bucketMs) {
  if (bucketMs >= DAY_MS) return [formats.monthOfYear.format(atMs), written(formats.day, atMs)]
  return [written(fullDay(atMs), atMs), timeOfDay(atMs, bucketMs)]
}

/** The same for narrow places. @param {number} atMs @param {number} bucketMs */
export function shortPointTime(atMs, bucketMs) {
  const dateText = shortDay(atMs).format(atMs)
  return bucketMs >= DAY_MS ? dateText : `${dateText}, ${timeOfDay(atMs, bucketMs)}`
}

/** @param {number} fromMs @param {number} toMs */
export function period(fromMs, toMs) {
  const isLong = toMs - fromMs > 14 * DAY_MS
  if (isLong) return written(formats.dayOfYear, fromMs, toMs)
  const isOfThisYear = yearOf(fromMs) === yearOf(nowMs())
  return written(isOfThisYear ? dayAndTime(fromMs) : formats.yearAndTime, fromMs, toMs)
}

/**
 * The marks of a time axis. The first mark of a day or year names it.
 *
 * @param {readonly number[]} marksMs
 * @param {number} stepMs
 */
export function timeMarks(marksMs, stepMs) {
  let before = ''
  return marksMs.map((atMs) => {
    if (stepMs >= 360 * DAY_MS) return formats.year.format(atMs)
    const label = mark(stepMs).format(atMs)
    const greater = (stepMs >= DAY_MS ? formats.year : shortDay(atMs)).format(atMs)
    const isSaid = greater === before
    before = greater
    return isSaid ? label : `${label}\n${greater}`
  })
}

/** @param {number} atMs @param {number} bucketMs */
function timeOfDay(atMs, bucketMs) {
  if (bucketMs === 0) return formats.second.format(atMs)
  const { time, date: dates } = formats
  const endMs = atMs + bucketMs
  // A range over midnight would show dates too.
  return dates.format(atMs) === dates.format(endMs)
    ? time.formatRange(atMs, endMs)
    : `${time.format(atMs)}–${time.format(endMs)}`
}

/**
 * As formatted, with a comma after every weekday: British dates have one or none.
 *
 * @param {Intl.DateTimeFormat} form
 * @param {number} fromMs
 * @param {number} [toMs]
 */
function written(form, fromMs, toMs) {
  const parts =
    toMs === undefined ? form.formatToParts(fromMs) : form.formatRangeToParts(fromMs, toMs)
  return parts.map(({ value }, at) => (parts[at - 1]?.type === 'weekday' ? ', ' : value)).join('')
}

/** @param {number} stepMs */
function mark(stepMs) {
  if (stepMs >= 28 * DAY_MS) return formats.month
  if (stepMs >= DAY_MS) return formats.date
  return stepMs < MINUTE_MS ? formats.second : formats.time
}

/** @param {Intl.DateTimeFormatOptions} options */
function format(options) {
  return new Intl.DateTimeFormat(LOCALE, options)
}

/**
 * @param {Intl.DateTimeFormatOptions} options
 * @returns {(atMs: number) => Intl.DateTimeFormat} what formats a time of that year
 */
function dated(options) {
  const [ofThisYear, ofOthers] = [format(options), format({ ...options, ...year })]
  return (atMs) => (yearOf(atMs) === yearOf(nowMs()) ? ofThisYear : ofOthers)
}

/** @param {number} atMs */
function dayOf(atMs) {
  return new Date(atMs).toDateString()
}

/** @param {number} atMs */
function yearOf(atMs) {
  return new Date(atMs).getFullYear()
}

/** @param {number} decimals */
function digits(decimals) {
  return new Intl.NumberFormat(LOCALE, {
    signDisplay: 'negative',
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  })
}

/** A real minus sign, which is as wide as a plus. @param {string} text */
function minus(text) {
  return text.replace('-', '−')
}
