// SELECT temp, raw FROM temperature: every measurement of a range, in order of time. How many there
// are is counted beforehand; they are read in slices of the range, so that memory stays bounded.

import { setImmediate } from 'node:timers/promises'
import { readTotal } from '../history/read-summaries.ts'
import { compensate } from '../domain/sensor.ts'
import type { Sensor } from '../domain/sensor.ts'
import type { TimeRange } from '../domain/time.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { eachAtOnce } from './each-sensor.ts'
import { limitMeasuredPeriod, limitMeasurements, limitValues } from './limits.ts'
import type { Row, Series } from './series-text.ts'
import type { Column, Select } from './statement.ts'
import type { Group } from './tagged-sensors.ts'

/** Measurements of a slice, if they are spread evenly. */
const SLICE_MEASUREMENTS = 10_000

/**
 * @param select its columns are fields
 * @throws StatementError if it asks for too much
 */
export async function measurementSeries(
  select: Select,
  groups: readonly Group[],
  reader: MeasurementReader,
): Promise<AsyncIterable<Series>> {
  const { range, limit = Infinity } = select
  limitMeasuredPeriod(range, 'single measurements')
  const counts: number[] = []
  let measurements = 0
  let rows = 0
  for (const { sensors } of groups) {
    const members = sensors.map(({ state }) => state.sensor)
    const count = await countMeasurements(reader, members, range, measurements)
    counts.push(count)
    measurements += count
    rows += Math.min(count, limit)
    limitValues(rows * select.columns.length)
  }
  return seriesOf(select, groups, counts, reader)
}

/**
 * How many measurements sensors have in a range.
 *
 * @param others that are to be read beside them
 * @throws StatementError if they are too many to read
 */
export async function countMeasurements(
  reader: MeasurementReader,
  sensors: readonly Sensor[],
  { startMs, stopMs }: TimeRange,
  others = 0,
): Promise<number> {
  let measurements = 0
  await eachAtOnce(sensors, async ({ id: sensorId }) => {
    measurements += (await readTotal(reader, { sensorId, startMs, stopMs }))?.count ?? 0
    limitMeasurements(others + measurements)
  })
  return measurements
}

async function* seriesOf(
  select: Select,
  groups: readonly Group[],
  counts: readonly number[],
  reader: MeasurementReader,
): AsyncIterable<Series> {
  const columns = ['time', ...select.columns.map(({ name }) => name)]
  for (const [at, { tags, sensors }] of groups.entries()) {
    const members = sensors.map(({ state }) => state.sensor)
    const slices = slicesOf(select, counts[at] ?? 0)
    const rows = limited(rowsOf(select, slices, members, reader), select.limit ?? Infinity)
    yield { name: 'temperature', tags, columns, rows }
  }
}

/** Parts of the range with about as many measurements each, in the order of the answer. */
function slicesOf({ range, isDescending }: Select, count: number): readonly TimeRange[] {
  const slices = Math.ceil(count / SLICE_MEASUREMENTS)
  const edge = (at: number) =>
    range.startMs + Math.round(((range.stopMs - range.startMs) * at) / slices)
  const ascending = Array.from({ length: slices }, (_, at) => {
    return { startMs: edge(at), stopMs: edge(at + 1) }
  })
  return isDescending ? ascending.toReversed() : ascending
}

async function* rowsOf(
  { columns, isDescending }: Select,
  slices: readonly TimeRange[],
  sensors: readonly Sensor[],
  reader: MeasurementReader,
): AsyncIterable<readonly Row[]> {
  for (const slice of slices) {
    const rows: (readonly [atMs: number, ...number[]])[] = []
    await eachAtOnce(sensors, async (sensor) => {
      for await (const chunk of reader.readRaw({ sensorId: sensor.id, ...slice })) {
        for (const { measuredAtMs, rawCelsius } of chunk) {
          rows.push([measuredAtMs, ...columns.map((column) => shown(column, rawCelsius, sensor))])
        }
      }
    })
    if (sensors.length > 1) rows.sort(([one], [other]) => one - other)
    yield isDescending ? rows.toReversed() : rows
    await setImmediate()
  }
}

function shown({ field }: Column, rawCelsius: number, sensor: Sensor): number {
  return field === 'raw' ? rawCelsius : compensate(rawCelsius, sensor.compensationCelsius)
}

async function* limited(
  chunks: AsyncIterable<readonly Row[]>,
  limit: number,
): AsyncIterable<readonly Row[]> {
  let left = limit
  for await (const rows of chunks) {
    yield rows.length > left ? rows.slice(0, left) : rows
    left -= rows.length
    if (left <= 0) return
  }
}
