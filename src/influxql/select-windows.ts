// SELECT fn(…) … FROM temperature: aggregates of windows, or of the whole range as one window. The
// windows are those of histories, whole at both ends, and so are their numbers.

import { setImmediate } from 'node:timers/promises'
import { wholeWindows, windowGrid } from '../history/buckets.ts'
import { readLast, readSummaries, readTotal, storedWindowMs } from '../history/read-summaries.ts'
import { summarize } from '../history/summarize.ts'
import type { SeriesRange, WindowSummary } from '../domain/history.ts'
import type { Sensor } from '../domain/sensor.ts'
import type { TimeRange } from '../domain/time.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { eachAtOnce } from './each-sensor.ts'
import { limitMeasuredPeriod, limitReading, limitValues, limitWindows } from './limits.ts'
import type { Row, Series, Value } from './series-text.ts'
import type { Column, Fill, Select } from './statement.ts'
import { countMeasurements } from './select-measurements.ts'
import type { Group } from './tagged-sensors.ts'
import { WindowTotals } from './window-totals.ts'

/** Rows, or window starts, between which other work runs. */
const ROWS_AT_ONCE = 1_000

/** The windows of an answer. */
interface Plan extends TimeRange {
  /** Where each begins, ascending. */
  readonly startsMs: readonly number[]
  readonly source: 'summaries' | 'measurements' | 'total'
}

/**
 * @param select its columns are aggregates
 * @throws StatementError if it asks for too much
 */
export async function windowSeries(
  select: Select,
  groups: readonly Group[],
  reader: MeasurementReader,
): Promise<AsyncIterable<Series>> {
  const sensors = groups.flatMap((group) => group.sensors.map(({ state }) => state.sensor))
  const plan = await planOf(select, sensors.length)
  limitValues(
    Math.min(plan.startsMs.length, select.limit ?? Infinity) *
      select.columns.length *
      groups.length,
  )
  if (plan.source === 'measurements') await countMeasurements(reader, sensors, plan)
  return seriesOf(select, plan, groups, reader)
}

async function* seriesOf(
  select: Select,
  plan: Plan,
  groups: readonly Group[],
  reader: MeasurementReader,
): AsyncIterable<Series> {
  const columns = ['time', ...select.columns.map(({ name }) => name)]
  for (const { tags, sensors } of groups) {
    const members = sensors.map(({ state }) => state.sensor)
    const rows = rowsOf(select, plan, members, reader)
    yield { name: 'temperature', tags, columns, rows }
  }
}

async function planOf(select: Select, sensors: number): Promise<Plan> {
  const { range, windowMs, timeZone, columns } = select
  if (windowMs === undefined) {
    limitReading(sensors)
    return { ...range, startsMs: [range.startMs], source: 'total' }
  }
  const grid = windowGrid(windowMs, timeZone)
  limitWindows(grid.countOf(range), range)
  const hasLast = columns.some(({ aggregate }) => aggregate === 'last')
  const storedMs = storedWindowMs(windowMs)
  if (storedMs === undefined) limitMeasuredPeriod(range, 'windows that are no whole minutes')
  if (hasLast) limitMeasuredPeriod(range, 'windows with last')
  const whole = wholeWindows(range, grid)
  const isMeasured = hasLast || storedMs === undefined
  if (!isMeasured) limitReading((sensors * (whole.stopMs - whole.startMs)) / storedMs)
  const startsMs: number[] = []
  for (let { startMs } = whole; startMs < whole.stopMs; startMs = grid.stopOf(startMs)) {
    startsMs.push(startMs)
    if (startsMs.length % ROWS_AT_ONCE === 0) await setImmediate()
  }
  return { ...whole, startsMs, source: isMeasured ? 'measurements' : 'summaries' }
}

