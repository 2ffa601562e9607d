// SELECT temp, raw FROM temperature: every measurement of a range, in order of time. They are
// counted first, then read in slices of the range, so that memory stays bounded.

import { setImmediate } from 'node:timers/promises'
import { compensate } from '../domain/sensor.ts'
import type { Sensor } from '../domain/sensor.ts'
import type { TimeRange } from '../domain/time.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { limitMeasuredPeriod, limitSeries } from './limits.ts'
import type { Work } from './limits.ts'
import type { Row } from './row-text.ts'
import { limited } from './series-text.ts'
import type { Reading, Series } from './series-text.ts'
import type { Column, Select } from './statement.ts'
import { compensationOf, inParts, sensorsOf } from './tagged-sensors.ts'
import type { Group } from './tagged-sensors.ts'

const ONLY_COUNTS = new Set<never>()

/** Values in a slice if they are evenly spread: some megabytes. */
const SLICE_VALUES = 100_000

/**
 * @param select has only fields as columns
 * @throws StatementError if it asks for too much
 */
export function measurementSeries(select: Select, groups: readonly Group[], work: Work): Reading {
  const { range, limit = Infinity } = select
  limitMeasuredPeriod(range, 'single measurements')
  limitSeries(groups.length, 1)
  const read = async (reader: MeasurementReader) => {
    const counts = await countMeasurements(reader, sensorsOf(groups), range, work)
    const countOf = (group: Group) => sumOf(sensorsOf([group]).map(({ id }) => counts.get(id) ?? 0))
    const rows = sumOf(groups.map((group) => Math.min(countOf(group), limit)))
    work.take('values', rows * select.columns.length)
    return seriesOf(select, groups, countOf, reader)
  }
  return { range, read }
}

/**
 * How many measurements each sensor has in a range, which are then read.
 *
 * @throws StatementError if there are too many
 */
export async function countMeasurements(
  reader: MeasurementReader,
  sensors: readonly Sensor[],
  { startMs, stopMs }: TimeRange,
  work: Work,
): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>()
  const sensorIds = sensors.map(({ id }) => id)
  for await (const chunk of reader.readTotals({
    sensorIds,
    startMs,
    stopMs,
    needed: ONLY_COUNTS,
  })) {
    for (const { sensorId, count } of chunk) counts.set(sensorId, count)
  }
  work.take('measurements', sumOf(counts.values()))
  return counts
}

function sumOf(counts: Iterable<number>): number {
  let sum = 0
  for (const count of counts) sum += count
  return sum
}

async function* seriesOf(
  select: Select,
  groups: readonly Group[],
  countOf: (group: Group) => number,
  reader: MeasurementReader,
): AsyncIterable<Series> {
  const columns = ['time', ...select.columns.map(({ name }) => name)]
  const valuesOf = (group: Group) => countOf(group) * select.columns.length
  for (const part of inParts(groups, valuesOf, SLICE_VALUES)) {
    const values = sumOf(part.map(valuesOf))
    const slices = readSlices(select, slicesOf(select, values), part, reader)
    // Only a group of its own has several slices: they are read while it is consumed.
    const { value: first = [] } = await slices.next()
    for (const [at, { tags }] of part.entries()) {
      const rows = limited(rowsOf(first[at] ?? [], slices), select.limit)
      yield { name: 'temperature', tags, columns, rows }
    }
  }
}

async function* rowsOf(
  first: readonly Row[],
  others: AsyncIterable<readonly (readonly Row[])[]>,
): AsyncIterable<readonly Row[]> {
  yield first
  for await (const [rows = []] of others) yield rows
}

/**
 * Parts of the range with about equally many values, in the order of the response. All of it is
 * read whatever was counted: more may have arrived.
 */
function slicesOf({ range, isDescending }: Select, values: number): readonly TimeRange[] {
  const slices = Math.max(1, Math.ceil(values / SLICE_VALUES))
  const edge = (at: number) =>
    range.startMs + Math.round(((range.stopMs - range.startMs) * at) / slices)
  const ascending = Array.from({ length: slices }, (_, at) => {
    return { startMs: edge(at), stopMs: edge(at + 1) }
  })
  return isDescending ? ascending.toReversed() : ascending
}

async function* readSlices(
  select: Select,
  slices: readonly TimeRange[],
  groups: readonly Group[],
  reader: MeasurementReader,
): AsyncGenerator<readonly (readonly Row[])[], undefined> {
  for (const slice of slices) yield await readSlice(select, slice, groups, reader)
}

/** The rows of each group in a slice, in one query to the store. */
async function readSlice(
  { columns, isDescending }: Select,
  slice: TimeRange,
  groups: readonly Group[],
  reader: MeasurementReader,
): Promise<readonly (readonly Row[])[]> {
  type MeasuredRow = readonly [atMs: number, ...number[]]
  const rows = groups.map((): MeasuredRow[] => [])
  const places = new Map<number, { readonly sensor: Sensor; readonly rows: MeasuredRow[] }>()
  for (const [at, group] of groups.entries()) {
    for (const sensor of sensorsOf([group])) places.set(sensor.id, { sensor, rows: rows[at]! })
  }
  for await (const chunk of reader.readRaw({ sensorIds: [...places.keys()], ...slice })) {
    for (const { sensorId, measuredAtMs, rawCelsius } of chunk) {
      const place = places.get(sensorId)
      if (place === undefined) continue
      const values = columns.map((column) => shown(column, rawCelsius, place.sensor))
      place.rows.push([measuredAtMs, ...values])
    }
  }
  await setImmediate()
  return rows.map((own, at) => {
    const sorted =
      groups[at]!.sensors.length > 1 ? own.toSorted(([one], [other]) => one - other) : own
    return isDescending ? sorted.toReversed() : sorted
  })
}

function shown({ field, compute }: Column, rawCelsius: number, sensor: Sensor): number {
  return compute(compensate(rawCelsius, compensationOf(field, sensor)))
}
