// Finds which measurements of an import are stored already: importing an export adds nothing,
// although its event ids are not those of the senders.

import { setImmediate } from 'node:timers/promises'
import { HistoryReader } from '../history/read-history.ts'
import type { RawPoint, StoredPoint } from '../domain/history.ts'
import type { SubmittedMeasurement } from '../domain/measurement.ts'
import { serialNumberKey } from '../domain/sensor.ts'
import type { Sensor } from '../domain/sensor.ts'
import { DAY_MS, HOUR_MS } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ReadBarrier } from '../ports/journal-queue.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { OperationError } from './failure.ts'
import type { ImportOrder } from './import-order.ts'

export interface StoredSources {
  readonly control: Pick<ControlReader, 'findSensors'>
  readonly reader: MeasurementReader
  readonly progress: ReadBarrier
}

/** A measurement of a sensor that the user has. */
interface Compared {
  readonly index: number
  readonly sensor: Sensor
  readonly point: RawPoint
  readonly equalsBefore: number
}

/** What to read: some sensors on consecutive days. */
interface Part extends TimeRange {
  readonly sensors: ReadonlySet<Sensor>
}

const RETRY_AFTER_SECONDS = 1

/**
 * @returns the indexes of the measurements that more equal ones are stored of than `equalsBefore`
 * @throws OperationError if not all that was acknowledged of their sensors and times can be read
 */
export async function findStored(
  { control, reader, progress }: StoredSources,
  userId: number,
  order: Pick<ImportOrder, 'measurements' | 'equalsBefore'>,
): Promise<ReadonlySet<number>> {
  const history = new HistoryReader(reader, progress)
  const compared = await withSensors(control, userId, order)
  const counts = new Map(compared.map(({ sensor, point }) => [keyOf(sensor.id, point), 0]))
  for (const { sensors, ...range } of partsOf(compared)) {
    // Requests come in between.
    await setImmediate()
    // Read after this: what is acknowledged from here on is none of the file's.
    if (!(await history.areReadable([...sensors], range))) throw notReadable(sensors)
    const sensorIds = Array.from(sensors, ({ id }) => id)
    for await (const points of reader.readRaw({ sensorIds, ...range })) count(points, counts)
  }
  const stored = compared.filter(({ sensor, point, equalsBefore }) => {
    return (counts.get(keyOf(sensor.id, point)) ?? 0) > equalsBefore
  })
  return new Set(stored.map(({ index }) => index))
}

function count(points: readonly StoredPoint[], counts: Map<string, number>): void {
  for (const point of points) {
    const key = keyOf(point.sensorId, point)
    const before = counts.get(key)
    if (before !== undefined) counts.set(key, before + 1)
  }
}

async function withSensors(
  control: StoredSources['control'],
  userId: number,
  { measurements, equalsBefore }: Pick<ImportOrder, 'measurements' | 'equalsBefore'>,
): Promise<Compared[]> {
  const isCompared = (_: SubmittedMeasurement, index: number) => equalsBefore[index] !== null
  const keys = new Set(
    measurements.filter(isCompared).map((one) => serialNumberKey(one.serialNumber)),
  )
  if (keys.size === 0) return []
  const found = await control.findSensors(userId, [...keys])
  const sensors = new Map(found.map((sensor) => [serialNumberKey(sensor.serialNumber), sensor]))
  return measurements.flatMap(({ serialNumber, measuredAtMs, tempCelsius }, index) => {
    const before = equalsBefore[index]
    const sensor = sensors.get(serialNumberKey(serialNumber))
    if (typeof before !== 'number' || sensor === undefined || measuredAtMs === null) return []
    const point = { measuredAtMs, rawCelsius: tempCelsius }
    return [{ index, sensor, point, equalsBefore: before }]
  })
}

/** What is further apart is read apart: there may be far more between it than in the file. */
const GAP_MS_MAX = HOUR_MS

/** Days of the same sensors that follow one another are read at once. */
function partsOf(compared: readonly Compared[]): readonly Part[] {
  const byDay = Map.groupBy(compared, ({ point }) => Math.floor(point.measuredAtMs / DAY_MS))
  const parts: Part[] = []
  for (const [, ofDay] of [...byDay].toSorted(([one], [other]) => one - other)) {
    const sensors = new Set(ofDay.map(({ sensor }) => sensor))
    const times = ofDay.map(({ point }) => point.measuredAtMs)
    const before = parts.at(-1)
    const firstMs = Math.min(...times)
    const isNear = before !== undefined && firstMs - before.stopMs <= GAP_MS_MAX
    const isNext = isNear && areEqual(before.sensors, sensors)
    const startMs = isNext ? (parts.pop()?.startMs ?? 0) : firstMs
    parts.push({ sensors, startMs, stopMs: Math.max(...times) + 1 })
  }
  return parts
}

function areEqual(one: ReadonlySet<Sensor>, other: ReadonlySet<Sensor>): boolean {
  return one.size === other.size && [...one].every((sensor) => other.has(sensor))
}

function keyOf(sensorId: number, { measuredAtMs, rawCelsius }: RawPoint): string {
  return `${sensorId} ${measuredAtMs} ${rawCelsius}`
}

function notReadable(sensors: ReadonlySet<Sensor>): OperationError {
  const [first] = sensors
  const which = sensors.size > 1 ? ` and ${sensors.size - 1} more` : ''
  return new OperationError({
    kind: 'failed',
    message:
      `some acknowledged measurements of sensor ${first?.serialNumber}${which} are not in the ` +
      'measurement store yet, so equal lines cannot be recognised',
    hint: 'See the log of the service, and `thermolog journal list`.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
}
