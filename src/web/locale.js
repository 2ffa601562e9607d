// The language, clock and unit of the page. Its words are English, so its numbers and dates are,
// too: those of the browser's language where that is English, else British ones, with the hours of
// the browser's language. The unit is the one usual in the browser's country, until you choose.

/** @typedef {'C' | 'F'} Unit */

const UNIT = 'thermolog.unit'
const FAHRENHEIT_COUNTRIES = 'US PR GU VI AS MP UM BS BZ KY PW FM MH LR'.split(' ')

const { language } = navigator

export const LOCALE = language.startsWith('en') ? language : 'en-GB'

/** The hours of the browser's language, as options of a format. */
export const HOURS = hoursOf(language)

/** @type {Unit} */
export const UNIT_SHOWN = chosenUnit()

/** Shows the page in a unit from when it is loaded again. @param {Unit} unit */
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
 * @returns {Intl.DateTimeFormatOptions} hours with two digits only where days have 24 of them
 */
function hoursOf(locale) {
  const { hourCycle = 'h23' } = new Intl.DateTimeFormat(locale, {
    hour: 'numeric',
  }).resolvedOptions()
  const isWholeDay = hourCycle === 'h23' || hourCycle === 'h24'
  return { hour: isWholeDay ? '2-digit' : 'numeric', hourCycle }
}
