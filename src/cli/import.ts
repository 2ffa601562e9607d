// `thermolog import`: measurements of a CSV or NDJSON file, into the history of a user's sensors.

import { stat } from 'node:fs/promises'
import { choiceReader, readEmail, readText } from '../commands/arguments.ts'
import { flag, optional, required } from '../commands/command.ts'
import type { Shown, Values } from '../commands/command.ts'
import type { Operations } from '../commands/operations.ts'
import { counted, grouped } from '../domain/grouped.ts'
import { failed, usage } from '../operations/failure.ts'
import { checkSerialNumber } from '../operations/serial-number.ts'
import { fileSource, streamSource } from './import/byte-source.ts'
import { findColumns } from './import/columns.ts'
import type { LocalTimes } from './import/local-times.ts'
import { Progress } from './terminal/progress.ts'
import { openRecords } from './import/read-records.ts'
import type { RecordSource } from './import/read-records.ts'
import { TimeOrder } from './import/read-measurements.ts'
import type { ReaderSettings } from './import/read-measurements.ts'
import { RejectsFile } from './import/rejects-file.ts'
import { findBadLines, storeFile } from './import/store-file.ts'
import type { BadLines, ImportJob, ImportTotals } from './import/store-file.ts'
import type { TemperatureUnit } from './import/temperature-unit.ts'
import { localCommand } from './local-command.ts'
import { withOperations } from './operator-command.ts'
import type { Terminal } from './terminal/terminal.ts'

const STANDARD_INPUT = '-'
const UNITS: readonly TemperatureUnit[] = ['C', 'F', 'K']

const given = {
  file: required(
    '<file>',
    'CSV with a header row, or one JSON object per line; - is standard input',
    readText,
  ),
  user: required('--user <address>', 'e-mail address of the owner of the sensors', readEmail),
  sn: optional(
    '--sn <serial number>',
    'serial number for all rows, if the file has no such column',
    checkSerialNumber,
  ),
  rejects: optional(
    '--rejects <file>',
    'write bad lines to this file and store the rest',
    readText,
  ),
  timezone: optional(
    '--timezone <zone>',
    'the zone of times without one, such as Europe/Berlin',
    readText,
  ),
  unit: optional(
    '--unit <unit>',
    'C (default), F or K: of the temperatures',
    choiceReader('--unit', UNITS),
  ),
  columnTimestamp: optional('--column-timestamp <name>', 'the column with the time', readText),
  columnTemp: optional('--column-temp <name>', 'the column with the temperature', readText),
  columnSn: optional('--column-sn <name>', 'the column with the serial number', readText),
  columnEventId: optional('--column-event-id <name>', 'the column with the event id', readText),
  keepEqual: flag('--keep-equal', 'do not compare with what is stored: only event ids decide'),
}

type Order = Values<typeof given>

export const commands = [
  localCommand({
    path: 'import',
    help:
      'import measurements from CSV or NDJSON; ' +
      'importing a file again, or an export, adds nothing',
    example: 'thermolog import 2025.csv --user a@example.org --sn buoy --rejects bad.csv',
    json: 'print JSON',
    arguments: given,
    run: importFile,
    present: showTotals,
  }),
] as const

async function importFile(terminal: Terminal, order: Order): Promise<ImportTotals> {
  const { file, user, sn: serialNumber, rejects, keepEqual: keepsEqual } = order
  const isStream = file === STANDARD_INPUT
  const bytes = isStream ? undefined : (await regularFile(file)).size
  if (isStream && rejects === undefined) {
    throw usage(
      'standard input can be read only once',
      'Add --rejects FILE, or save the data to a file first.',
    )
  }
  const source = await openRecords(
    isStream ? streamSource('standard input', terminal.io.stdin) : fileSource(file),
  )
  const form = await readForm(source, order)
  return withOperations(terminal, async (operations) => {
    const rules = await operations.importRules(user)
    const passes = rejects === undefined ? 2 : 1
    const progress = new Progress(terminal, bytes && bytes * passes, 'lines')
    const job = { user, source, ...form, serialNumber, rules, keepsEqual, progress }
    try {
      return await runPasses(job, operations, { file, rejects })
    } finally {
      progress.end()
    }
  })
}

