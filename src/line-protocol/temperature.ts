// Which fields of a point are temperatures, and what they are in degrees Celsius.

import { roundCelsius } from '../domain/sensor.ts'
import type { Point } from './point.ts'
import { decodeText } from './point.ts'

type Unit = 'celsius' | 'fahrenheit' | 'kelvin'

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
export function isTemperature(point: Point, key: string, more: ReadonlySet<string>): boolean {
  const name = decodeText(key).toLowerCase()
  if (NEVER.test(name)) return false
  const domain = tagOf(point, 'domain')
  if (domain !== undefined && SET_POINT_DOMAINS.has(domain)) return name === 'current_temperature'
  if (NAMED.test(name) || OTHER_NAMES.has(name) || more.has(name)) return true
  return VALUES.has(name) && isOfTemperatures(point)
}

/** The temperature that a field says, in degrees Celsius. */
export function celsiusOf(point: Point, key: string, value: number): number {
  const unit = unitOfField(point, decodeText(key).toLowerCase())
  if (unit === 'fahrenheit') return roundCelsius(((value - 32) * 5) / 9)
  // −0 is 0.
  return unit === 'kelvin' ? roundCelsius(value - KELVIN_OFFSET) : value + 0
}

/** The value of a tag, readable. */
export function tagOf({ tags }: Point, key: string): string | undefined {
  const value = tags.find((tag) => tag.key === key)?.value
  return value === undefined ? undefined : decodeText(value)
}

function isOfTemperatures(point: Point): boolean {
  const measurement = decodeText(point.measurement)
  return (
    UNITS.has(measurement) ||
    MEASUREMENT.test(measurement.toLowerCase()) ||
    unitOfTags(point) !== undefined ||
    tagOf(point, 'type') === 'temperature'
  )
}

function unitOfField(point: Point, name: string): Unit {
  const suffix = SUFFIX.exec(name)
  if (suffix !== null) {
    if (suffix[1] !== undefined) return 'fahrenheit'
    return suffix[2] === undefined ? 'celsius' : 'kelvin'
  }
  return UNITS.get(decodeText(point.measurement)) ?? unitOfTags(point) ?? 'celsius'
}

function unitOfTags(point: Point): Unit | undefined {
  for (const key of UNIT_TAGS) {
    const unit = UNITS.get(tagOf(point, key) ?? '')
    if (unit !== undefined) return unit
  }
  return undefined
}
