// Which fields of a point are temperatures, and their values in degrees Celsius.

import { roundCelsius } from '../domain/sensor.ts'
import type { SeriesKey } from './point.ts'
import { decodeText } from './point.ts'

export type Unit = 'celsius' | 'fahrenheit' | 'kelvin'

const NAMED = /^(?:temp|temperature)(?:_\d+)?(?:_(?:c|f|k|celsius|fahrenheit|kelvin))?$/
const OTHER_NAMES = new Set([
  'temp_input',
  'current_temperature',
  'temperature_gpu',
  'flow_temperature',
  'probetemp',
])
const VALUES = new Set(['value', 'gauge'])
const MEASUREMENT = /(?:temp|temperature|temp_celsius)$/
const NEVER = /_(?:min|max|crit|high|low)$|^(?:target|set)/
/** The colour temperature of light. */
const COLOUR = /colou?r_temp/
const SUFFIX = /_(?:(f|fahrenheit)|(k|kelvin)|c|celsius)$/
const UNITS: ReadonlyMap<string, Unit> = new Map([
  ['°C', 'celsius'],
  ['°F', 'fahrenheit'],
  ['K', 'kelvin'],
])
const TAGGED_UNITS: readonly (readonly [tag: string, units: ReadonlyMap<string, Unit>])[] = [
  ['unit', new Map([...UNITS, ['degrees_c', 'celsius'], ['degrees_f', 'fahrenheit']])],
  ['unit_of_measurement', UNITS],
]
/** Their `temperature` is a set point, not a measurement. */
const SET_POINT_DOMAINS = new Set(['climate', 'water_heater'])
/** All their values are set points. */
const INPUT_DOMAINS = new Set(['number', 'input_number'])

const KELVIN_OFFSET = 273.15

/** What all fields of a series share. */
export interface SeriesKind {
  /** Whether it has no temperatures, whatever its fields are called. */
  readonly isOther: boolean
  /** Whether its temperatures are set points, except the current one. */
  readonly isSetPoint: boolean
  /** Whether its values are temperatures. */
  readonly isOfTemperatures: boolean
  /** The unit of fields that do not name one. */
  readonly unit: Unit
}

export function kindOf(series: SeriesKey): SeriesKind {
  const measurement = decodeText(series.measurement)
  const domain = tagOf(series, 'domain') ?? ''
  const names = [measurement, tagOf(series, 'entity_id') ?? '']
  const taggedUnits = TAGGED_UNITS.map(([key, units]) => units.get(tagOf(series, key) ?? ''))
  const unitOfTags = taggedUnits.find(Boolean)
  return {
    isOther: INPUT_DOMAINS.has(domain) || names.some((name) => COLOUR.test(name.toLowerCase())),
    isSetPoint: SET_POINT_DOMAINS.has(domain),
    isOfTemperatures:
      UNITS.has(measurement) ||
      MEASUREMENT.test(measurement.toLowerCase()) ||
      unitOfTags !== undefined ||
      tagOf(series, 'type') === 'temperature',
    unit: UNITS.get(measurement) ?? unitOfTags ?? 'celsius',
  }
}

/**
 * Whether a numeric field is a temperature.
 *
 * @param more further names, in lower case
 */
export function isTemperature(kind: SeriesKind, key: string, more: ReadonlySet<string>): boolean {
  const name = decodeText(key).toLowerCase()
  if (kind.isOther || NEVER.test(name) || COLOUR.test(name)) return false
  if (kind.isSetPoint) return name === 'current_temperature'
  if (NAMED.test(name) || OTHER_NAMES.has(name) || more.has(name)) return true
  return VALUES.has(name) && kind.isOfTemperatures
}

/** A temperature in degrees Celsius. */
export function celsiusOf(value: number, unit: Unit): number {
  if (unit === 'fahrenheit') return roundCelsius(((value - 32) * 5) / 9)
  // Turns −0 into 0.
  return unit === 'kelvin' ? roundCelsius(value - KELVIN_OFFSET) : value + 0
}

/** The value of a tag, readable. */
export function tagOf({ tags }: SeriesKey, key: string): string | undefined {
  const value = tags.find((tag) => tag.key === key)?.value
  return value === undefined ? undefined : decodeText(value)
}

/** The unit in which a temperature is sent. */
export function unitOfField(kind: SeriesKind, key: string): Unit {
  const suffix = SUFFIX.exec(decodeText(key).toLowerCase())
  if (suffix === null) return kind.unit
  if (suffix[1] !== undefined) return 'fahrenheit'
  return suffix[2] === undefined ? 'celsius' : 'kelvin'
}
