// SELECT fn(…) … FROM temperature: aggregates of windows, or of the whole range as one window.
// Windows and values equal those of histories; windows at both ends are whole.

import { setImmediate } from 'node:timers/promises'
import { wholeWindows, windowGrid } from '../history/buckets.ts'
import { readSummaries, storedWindowMs } from '../history/read-summaries.ts'
import { lastAtOrBefore } from '../domain/ascending.ts'
import type { SeriesRange, StoredPoint, SummaryValue } from '../domain/history.ts'
import { summaryOf } from '../domain/summarize.ts'
import type { TimeRange } from '../domain/time.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import {
  limitMeasuredPeriod,
  limitReading,
  limitSeries,
  limitValues,
  limitWindows,
} from './limits.ts'
import type { ReadSeries, Row, Series, Value } from './series-text.ts'
import type { Column, Fill, Select } from './statement.ts'
import { countMeasurements } from './select-measurements.ts'
import { inParts, sensorsOf } from './tagged-sensors.ts'
import type { Group } from './tagged-sensors.ts'
import type { Aggregate } from './vocabulary.ts'
import { SeriesTotals } from './window-totals.ts'
import type { FieldTotals, WindowTotals } from './window-totals.ts'

/** Rows, or window starts, between two pauses for other work. */
const ROWS_AT_ONCE = 1_000

/** Windows of a part; they stay in memory until the client has read them: 1.6 MB per field. */
const PART_WINDOWS = 50_000

/** The value of a summary that a function needs, besides the count. */
const MADE_OF: Readonly<Record<Aggregate, SummaryValue>> = {
  mean: 'sum',
  min: 'min',
  max: 'max',
  count: 'count',
  sum: 'sum',
  last: 'count',
}

/** The windows of a response. */
interface Plan extends TimeRange {
  /** Where each starts, ascending. */
  readonly startsMs: readonly number[]
  readonly source: 'summaries' | 'measurements' | 'total'
}

/**
 * @param select has only aggregates as columns
 * @throws StatementError if it asks for too much
 */
export async function windowSeries(select: Select, groups: readonly Group[]): Promise<ReadSeries> {
  const sensors = sensorsOf(groups)
  const plan = await planOf(select, sensors.length)
  const windows = plan.startsMs.length
  limitSeries(groups.length, windows)
  limitValues(Math.min(windows, select.limit ?? Infinity) * select.columns.length * groups.length)
  return async (reader) => {
    if (plan.source === 'measurements') await countMeasurements(reader, sensors, plan)
    return seriesOf(select, plan, groups, reader)
  }
}

async function* seriesOf(
  select: Select,
  plan: Plan,
  groups: readonly Group[],
  reader: MeasurementReader,
): AsyncIterable<Series> {
  const columns = ['time', ...select.columns.map(({ name }) => name)]
  for (const part of inParts(groups, () => plan.startsMs.length, PART_WINDOWS)) {
    const totals = await readPart(select, plan, part, reader)
    for (const [at, { tags }] of part.entries()) {
      yield { name: 'temperature', tags, columns, rows: rowsOf(select, plan, totals[at]!) }
    }
  }
}

async function planOf(select: Select, sensors: number): Promise<Plan> {
  const { range, windowMs, timeZone } = select
  if (windowMs === undefined) {
    limitReading(sensors)
    return { ...range, startsMs: [range.startMs], source: 'total' }
  }
  const grid = windowGrid(windowMs, timeZone)
  limitWindows(grid.countOf(range), range)
  const storedMs = storedWindowMs(windowMs)
  if (storedMs === undefined) limitMeasuredPeriod(range, 'windows of other than whole minutes')
  if (hasLast(select)) limitMeasuredPeriod(range, 'windows with last')
  const whole = wholeWindows(range, grid)
  const isMeasured = hasLast(select) || storedMs === undefined
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
  totals: FieldTotals,
): AsyncIterable<readonly Row[]> {
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

/** The totals of each group. */
async function readPart(
  select: Select,
  plan: Plan,
  groups: readonly Group[],
  reader: MeasurementReader,
): Promise<readonly FieldTotals[]> {
  const { startsMs, startMs, stopMs } = plan
  const fields = new Set(select.columns.map(({ field }) => field))
  const totals = new SeriesTotals(groups, fields, startsMs.length)
  for (const part of totals.parts) {
    const series = { ...part, startMs, stopMs, needed: neededFor(select) }
    if (plan.source === 'measurements') {
      for await (const chunk of reader.readRaw(series)) addMeasurements(chunk, totals, startsMs)
    } else await addSummaries(select, plan, series, { totals, reader })
  }
  return totals.ofGroups
}

async function addSummaries(
  select: Select,
  { source, startsMs }: Plan,
  series: SeriesRange,
  { totals, reader }: { readonly totals: SeriesTotals; readonly reader: MeasurementReader },
): Promise<void> {
  const { windowMs = 0, timeZone } = select
  const summaries =
    source === 'total'
      ? reader.readTotals(series)
      : readSummaries(reader, series, { windowMs, timeZone })
  for await (const chunk of summaries) {
    for (const summary of chunk) totals.add(lastAtOrBefore(startsMs, summary.startMs), summary)
  }
  if (!hasLast(select)) return
  for await (const chunk of reader.readLast(series)) {
    for (const point of chunk) totals.noteLast(0, point)
  }
}

function addMeasurements(
  points: readonly StoredPoint[],
  totals: SeriesTotals,
  startsMs: readonly number[],
): void {
  for (const point of points) {
    const window = lastAtOrBefore(startsMs, point.measuredAtMs)
    totals.add(window, summaryOf(point))
    totals.noteLast(window, point)
  }
}

function neededFor({ columns }: Select): ReadonlySet<SummaryValue> {
  return new Set(columns.map(({ aggregate = 'count' }) => MADE_OF[aggregate]))
}

function hasLast({ columns }: Select): boolean {
  return columns.some(({ aggregate }) => aggregate === 'last')
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
