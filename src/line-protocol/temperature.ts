// Which fields of a point are temperatures, and what they are in degrees Celsius.

import { roundCelsius } from '../domain/sensor.ts'
import type { SeriesKey } from './point.ts'
import { decodeText } from './point.ts'

export type Unit = 'celsius' | 'fahrenheit' | 'kelvin'

const NAMED = /^(?:temp|temperature)(?:_\d+)?(?:_(?:c|f|k|celsius|fahrenheit|kelvin))?$/
const OTHER_NAMES = new Set(['temp_input', 'current_temperature'])
const VALUES = new Set(['value', 'gauge'])
const MEASUREMENT = /(?:temp|temperature|temp_celsius)$/
const NEVER = /_(?:min|max|crit|high|low)$|^(?:target|set)/
const SUFFIX = /_(?:(f|fahrenheit)|(k|kelvin)|c|celsius)$/
const UNITS: ReadonlyMap<string, Unit> = new Map([
  ['°C', 'celsius'],
  ['°F', 'fahrenheit'],
  ['K', 'kelvin'],
])
const UNIT_TAGS = ['unit', 'unit_of_measurement']
/** Their `temperature` is what somebody wants, not what is measured. */
const SET_POINT_DOMAINS = new Set(['climate', 'water_heater'])

const KELVIN_OFFSET = 273.15

/**
 * Whether a numeric field is a temperature.
 *
 * @param more further names, in lower case
 */
export function isTemperature(series: SeriesKey, key: string, more: ReadonlySet<string>): boolean {
  const name = decodeText(key).toLowerCase()
  if (NEVER.test(name)) return false
  const domain = tagOf(series, 'domain')
  if (domain !== undefined && SET_POINT_DOMAINS.has(domain)) return name === 'current_temperature'
  if (NAMED.test(name) || OTHER_NAMES.has(name) || more.has(name)) return true
  return VALUES.has(name) && isOfTemperatures(series)
}

/** A temperature in degrees Celsius. */
export function celsiusOf(value: number, unit: Unit): number {
  if (unit === 'fahrenheit') return roundCelsius(((value - 32) * 5) / 9)
  // −0 is 0.
  return unit === 'kelvin' ? roundCelsius(value - KELVIN_OFFSET) : value + 0
}

/** The value of a tag, readable. */
export function tagOf({ tags }: SeriesKey, key: string): string | undefined {
  const value = tags.find((tag) => tag.key === key)?.value
  return value === undefined ? undefined : decodeText(value)
}

function isOfTemperatures(series: SeriesKey): boolean {
  const measurement = decodeText(series.measurement)
  return (
    UNITS.has(measurement) ||
    MEASUREMENT.test(measurement.toLowerCase()) ||
    unitOfTags(series) !== undefined ||
    tagOf(series, 'type') === 'temperature'
  )
}

/** The unit in which a temperature is sent. */
export function unitOfField(series: SeriesKey, key: string): Unit {
  const suffix = SUFFIX.exec(decodeText(key).toLowerCase())
  if (suffix !== null) {
    if (suffix[1] !== undefined) return 'fahrenheit'
    return suffix[2] === undefined ? 'celsius' : 'kelvin'
  }
  return UNITS.get(decodeText(series.measurement)) ?? unitOfTags(series) ?? 'celsius'
}

function unitOfTags(series: SeriesKey): Unit | undefined {
  for (const key of UNIT_TAGS) {
    const unit = UNITS.get(tagOf(series, key) ?? '')
    if (unit !== undefined) return unit
  }
  return undefined
}
