// `thermolog export`: measurements of a user's sensors as CSV or NDJSON, on standard output.

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { InvalidArgumentError, Option } from 'commander'
import type { ExportSource } from '../compose-export.ts'
import { loadConfig, readEnvironment } from '../config.ts'
import type { Sensor } from '../domain/sensor.ts'
import { parseInstant } from '../domain/time.ts'
import type { EpochMs, TimeRange } from '../domain/time.ts'
import { checkEmail, usage } from '../operations/check-arguments.ts'
import { exportText } from '../operations/export-measurements.ts'
import type { ExportedSensor, ExportFormat } from '../operations/export-measurements.ts'
import { OperationError } from '../operations/operations.ts'
import { operationsSocketPath } from '../operations/socket-path.ts'
import { systemClock } from '../system/clock.ts'
import { example } from './example.ts'
import { connectOperations } from './operations-client.ts'
import { Progress } from './progress.ts'

interface ExportOptions {
  readonly user: string
  readonly sensor?: readonly number[]
  readonly from?: EpochMs
  readonly to?: EpochMs
  readonly format: ExportFormat
}

/** All instants that a measurement can have. */
const ALWAYS: TimeRange = { startMs: -62_135_596_800_000, stopMs: 253_402_300_800_000 }

export function addExportCommand(program: Command): void {
  program
    .command('export')
    .description("print the measurements of a user's sensors, as submitted, for `import`")
    .requiredOption('--user <address>', 'whose sensors')
    .option('--sensor <id>', 'only this one; repeat it; see thermolog sensor list', readIds)
    .option('--from <time>', 'only from this time on, such as 2026-11-20T00:00:00Z', readTime)
    .option('--to <time>', 'only before this time', readTime)
    .addOption(
      new Option('--format <format>', 'the form').choices(['csv', 'ndjson']).default('csv'),
    )
    .action(exportMeasurements)
    .addHelpText(
      'after',
      example('thermolog export --user a@example.org --from 2026-01-01T00:00:00Z > 2026.csv'),
    )
}

async function exportMeasurements(options: ExportOptions): Promise<void> {
  const config = loadConfig(readEnvironment())
  const range = { startMs: options.from ?? ALWAYS.startMs, stopMs: options.to ?? ALWAYS.stopMs }
  if (range.startMs >= range.stopMs) throw usage('--from must be before --to')
  const service = await connectOperations(operationsSocketPath(config.dataDir))
  await service?.close()
  const { openExport } = await import('../compose-export.ts')
  const source = await openExport(config, { isServiceRunning: service !== undefined })
  try {
    const sensors = (await chosenSensors(source, options)).map((sensor) =>
      source.describe(sensor, range),
    )
    await print(source, sensors, { range, format: options.format })
    refuseMissing(source, sensors, range)
  } finally {
    await source.close()
  }
}

async function chosenSensors(
  { control }: ExportSource,
  { user: email, sensor: ids }: ExportOptions,
): Promise<readonly Sensor[]> {
  const user = await control.findUser(checkEmail(email))
  if (user === undefined) throw failed(`no user has the address ${email}`)
  const sensors = await control.listSensors(user.id)
  const unknown = ids?.filter((id) => !sensors.some((sensor) => sensor.id === id)) ?? []
  if (unknown.length > 0) {
    throw failed(`${email} has no sensor ${unknown.join(', ')}`, 'See `thermolog sensor list`.')
  }
  return ids === undefined ? sensors : sensors.filter(({ id }) => ids.includes(id))
}

async function print(
  { reader }: ExportSource,
  sensors: readonly ExportedSensor[],
  form: { readonly range: TimeRange; readonly format: ExportFormat },
): Promise<void> {
  const counts = sensors.flatMap(({ days }) => days.map(({ measurements }) => measurements))
  const total = counts.reduce((sum, count) => sum + count, 0)
  const settings = { total, counted: 'measurements' }
  const progress = new Progress(process.stderr, systemClock, settings)
  progress.begin('exporting')
  // On a terminal the measurements themselves show how far it is.
  const isShown = process.stderr.isTTY && !process.stdout.isTTY
  const onMeasurements = (measurements: number) => {
    progress.advance(measurements)
    if (isShown) progress.count(measurements)
  }
  const text = Readable.from(exportText(reader, { sensors, ...form }, onMeasurements), {
    highWaterMark: 1,
  })
  try {
    await pipeline(text, process.stdout, { end: false })
  } catch (error) {
    // Whoever reads may stop early, like `head` does.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  } finally {
    if (isShown) progress.end()
  }
}

/** What the store has refused was acknowledged all the same. */
function refuseMissing(
  source: ExportSource,
  sensors: readonly ExportedSensor[],
  range: TimeRange,
): void {
  const ids = sensors.map(({ sensor }) => sensor.id).filter((id) => source.hasSetAside(id, range))
  if (ids.length === 0) return
  const message = `the measurement store has refused some of sensor ${ids.join(', ')}`
  throw failed(`not all is in it: ${message}`, 'See `thermolog journal list`; retry or drop them.')
}

function readIds(text: string, before: readonly number[] = []): readonly number[] {
  if (/^[1-9]\d{0,14}$/.test(text)) return [...before, Number(text)]
  throw new InvalidArgumentError('An id is a positive integer.')
}

function readTime(text: string): EpochMs {
  const atMs = parseInstant(text)
  if (atMs !== undefined) return atMs
  throw new InvalidArgumentError('It is no time such as 2026-11-20T00:00:00Z.')
}

function failed(message: string, hint?: string): OperationError {
  return new OperationError({ kind: 'failed', message, ...(hint === undefined ? {} : { hint }) })
}
