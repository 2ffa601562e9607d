// The page's language, clock and unit. Its words are English, so its numbers and dates are too: in
// the browser's English, or else British, with the hours of the browser's language. The unit is the
// usual one in the browser's country until you choose.

/** @typedef {'C' | 'F'} Unit */

const UNIT = 'thermolog.unit'
const FAHRENHEIT_COUNTRIES = 'US PR GU VI AS MP UM BS BZ KY PW FM MH LR'.split(' ')

const { language } = navigator

export const LOCALE = language.startsWith('en') ? language : 'en-GB'

/** The hours of the browser's language, as format options. */
export const HOURS = hoursOf(language)

/** @type {Unit} */
export const UNIT_SHOWN = chosenUnit()

/** Sets the unit for the next time the page is loaded. @param {Unit} unit */
export function chooseUnit(unit) {
  localStorage.setItem(UNIT, unit)
}

/** @returns {Unit} */
export function chosenUnit() {
  const chosen = globalThis.localStorage?.getItem(UNIT)
  if (chosen === 'C' || chosen === 'F') return chosen
  return FAHRENHEIT_COUNTRIES.includes(new Intl.Locale(language).region ?? '') ? 'F' : 'C'
}

/** @param {number} celsius @returns {number} in the unit that is shown */
export function inUnit(celsius) {
  return UNIT_SHOWN === 'C' ? celsius : celsius * 1.8 + 32
}

/** @param {number} celsius between two temperatures @returns {number} in the unit that is shown */
export function differenceInUnit(celsius) {
  return UNIT_SHOWN === 'C' ? celsius : celsius * 1.8
}

/** @param {number} difference in the unit that is shown @returns {number} in degrees Celsius */
export function celsiusOfDifference(difference) {
  return UNIT_SHOWN === 'C' ? difference : difference / 1.8
}

/**
 * @param {string} locale
 * @returns {Intl.DateTimeFormatOptions} two-digit hours only for a 24-hour clock
 */
function hoursOf(locale) {
  const { hourCycle = 'h23' } = new Intl.DateTimeFormat(locale, {
    hour: 'numeric',
  }).resolvedOptions()
  const isWholeDay = hourCycle === 'h23' || hourCycle === 'h24'
  return { hour: isWholeDay ? '2-digit' : 'numeric', hourCycle }
}
