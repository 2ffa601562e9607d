// Finds the columns of an import by their names. A unit in parentheses is taken off first:
// `time (UTC)` is `time`, `temperature (celsius)` is `temperature`.

import { usage } from '../../operations/check-arguments.ts'

export type ColumnRole = 'timestamp' | 'temp' | 'sn' | 'eventId'

/** Names given on the command line, by role. */
export type NamedColumns = Readonly<Partial<Record<ColumnRole, string>>>

export interface Columns {
  /** Name of each role's column as the file spells it. */
  readonly names: Readonly<Partial<Record<ColumnRole, string>>>
  /** Whether times without a zone are UTC, because the column says so. */
  readonly isUtc: boolean
}

/** Of several columns that could be meant, the name that comes first here counts. */
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

const CELSIUS = /^(degrees? |deg\.? ?|°)?c(elsius)?$/

/**
 * @param found the file's column names, in order
 * @param named those that the operator named
 * @param hasOneSensor whether the serial number is told apart from the file
 * @throws OperationError when a column is missing or in another unit
 */
export function findColumns(
  found: readonly string[],
  named: NamedColumns,
  hasOneSensor: boolean,
): Columns {
  const find = (role: ColumnRole) => findColumn(found, role, named[role])
  const timestamp = find('timestamp') ?? missing('timestamp', found)
  const temp = find('temp') ?? missing('temp', found)
  const sn = find('sn')
  const eventId = find('eventId')
  if (sn === undefined && !hasOneSensor) missing('sn', found, 'or say --sn for all of the file')
  if (sn !== undefined && hasOneSensor) {
    throw usage(`the file has serial numbers in its column "${sn}"`, 'Leave out --sn.')
  }
  const unit = unitOf(temp)
  if (unit !== '' && !CELSIUS.test(unit)) {
    const hint = 'Convert it, or name the column with --column-temp if its name is wrong.'
    if (named.temp === undefined) throw usage(`"${temp}" is not in degrees Celsius`, hint)
  }
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
      throw usage(`which column is it: ${list(matching)}?`, `Say ${OPTIONS[role]} NAME.`)
    }
    if (matching.length === 1) return matching[0]
  }
  return undefined
}

function plainName(column: string): string {
  return column
    .replace(/[([].*$/, '')
    .replace(/[_\s-]+/g, ' ')
    .trim()
    .toLowerCase()
}

function unitOf(column: string): string {
  return /[([]([^)\]]*)/.exec(column)?.[1]?.trim().toLowerCase() ?? ''
}

function missing(role: ColumnRole, found: readonly string[], otherwise = ''): never {
  const hint = `Say ${OPTIONS[role]} NAME ${otherwise}`.trim()
  throw usage(`no column for ${role} among ${list(found)}`, `${hint}.`)
}

function list(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}
