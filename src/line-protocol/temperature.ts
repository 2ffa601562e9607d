// Which fields of a point are temperatures, and in which unit.

import { ANY_UNIT, mentionsUnit, OWN_UNIT, unitNamed } from '../domain/temperature-unit.ts'
import type { TemperatureUnit } from '../domain/temperature-unit.ts'
import type { SeriesKey } from './point.ts'
import { decodeText } from './point.ts'

const NAMED = /^(?:temp|temperature?)(?:_\d+)?(?:_(?:c|f|k|celsius|fahrenheit|kelvin))?$/
const OTHER_NAMES = new Set([
  'temp_input',
  'current_temperature',
  'temperature_gpu',
  'flow_temperature',
  'probetemp',
])
const VALUES = new Set(['value', 'gauge'])
/** Named by the measurement or the entity. */
const NAMED_ELSEWHERE = new Set([...VALUES, 'state'])
const MEASUREMENT = /(?:temp|temperature|temp_celsius)$/
const GERMAN = /temperatur$/
/** Of set points and limits. */
const OTHER_GERMAN = /(?:soll|ziel|wunsch|maximal|minimal|höchst|mindest|grenz)temperatur$/
const NEVER = /_(?:min|max|crit|high|low)$|^(?:target|set)/
/** The colour temperature of light. */
const COLOUR = /colou?r_temp|farbtemp/
const SUFFIX = /_(?:(f|fahrenheit)|(k|kelvin)|c|celsius)$/
const UNITS: ReadonlyMap<string, TemperatureUnit> = new Map([
  ['°C', 'celsius'],
  ['°F', 'fahrenheit'],
  ['K', 'kelvin'],
])
/** Tags that make every value a temperature. */
const TAGGED_UNITS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['unit', new Set([...UNITS.keys(), 'degrees_c', 'degrees_f'])],
  ['unit_of_measurement', new Set(UNITS.keys())],
])
/** Their `temperature` is a set point, not a measurement. */
const SET_POINT_DOMAINS = new Set(['climate', 'water_heater'])
/** All their values are set points. */
const INPUT_DOMAINS = new Set(['number', 'input_number'])

const WORD_ENDS = /[\s_.-]+|(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u
/** Words of set points, also in one with what is set. */
const SET_POINT = /^(?:target|set|setpoint|desired|soll|sollwert)(?:temp(?:erature?)?)?\d*$/i

/** What texts beside temperatures say of their unit; `unclear`: none, or several. */
export type SaidUnit = TemperatureUnit | 'unclear' | undefined

/** What all fields of a series share. */
export interface SeriesKind {
  /** Whether it has no temperatures, whatever its fields are called. */
  readonly isOther: boolean
  /** Whether its temperatures are set points, except the current one. */
  readonly isSetPoint: boolean
  /** Whether a value is a set point, going by what measurement or entity are called. */
  readonly isSetPointName: boolean
  /** Whether a value is a temperature, going by what measurement or entity are called. */
  readonly isTemperatureName: boolean
  /** Whether its values are temperatures. */
  readonly isOfTemperatures: boolean
  /** Said by its tags. */
  readonly saidUnit: SaidUnit
  /** The unit of fields for which nothing else says one. */
  readonly unit: TemperatureUnit
}

/** @param more further names of temperatures, in lower case */
export function kindOf(series: SeriesKey, more: ReadonlySet<string>): SeriesKind {
  const measurement = decodeText(series.measurement)
  const domain = tagOf(series, 'domain') ?? ''
  const names = [measurement, tagOf(series, 'entity_id') ?? '']
  const lastParts = names.map((name) =>
    name.slice(Math.max(name.lastIndexOf('.'), name.lastIndexOf('/')) + 1),
  )
  return {
    isOther: INPUT_DOMAINS.has(domain) || names.some((name) => COLOUR.test(name.toLowerCase())),
    isSetPoint: SET_POINT_DOMAINS.has(domain),
    isSetPointName: lastParts.some((part) =>
      part.split(WORD_ENDS).some((word) => SET_POINT.test(word)),
    ),
    isTemperatureName: lastParts
      .map((part) => part.toLowerCase())
      .some((part) => more.has(part) || (GERMAN.test(part) && !OTHER_GERMAN.test(part))),
    isOfTemperatures:
      UNITS.has(measurement) ||
      MEASUREMENT.test(measurement.toLowerCase()) ||
      series.tags.some(({ key, value }) => TAGGED_UNITS.get(key)?.has(decodeText(value))) ||
      tagOf(series, 'type') === 'temperature',
    saidUnit: saidUnitOf(series.tags),
    unit: UNITS.get(measurement) ?? 'celsius',
  }
}

/**
 * Whether a field is a temperature.
 *
 * @param more further names, in lower case
 */
export function isTemperature(kind: SeriesKind, key: string, more: ReadonlySet<string>): boolean {
  const name = decodeText(key).toLowerCase()
  if (kind.isOther || NEVER.test(name) || COLOUR.test(name)) return false
  if (kind.isSetPoint) return name === 'current_temperature'
  const isNamedElsewhere = NAMED_ELSEWHERE.has(name)
  if (isNamedElsewhere && kind.isSetPointName) return false
  if (NAMED.test(name) || OTHER_NAMES.has(name) || more.has(name)) return true
  if (isNamedElsewhere && kind.isTemperatureName) return true
  return VALUES.has(name) && kind.isOfTemperatures
}

/** The value of a tag, readable. */
export function tagOf({ tags }: SeriesKey, key: string): string | undefined {
  const value = tags.find((tag) => tag.key === key)?.value
  return value === undefined ? undefined : decodeText(value)
}

/** What tags and fields say of the unit of temperatures beside them. */
export function saidUnitOf(
  texts: readonly { readonly key: string; readonly value: string }[],
): SaidUnit {
  const textsOf = (keys: RegExp) =>
    texts.filter(({ key }) => keys.test(key)).map(({ value }) => decodeText(value))
  const own = textsOf(OWN_UNIT)
  const said = own.length > 0 ? own : textsOf(ANY_UNIT).filter(mayBeUnit)
  const units = new Set(said.map(unitNamed))
  if (units.size === 0) return undefined
  const [unit] = units
  return units.size > 1 ? 'unclear' : (unit ?? 'unclear')
}

function mayBeUnit(text: string): boolean {
  return unitNamed(text) !== undefined || mentionsUnit(text)
}

/** The unit that the name of a field says. */
export function unitOfField(key: string): TemperatureUnit | undefined {
  const suffix = SUFFIX.exec(decodeText(key).toLowerCase())
  if (suffix === null) return undefined
  if (suffix[1] !== undefined) return 'fahrenheit'
  return suffix[2] === undefined ? 'celsius' : 'kelvin'
}
