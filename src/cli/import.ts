// `thermolog import`: measurements of a CSV or NDJSON file, into the history of a user's sensors.

import { stat } from 'node:fs/promises'
import type { Command } from 'commander'
import { grouped } from '../domain/grouped.ts'
import { checkSerialNumber } from '../operations/check-arguments.ts'
import { failed, usage } from '../operations/operations.ts'
import type { Operations } from '../operations/operations.ts'
import { choiceReader, example } from './arguments.ts'
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
import { withOperations } from './open-operations.ts'
import { counted, printJson, printNote, printText } from './terminal/print.ts'

const STANDARD_INPUT = '-'
const UNITS: readonly TemperatureUnit[] = ['C', 'F', 'K']
const readUnit = choiceReader('--unit', UNITS)

interface ImportOptions {
  readonly user: string
  readonly sn?: string
  readonly rejects?: string
  readonly timezone?: string
  readonly unit?: TemperatureUnit
  readonly columnTimestamp?: string
  readonly columnTemp?: string
  readonly columnSn?: string
  readonly columnEventId?: string
  readonly keepEqual?: boolean
  readonly json?: boolean
}

export function addCommands(program: Command): void {
  program
    .command('import')
    .description(
      'import measurements from CSV or NDJSON; importing a file again, or an export, adds nothing',
    )
    .argument('<file>', 'CSV with a header row, or one JSON object per line; - is standard input')
    .requiredOption('--user <address>', 'e-mail address of the owner of the sensors')
    .option('--sn <serial number>', 'serial number for all rows, if the file has no such column')
    .option('--rejects <file>', 'write bad lines to this file and store the rest')
    .option('--timezone <zone>', 'the zone of times without one, such as Europe/Berlin')
    .option('--unit <unit>', 'C (default), F or K: of the temperatures', readUnit)
    .option('--column-timestamp <name>', 'the column with the time')
    .option('--column-temp <name>', 'the column with the temperature')
    .option('--column-sn <name>', 'the column with the serial number')
    .option('--column-event-id <name>', 'the column with the event id')
    .option('--keep-equal', 'do not compare with what is stored: only event ids decide')
    .option('--json', 'print JSON')
    .action(importFile)
    .addHelpText(
      'after',
      example('thermolog import 2025.csv --user a@example.org --sn buoy --rejects bad.csv'),
    )
}

async function importFile(file: string, options: ImportOptions): Promise<void> {
  const isStream = file === STANDARD_INPUT
  const bytes = isStream ? undefined : (await regularFile(file)).size
  if (isStream && options.rejects === undefined) {
    throw usage(
      'standard input can be read only once',
      'Add --rejects FILE, or save the data to a file first.',
    )
  }
  const source = await openRecords(
    isStream ? streamSource('standard input', process.stdin) : fileSource(file),
  )
  const serialNumber = options.sn === undefined ? undefined : checkSerialNumber(options.sn)
  const form = await readForm(source, options, serialNumber !== undefined)
  const totals = await withOperations(async (operations) => {
    const { user, keepEqual: keepsEqual = false } = options
    const rules = await operations.importRules({ user })
    const passes = options.rejects === undefined ? 2 : 1
    const progress = new Progress(bytes && bytes * passes, 'lines')
    const job = { user, source, ...form, serialNumber, rules, keepsEqual, progress }
    try {
      return await runPasses(job, operations, { file, rejects: options.rejects })
    } finally {
      progress.end()
    }
  })
  report(totals, options)
}

/** How the cells of the file are to be read. */
async function readForm(
  { columns: names, delimiter }: RecordSource,
  options: ImportOptions,
  hasOneSensor: boolean,
): Promise<Omit<ReaderSettings, 'serialNumber'>> {
  const { timezone, unit } = options
  const columns = findColumns(names, namedColumns(options), hasOneSensor, unit)
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

function namedColumns(options: ImportOptions) {
  const { columnTimestamp, columnTemp, columnSn, columnEventId } = options
  return {
    ...(columnTimestamp === undefined ? {} : { timestamp: columnTimestamp }),
    ...(columnTemp === undefined ? {} : { temp: columnTemp }),
    ...(columnSn === undefined ? {} : { sn: columnSn }),
    ...(columnEventId === undefined ? {} : { eventId: columnEventId }),
  }
}

function refuseBadLines(bad: BadLines): void {
  if (bad.count === 0) return
  const message = `${counted(bad.count, 'line')} bad, nothing was stored\n${describe(bad)}`
  throw failed(message, 'Fix the file, or add --rejects FILE to store the rest.')
}

function report(totals: ImportTotals, options: ImportOptions): void {
  const { conflicts, rejected, ...stored } = totals
  if (options.json === true) {
    printJson({ ...stored, conflicts: conflicts.count, rejected: rejected.count })
  } else {
    const counts = `${grouped(stored.created)} created, ${counted(stored.duplicates, 'duplicate')}`
    const rest = `${counted(conflicts.count, 'conflict')}, ${grouped(rejected.count)} rejected`
    printText(`${counted(stored.lines, 'line')} read: ${counts}, ${rest}`)
  }
  const bad = [rejected, conflicts].filter(({ count }) => count > 0)
  if (options.rejects !== undefined) {
    for (const some of bad) printNote(describe(some))
  } else if (conflicts.count > 0) {
    throw failed(`${counted(conflicts.count, 'line')} not stored\n${describe(conflicts)}`)
  }
}

function describe({ count, named }: BadLines): string {
  const more = count > named.length ? [`and ${grouped(count - named.length)} more`] : []
  return [...named, ...more].map((line) => `  ${line}`).join('\n')
}