/** How the cells of the file are to be read. */
async function readForm(
  { columns: names, delimiter }: RecordSource,
  order: Order,
): Promise<Omit<ReaderSettings, 'serialNumber'>> {
  const { timezone, unit } = order
  const columns = findColumns(names, namedColumns(order), order.sn !== undefined, unit)
  if (timezone !== undefined && columns.isUtc) {
    throw usage(`the column "${columns.names.timestamp}" is in UTC`, 'Leave out --timezone.')
  }
  return {
    columns,
    unit: unit ?? 'C',
    hasDecimalComma: delimiter === ';',
    localTimes: timezone === undefined ? undefined : await openZone(timezone),
  }
}

/** Only here: few imports need time zones, which take a while to load. */
async function openZone(timezone: string): Promise<LocalTimes> {
  const { LocalTimes } = await import('./import/local-times.ts')
  return new LocalTimes(timezone)
}

async function runPasses(
  job: ImportJob,
  operations: Operations,
  files: { readonly file: string; readonly rejects: string | undefined },
): Promise<ImportTotals> {
  if (files.rejects === undefined) {
    const before = await regularFile(files.file)
    job.progress.begin('checking')
    const order = new TimeOrder()
    refuseBadLines(await findBadLines(job, order))
    const { size, mtimeMs } = await regularFile(files.file)
    if (size !== before.size || mtimeMs !== before.mtimeMs) {
      throw failed(`${files.file} changed while it was being checked: nothing was stored`)
    }
    job.progress.begin('storing')
    return storeFile(job, operations, undefined, order)
  }
  job.progress.begin('storing')
  const rejects = await RejectsFile.create(files.rejects, job.source)
  try {
    return await storeFile(job, operations, rejects)
  } finally {
    await rejects.close()
  }
}

async function regularFile(file: string): Promise<{ size: number; mtimeMs: number }> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw failed(error.code === 'ENOENT' ? `there is no file ${file}` : error.message)
  })
  if (found.isFile()) return found
  throw usage(`${file} is not a regular file`, 'Name a file, or - for standard input.')
}

function namedColumns({ columnTimestamp, columnTemp, columnSn, columnEventId }: Order) {
  return {
    ...(columnTimestamp !== undefined && { timestamp: columnTimestamp }),
    ...(columnTemp !== undefined && { temp: columnTemp }),
    ...(columnSn !== undefined && { sn: columnSn }),
    ...(columnEventId !== undefined && { eventId: columnEventId }),
  }
}

function refuseBadLines(bad: BadLines): void {
  if (bad.count === 0) return
  const message = `${counted(bad.count, 'line')} bad, nothing was stored\n${describe(bad)}`
  throw failed(message, 'Fix the file, or add --rejects FILE to store the rest.')
}

function showTotals(totals: ImportTotals, { rejects }: Order): Shown {
  const { conflicts, rejected, ...stored } = totals
  const counts = `${grouped(stored.created)} created, ${counted(stored.duplicates, 'duplicate')}`
  const rest = `${counted(conflicts.count, 'conflict')}, ${grouped(rejected.count)} rejected`
  const bad = [rejected, conflicts].filter(({ count }) => count > 0)
  const isComplete = rejects !== undefined || conflicts.count === 0
  return {
    json: { ...stored, conflicts: conflicts.count, rejected: rejected.count },
    lines: [`${counted(stored.lines, 'line')} read: ${counts}, ${rest}`],
    notes: rejects === undefined ? [] : bad.map(describe),
    ...(!isComplete && {
      failure: failed(`${counted(conflicts.count, 'line')} not stored\n${describe(conflicts)}`),
    }),
  }
}

function describe({ count, named }: BadLines): string {
  const more = count > named.length ? [`and ${grouped(count - named.length)} more`] : []
  return [...named, ...more].map((line) => `  ${line}`).join('\n')
}
