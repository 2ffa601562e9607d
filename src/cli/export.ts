// `thermolog export`: measurements of a user's sensors as CSV or NDJSON, on standard output.

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import type { ExportSource } from '../data-dir/export.ts'
import type { Sensor } from '../domain/sensor.ts'
import { formatInstant } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import { checkEmail } from '../operations/check-arguments.ts'
import { exportText } from '../operations/export-measurements.ts'
import type { ExportedSensor, ExportFormat } from '../operations/export-measurements.ts'
import { failed, usage } from '../operations/operations.ts'
import { choiceReader, example, idsReader, timeReader } from './arguments.ts'
import { connectService, onceFree } from './open-operations.ts'
import { Progress } from './terminal/progress.ts'
import { readSettingsWithData } from './read-settings.ts'

const FORMATS: readonly ExportFormat[] = ['csv', 'ndjson']
const readIds = idsReader('thermolog sensor list --user …')
const readFrom = timeReader('--from')
const readTo = timeReader('--to')
const readFormat = choiceReader('--format', FORMATS)

interface ExportOptions {
  readonly user: string
  readonly sensor?: readonly number[]
  readonly from?: number
  readonly to?: number
  readonly format: ExportFormat
}

/** All instants that a measurement can have. */
const ALWAYS: TimeRange = { startMs: -62_135_596_800_000, stopMs: 253_402_300_800_000 }

export function addCommands(program: Command): void {
  program
    .command('export')
    .description(
      "print the measurements of a user's sensors, as submitted, in a form that `import` reads; " +
        'importing it where it came from adds nothing',
    )
    .requiredOption('--user <address>', 'e-mail address of the owner')
    .option(
      '--sensor <id>',
      'only this sensor, see `thermolog sensor list`; repeat it for several',
      readIds,
    )
    .option('--from <time>', 'first time, such as 2026-11-20T10:15:00Z or 2026-11-20', readFrom)
    .option('--to <time>', 'time to stop before', readTo)
    .option('--format <format>', 'csv or ndjson; default: csv', readFormat, 'csv')
    .action(exportMeasurements)
    .addHelpText(
      'after',
      example('thermolog export --user a@example.org --from 2026-01-01T00:00:00Z > 2026.csv'),
    )
}

async function exportMeasurements(options: ExportOptions): Promise<void> {
  const config = await readSettingsWithData()
  const range = { startMs: options.from ?? ALWAYS.startMs, stopMs: options.to ?? ALWAYS.stopMs }
  if (range.startMs >= range.stopMs) {
    const times = `${formatInstant(range.startMs)}, ${formatInstant(range.stopMs)}`
    throw usage(`--from must be before --to, not ${times}`)
  }
  const { openExport } = await import('../data-dir/export.ts')
  const source = await onceFree(async () => {
    const service = await connectService(config)
    await service?.close()
    return openExport(config, { isServiceRunning: service !== undefined })
  })
  try {
    const chosen = await chosenSensors(source, options)
    await source.untilReadable(chosen)
    const sensors = await described(source, chosen, range)
    await print(source, sensors, { range, format: options.format })
    await refuseMissing(source, sensors, range)
  } finally {
    await source.close()
  }
}

async function chosenSensors(
  { control }: ExportSource,
  { user: email, sensor: ids }: ExportOptions,
): Promise<readonly Sensor[]> {
  const user = await control.findUser(checkEmail(email))
  if (user === undefined)
    throw failed(`no user has the address ${email}`, 'See `thermolog user list`.')
  const sensors = await control.listSensors(user.id)
  const unknown = ids?.filter((id) => !sensors.some((sensor) => sensor.id === id)) ?? []
  if (unknown.length > 0) {
    throw failed(`${email} has no sensor ${unknown.join(', ')}`, 'See `thermolog sensor list`.')
  }
  return ids === undefined ? sensors : sensors.filter(({ id }) => ids.includes(id))
}

/** Sensors with the numbers of measurements accepted on the days that the range touches. */
function described(
  { control }: ExportSource,
  sensors: readonly Sensor[],
  range: TimeRange,
): Promise<ExportedSensor[]> {
  return Promise.all(
    sensors.map(async (sensor) => {
      return { sensor, days: await control.listAcceptedDays(sensor.id, range) }
    }),
  )
}

async function print(
  { reader }: ExportSource,
  sensors: readonly ExportedSensor[],
  form: { readonly range: TimeRange; readonly format: ExportFormat },
): Promise<void> {
  const counts = sensors.flatMap(({ days }) => days.map(({ measurements }) => measurements))
  const total = counts.reduce((sum, count) => sum + count, 0)
  const progress = new Progress(total, 'measurements')
  progress.begin('exporting')
  // On a terminal, the printed measurements themselves show the progress.
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
    // The reader may stop early, as `head` does.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  } finally {
    if (isShown) progress.end()
  }
}

/** What is set aside was acknowledged nevertheless. */
async function refuseMissing(
  { control }: ExportSource,
  sensors: readonly ExportedSensor[],
  range: TimeRange,
): Promise<void> {
  const ids: number[] = []
  for (const { sensor } of sensors) {
    if (await control.hasSetAside(sensor.id, range)) ids.push(sensor.id)
  }
  if (ids.length === 0) return
  const message = `measurements of sensor ${ids.join(', ')} are set aside`
  throw failed(
    `the export is incomplete: ${message}`,
    'See `thermolog journal list`, then retry or drop them.',
  )
}
