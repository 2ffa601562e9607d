// Finds the columns of an import by their names, ignoring a unit in parentheses: `time (UTC)` is
// `time`, `temperature (celsius)` is `temperature`.

import { usage } from '../../operations/operations.ts'

export type ColumnRole = 'timestamp' | 'temp' | 'sn' | 'eventId'

/** Names given on the command line, by role. */
export type NamedColumns = Readonly<Partial<Record<ColumnRole, string>>>

export interface Columns {
  /** Each role's column name as the file spells it. */
  readonly names: Readonly<Partial<Record<ColumnRole, string>>>
  /** Whether times without a zone are UTC, because the column says so. */
  readonly isUtc: boolean
}

/** If several columns match, the name that comes first here wins. */
const KNOWN: Readonly<Record<ColumnRole, readonly string[]>> = {
  timestamp: ['timestamp', 'time', 'datetime', 'date time', 'measured at', 'date'],
  temp: ['temp', 'temperature', 'value', 'celsius'],
  sn: ['sn', 'serial number', 'serial', 'sensor'],
  eventId: ['event id', 'eventid'],
}

const OPTIONS: Readonly<Record<ColumnRole, string>> = {
  timestamp: '--column-timestamp',
  temp: '--column-temp',
  sn: '--column-sn',
  eventId: '--column-event-id',
}

export type TemperatureUnit = 'C' | 'F' | 'K'

const UNITS: Readonly<Record<TemperatureUnit, { readonly name: string; readonly form: RegExp }>> = {
  C: { name: 'degrees Celsius', form: /^(degrees? |deg\.? ?|°)?c(elsius)?$/ },
  F: { name: 'degrees Fahrenheit', form: /^(degrees? |deg\.? ?|°)?f(ahrenheit)?$/ },
  K: { name: 'kelvins', form: /^(degrees? |deg\.? ?|°)?k(elvins?)?$/ },
}

/**
 * @param found the file's column names, in order
 * @param named the columns that the operator named
 * @param hasOneSensor whether the serial number is given on the command line
 * @param unit of the temperatures
 * @throws OperationError if a column is missing or in another unit
 */
export function findColumns(
  found: readonly string[],
  named: NamedColumns,
  hasOneSensor: boolean,
  unit: TemperatureUnit,
): Columns {
  const find = (role: ColumnRole) => findColumn(found, role, named[role])
  const timestamp = find('timestamp') ?? missing('timestamp', found)
  const temp = find('temp') ?? missing('temp', found)
  const sn = find('sn')
  const eventId = find('eventId')
  if (sn === undefined && !hasOneSensor) missing('sn', found, 'or --sn for the whole file')
  if (sn !== undefined && hasOneSensor) {
    throw usage(`the file has serial numbers in its column "${sn}"`, 'Leave out --sn.')
  }
  if (named.temp === undefined) refuseOtherUnit(temp, unit)
  return {
    names: {
      timestamp,
      temp,
      ...(sn === undefined ? {} : { sn }),
      ...(eventId === undefined ? {} : { eventId }),
    },
    isUtc: unitOf(timestamp) === 'utc',
  }
}

function refuseOtherUnit(column: string, unit: TemperatureUnit): void {
  const text = unitOf(column)
  if (text === '' || UNITS[unit].form.test(text)) return
  const [found] = (['C', 'F', 'K'] as const).filter((known) => UNITS[known].form.test(text))
  const remedies = {
    C: 'Leave out --unit',
    F: 'Add --unit F',
    K: 'Add --unit K',
    other: 'Convert it to degrees Celsius',
  }
  const hint = `${remedies[found ?? 'other']}, or use --column-temp if the column's name is wrong.`
  throw usage(`"${column}" is not in ${UNITS[unit].name}`, hint)
}

function findColumn(
  found: readonly string[],
  role: ColumnRole,
  name: string | undefined,
): string | undefined {
  if (name !== undefined) {
    if (found.includes(name)) return name
    throw usage(`the file has no column "${name}"`, `It has ${list(found)}.`)
  }
  for (const known of KNOWN[role]) {
    const matching = found.filter((column) => plainName(column) === known)
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

function plainName(column: string): string {
  return column
    .replace(/[([].*/s, '')
    .replace(/[_\s-]+/g, ' ')
    .trim()
    .toLowerCase()
}

function unitOf(column: string): string {
  return /[([]([^)\]]*)/.exec(column)?.[1]?.trim().toLowerCase() ?? ''
}

function missing(role: ColumnRole, found: readonly string[], otherwise = ''): never {
  const hint = `Add ${OPTIONS[role]} NAME ${otherwise}`.trim()
  throw usage(`no column for ${role} among ${list(found)}`, `${hint}.`)
}

function list(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}
