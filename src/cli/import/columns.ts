// Finds the columns of an import by their names, ignoring blanks around them and their units:
// `time (UTC)` is `time`, `Temp, °C (logger 1)` and `temp_c` are `temp`.

import { isUnitName } from '../../domain/temperature-unit.ts'
import { usage } from '../../operations/failure.ts'
import { readTemperatureName } from './temperature-unit.ts'
import type { TemperatureUnit } from './temperature-unit.ts'

export type ColumnRole = 'timestamp' | 'temp' | 'sn' | 'eventId'

/** Names given on the command line, by role. */
export type NamedColumns = Readonly<Partial<Record<ColumnRole, string>>>

export interface Columns {
  /** Each role's column name as the file spells it. */
  readonly names: Readonly<Partial<Record<ColumnRole, string>>>
  /** Columns that say the unit of the line's temperature. */
  readonly units: readonly string[]
  /** Whether times without a zone are UTC, because the column says so. */
  readonly isUtc: boolean
}

/** If several columns match, the name that comes first here wins. */
const KNOWN: Readonly<Record<ColumnRole, readonly string[]>> = {
  timestamp: ['timestamp', 'time', 'datetime', 'date time', 'measured at', 'date'],
  temp: ['temp', 'temperature', 'temperatur', 'temperature 2m', 'value', 'degrees'],
  sn: ['sn', 'serial number', 'serial', 'sensor'],
  eventId: ['event id', 'eventid'],
}

const OPTIONS: Readonly<Record<ColumnRole, string>> = {
  timestamp: '--column-timestamp',
  temp: '--column-temp',
  sn: '--column-sn',
  eventId: '--column-event-id',
}

const UNIT_NAMES: Readonly<Record<TemperatureUnit, string>> = {
  C: 'degrees Celsius',
  F: 'degrees Fahrenheit',
  K: 'kelvins',
}

/**
 * @param found the file's column names, in order
 * @param named the columns that the operator named
 * @param hasOneSensor whether the serial number is given on the command line
 * @param unit of the temperatures, if the operator says it; it overrules the name of a column that
 *   the operator named, too
 * @throws OperationError if a column is missing or in another unit
 */
export function findColumns(
  found: readonly string[],
  named: NamedColumns,
  hasOneSensor: boolean,
  unit: TemperatureUnit | undefined,
): Columns {
  const find = (role: ColumnRole) => findColumn(found, role, named[role], unit ?? 'C')
  const timestamp = find('timestamp') ?? missing('timestamp', found)
  const temp = find('temp') ?? missing('temp', found)
  const sn = find('sn')
  const eventId = find('eventId')
  if (sn === undefined && !hasOneSensor) missing('sn', found, 'or --sn for the whole file')
  if (sn !== undefined && hasOneSensor) {
    throw usage(`the file has serial numbers in its column "${sn}"`, 'Leave out --sn.')
  }
  if (named.temp === undefined || unit === undefined) refuseOtherUnit(temp, unit ?? 'C')
  return {
    names: {
      timestamp,
      temp,
      ...(sn === undefined ? {} : { sn }),
      ...(eventId === undefined ? {} : { eventId }),
    },
    units: found.filter((column) => isUnitName(column.trim())),
    isUtc: isInUtc(timestamp),
  }
}

function refuseOtherUnit(column: string, unit: TemperatureUnit): void {
  const { unit: said = unit } = readTemperatureName(column)
  if (said === unit) return
  const remedies = {
    C: 'Leave out --unit',
    F: 'Add --unit F',
    K: 'Add --unit K',
    other: 'Convert it to degrees Celsius',
  }
  const otherwise = `use --column-temp with --unit ${unit} if the column's name is wrong`
  const hint = `${remedies[said]}, or ${otherwise}.`
  throw usage(`"${column}" is not in ${UNIT_NAMES[unit]}`, hint)
}

function findColumn(
  found: readonly string[],
  role: ColumnRole,
  name: string | undefined,
  unit: TemperatureUnit,
): string | undefined {
  if (name !== undefined) {
    const exact = found.find((column) => column === name)
    const column = exact ?? found.find((other) => other.trim() === name.trim())
    if (column !== undefined) return column
    throw usage(`the file has no column "${name}"`, `It has ${list(found)}.`)
  }
  const alike = found.filter((column) => KNOWN[role].includes(plainName(column, role)))
  const fitting = role === 'temp' ? inUnit(alike, unit) : alike
  for (const known of KNOWN[role]) {
    const matching = fitting.filter((column) => plainName(column, role) === known)
    if (matching.length > 1) {
      throw usage(
        `more than one column for ${role}: ${list(matching)}`,
        `Add ${OPTIONS[role]} NAME.`,
      )
    }
    if (matching.length === 1) return matching[0]
  }
  return undefined
}

/** Those that say this unit, else those that say none, else all. */
function inUnit(columns: readonly string[], unit: TemperatureUnit): readonly string[] {
  const says = (said: TemperatureUnit | undefined) =>
    columns.filter((column) => readTemperatureName(column).unit === said)
  return [says(unit), says(undefined)].find(({ length }) => length > 0) ?? columns
}

function plainName(column: string, role: ColumnRole): string {
  if (role === 'temp') return readTemperatureName(column).name
  return column
    .replace(/[([].*/s, '')
    .replace(/[_\s-]+/g, ' ')
    .trim()
    .toLowerCase()
}

function isInUtc(column: string): boolean {
  return /[([]\s*utc\s*[)\]]/i.test(column)
}

function missing(role: ColumnRole, found: readonly string[], otherwise = ''): never {
  const hint = `Add ${OPTIONS[role]} NAME ${otherwise}`.trim()
  throw usage(`no column for ${role} among ${list(found)}`, `${hint}.`)
}

function list(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}