async function* rowsOf(
  select: Select,
  plan: Plan,
  sensors: readonly Sensor[],
  reader: MeasurementReader,
): AsyncIterable<readonly Row[]> {
  const totals = totalsOf(select, plan, sensors)
  await eachAtOnce(sensors, (sensor) => readSensor(select, plan, { sensor, totals }, reader))
  const [ofAnyField] = totals.values()
  const windows = plan.startsMs.map((_startMs, window) => window)
  const filled = windows.filter((window) => ofAnyField?.isEmpty(window) === false)
  if (filled.length === 0) return
  const shown = select.fill === 'none' ? filled : windows
  const values = select.columns.map((column) => columnValues(column, select.fill, windows, totals))
  const ordered = select.isDescending ? shown.toReversed() : shown
  const limited = ordered.slice(0, select.limit)
  for (let at = 0; at < limited.length; at += ROWS_AT_ONCE) {
    const chunk = limited.slice(at, at + ROWS_AT_ONCE)
    yield chunk.map((window) => [
      plan.startsMs[window] ?? null,
      ...values.map((ofColumn) => ofColumn[window] ?? null),
    ])
    await setImmediate()
  }
}

/** By field. */
function totalsOf(
  { columns }: Select,
  { startsMs }: Plan,
  sensors: readonly Sensor[],
): ReadonlyMap<string, WindowTotals> {
  const fields = new Set(columns.map(({ field }) => field))
  return new Map(
    [...fields].map((field) => {
      const compensations = sensors.map((sensor) => compensationOf(field, sensor))
      return [field, new WindowTotals(startsMs.length, compensations)]
    }),
  )
}

function compensationOf(field: string, { compensationCelsius }: Sensor): number {
  return field === 'raw' ? 0 : compensationCelsius
}

interface Reading {
  readonly sensor: Sensor
  readonly totals: ReadonlyMap<string, WindowTotals>
}

async function readSensor(
  select: Select,
  plan: Plan,
  reading: Reading,
  reader: MeasurementReader,
): Promise<void> {
  const { source, startMs, stopMs } = plan
  const series = { sensorId: reading.sensor.id, startMs, stopMs }
  if (source === 'total') return readWhole(select, series, reading, reader)
  const { windowMs = 0, timeZone } = select
  const summaries =
    source === 'measurements'
      ? summarize(reader.readRaw(series))
      : readSummaries(reader, series, { windowMs, timeZone })
  const compensations = [...reading.totals].map(([field, totals]) => {
    return { totals, compensation: compensationOf(field, reading.sensor) }
  })
  const add = (window: number, summary: WindowSummary) => {
    for (const { totals, compensation } of compensations) {
      totals.add(window, summary, compensation)
      if (source === 'summaries') continue
      totals.noteLast(window, summary.startMs, summary.sum, compensation)
    }
  }
  let window = 0
  for await (const chunk of summaries) {
    for (const summary of chunk) {
      while ((plan.startsMs[window + 1] ?? Infinity) <= summary.startMs) window++
      add(window, summary)
    }
  }
}

async function readWhole(
  { columns }: Select,
  series: SeriesRange,
  { sensor, totals }: Reading,
  reader: MeasurementReader,
): Promise<void> {
  const summary = await readTotal(reader, series)
  if (summary === undefined) return
  const hasLast = columns.some(({ aggregate }) => aggregate === 'last')
  const last = hasLast ? await readLast(reader, series) : undefined
  for (const [field, ofField] of totals) {
    const compensation = compensationOf(field, sensor)
    ofField.add(0, summary, compensation)
    if (last !== undefined) {
      ofField.noteLast(0, last.measuredAtMs, last.rawCelsius, compensation)
    }
  }
}

/** The values of all windows, ascending; empty ones are filled. */
function columnValues(
  { field, aggregate }: Column,
  fill: Fill,
  windows: readonly number[],
  totals: ReadonlyMap<string, WindowTotals>,
): readonly Value[] {
  const ofField = totals.get(field)
  if (ofField === undefined || aggregate === undefined) throw new Error('BUG: a column of nothing')
  const empty = typeof fill === 'number' ? fill : aggregate === 'count' ? 0 : null
  let previous: Value = null
  return windows.map((window) => {
    if (ofField.isEmpty(window)) return fill === 'previous' ? previous : empty
    previous = ofField.valueOf(aggregate, window)
    return previous
  })
}
