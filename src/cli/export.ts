// `thermolog export`: measurements of a user's sensors as CSV or NDJSON, on standard output.

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { choiceReader, idsReader, readEmail, timeReader } from '../commands/arguments.ts'
import { optional, required, several } from '../commands/command.ts'
import type { Values } from '../commands/command.ts'
import type { ExportSource } from '../data-dir/export.ts'
import type { Sensor } from '../domain/sensor.ts'
import { formatInstant } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import { exportText } from '../operations/export-measurements.ts'
import type { ExportedSensor, ExportFormat } from '../operations/export-measurements.ts'
import { failed, usage } from '../operations/failure.ts'
import { localCommand } from './local-command.ts'
import { connectService, onceFree } from './operator-command.ts'
import { Progress } from './terminal/progress.ts'
import { readSettingsWithData } from './read-settings.ts'
import type { Terminal } from './terminal/terminal.ts'

const FORMATS: readonly ExportFormat[] = ['csv', 'ndjson']
/** All instants that a measurement can have. */
const ALWAYS: TimeRange = { startMs: -62_135_596_800_000, stopMs: 253_402_300_800_000 }

const given = {
  user: required('--user <address>', 'e-mail address of the owner', readEmail),
  sensor: several(
    '--sensor <id>',
    'only this sensor, see `thermolog sensor list`; repeat it for several',
    idsReader('thermolog sensor list --user …'),
  ),
  from: optional(
    '--from <time>',
    'first time, such as 2026-11-20T10:15:00Z or 2026-11-20',
    timeReader('--from'),
  ),
  to: optional('--to <time>', 'time to stop before', timeReader('--to')),
  format: optional(
    '--format <format>',
    'csv or ndjson; default: csv',
    choiceReader('--format', FORMATS),
  ),
}

type Order = Values<typeof given>

export const commands = [
  localCommand({
    path: 'export',
    help:
      "print the measurements of a user's sensors, as submitted, in a form that `import` reads; " +
      'importing it where it came from adds nothing',
    example: 'thermolog export --user a@example.org --from 2026-01-01T00:00:00Z > 2026.csv',
    arguments: given,
    run: exportMeasurements,
  }),
] as const

async function exportMeasurements(terminal: Terminal, order: Order): Promise<void> {
  const config = await readSettingsWithData(terminal)
  const range = { startMs: order.from ?? ALWAYS.startMs, stopMs: order.to ?? ALWAYS.stopMs }
  if (range.startMs >= range.stopMs) {
    const times = `${formatInstant(range.startMs)}, ${formatInstant(range.stopMs)}`
    throw usage(`--from must be before --to, not ${times}`)
  }
  const { openExport } = await import('../data-dir/export.ts')
  const source = await onceFree(terminal, async () => {
    const service = await connectService(config)
    await service?.close()
    const { startThread } = terminal.io
    return openExport(config, { isServiceRunning: service !== undefined, startThread })
  })
  try {
    const chosen = await chosenSensors(source, order)
    await source.untilReadable(chosen)
    const sensors = await described(source, chosen, range)
    await print(terminal, source, sensors, { range, format: order.format ?? 'csv' })
    await refuseMissing(source, sensors, range)
  } finally {
    await source.close()
  }
}

async function chosenSensors(
  { control }: ExportSource,
  { user: email, sensor: ids }: Order,
): Promise<readonly Sensor[]> {
  const user = await control.findUser(email)
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
  terminal: Terminal,
  { reader }: ExportSource,
  sensors: readonly ExportedSensor[],
  form: { readonly range: TimeRange; readonly format: ExportFormat },
): Promise<void> {
  const counts = sensors.flatMap(({ days }) => days.map(({ measurements }) => measurements))
  const total = counts.reduce((sum, count) => sum + count, 0)
  const progress = new Progress(terminal, total, 'measurements')
  progress.begin('exporting')
  // On a terminal, the printed measurements themselves show the progress.
  const { stdout } = terminal.io
  const isShown = terminal.isWatched && stdout.isTTY !== true
  const onMeasurements = (measurements: number) => {
    progress.advance(measurements)
    if (isShown) progress.count(measurements)
  }
  const text = Readable.from(exportText(reader, { sensors, ...form }, onMeasurements), {
    highWaterMark: 1,
  })
  try {
    await pipeline(text, stdout, { end: false })
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
