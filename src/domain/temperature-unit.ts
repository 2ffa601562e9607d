// Units of temperature, however they are spelled, and temperatures in degrees Celsius.

import { roundCelsius } from './sensor.ts'

export type TemperatureUnit = 'celsius' | 'fahrenheit' | 'kelvin'

/** Without what stands between and around the words, in lower case. */
const SPELLING = /^(?:degrees?|degs?)?(?:(c|celsius|centigrade)|(f|fahrenheit)|k|kelvins?)$/
const BETWEEN = /[\s_.,*°º˚()[\]-]+|&deg;/g
/** One character for two. */
const JOINED: Readonly<Record<string, string>> = { '℃': 'c', '℉': 'f' }
const MENTIONED = /fahr|celsius|kelvin|[°º˚] ?[cfk]|[℃℉]/i
const SYSTEMS: ReadonlyMap<string, TemperatureUnit> = new Map([
  ['metric', 'celsius'],
  ['imperial', 'fahrenheit'],
])

const KELVIN_OFFSET = 273.15

/** Names of tags, fields and columns that say the unit of temperatures, and of nothing else. */
export const OWN_UNIT = /^temp(?:erature)?[_. -]?units?(?:_str)?$/i
/** Names of those that say the unit of whatever is beside them. */
export const ANY_UNIT = /^(?:units?|unit[_. -]?of[_. -]?measurement)(?:_str)?$/i

/** Whether what is called so says a unit. */
export function isUnitName(name: string): boolean {
  return OWN_UNIT.test(name) || ANY_UNIT.test(name)
}

/** Whether a text speaks of a unit of temperature, even if it is none that is known. */
export function mentionsUnit(text: string): boolean {
  return MENTIONED.test(text)
}

/** The unit that a text is the name of; `undefined` if it is none of a temperature. */
export function unitNamed(text: string): TemperatureUnit | undefined {
  const name = text
    .replaceAll(BETWEEN, '')
    .replaceAll(/[℃℉]/g, (character) => JOINED[character] ?? character)
    .toLowerCase()
  const system = SYSTEMS.get(name)
  if (system !== undefined) return system
  const spelled = SPELLING.exec(name)
  if (spelled === null) return undefined
  if (spelled[1] !== undefined) return 'celsius'
  return spelled[2] === undefined ? 'kelvin' : 'fahrenheit'
}

/** A temperature in degrees Celsius. */
export function celsiusOf(value: number, unit: TemperatureUnit): number {
  if (unit === 'fahrenheit') return roundCelsius(((value - 32) * 5) / 9)
  // Turns −0 into 0.
  return unit === 'kelvin' ? roundCelsius(value - KELVIN_OFFSET) : value + 0
}

/** What is above it is rare, and mostly a number of thousandths. */
const USUAL_CELSIUS_MAX = 200

/** Whether a temperature is rather in thousandths of a degree. */
export function mayBeThousandths(celsius: number): boolean {
  return celsius > USUAL_CELSIUS_MAX && celsius <= USUAL_CELSIUS_MAX * 1_000
}
