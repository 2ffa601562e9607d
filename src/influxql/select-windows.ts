// SELECT fn(…) … FROM temperature: aggregates of windows, or of the whole range as one window.
// Windows and values equal those of histories; windows at both ends are whole. Windows before the
// range are read too where a value of theirs is carried into it.

import { setImmediate } from 'node:timers/promises'
import { wholeWindows, windowGrid } from '../history/buckets.ts'
import type { BucketGrid } from '../history/buckets.ts'
import { meanCelsius, steadySum } from '../history/history-points.ts'
import { readSummaries, storedWindowMs } from '../history/read-summaries.ts'
import { lastAtOrBefore } from '../domain/ascending.ts'
import type { SeriesRange, StoredPoint, SummaryValue } from '../domain/history.ts'
import { summaryOf } from '../domain/summarize.ts'
import { DAY_MS, EVER, ceilToWindow } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { limitMeasuredPeriod, limitSeries, limitWindows } from './limits.ts'
import type { Work } from './limits.ts'
import type { Row, Value } from './row-text.ts'
import type { Reading, Series } from './series-text.ts'
import type { Column, Fill, Select } from './statement.ts'
import { countMeasurements } from './select-measurements.ts'
import { inParts, sensorsOf } from './tagged-sensors.ts'
import type { Group } from './tagged-sensors.ts'
import type { Aggregate } from './vocabulary.ts'
import { BEFORE, SeriesTotals } from './window-totals.ts'
import type { FieldTotals } from './window-totals.ts'

/** Rows, or window starts, between two pauses for other work. */
const ROWS_AT_ONCE = 1_000

/** Windows of a part; they stay in memory until the client has read them: 1.6 MB per field. */
const PART_WINDOWS = 50_000

/** The values of a summary that a function needs, besides the count. */
const MADE_OF: Readonly<Record<Aggregate, readonly SummaryValue[]>> = {
  mean: ['sum'],
  min: ['min'],
  max: ['max'],
  count: [],
  sum: ['sum'],
  spread: ['min', 'max'],
  first: [],
  last: [],
}

/** Functions that are not in summaries. */
const ENDS = ['first', 'last'] as const

/** The windows that are read for a response. */
interface Plan extends TimeRange {
  /** Where each starts that is kept, ascending; of those before, only the newest is. */
  readonly startsMs: readonly number[]
  /** How many of them are before the range, for a moving average. */
  readonly windowsBefore: number
  /** From where on a previous value is carried into the range. */
  readonly carriedFromMs: number
  readonly grid: BucketGrid | undefined
  readonly source: 'summaries' | 'measurements' | 'total'
}

/**
 * @param select has only aggregates as columns
 * @throws StatementError if it asks for too much
 */
export async function windowSeries(
  select: Select,
  groups: readonly Group[],
  work: Work,
): Promise<Reading> {
  const sensors = sensorsOf(groups)
  const plan = await planOf(select, sensors.length, work)
  const windows = plan.startsMs.length - plan.windowsBefore
  limitSeries(groups.length, plan.startsMs.length)
  const rows = Math.min(windows, select.limit ?? Infinity) * groups.length
  work.take('values', rows * select.columns.length)
  const read = async (reader: MeasurementReader) => {
    if (plan.source === 'measurements') await countMeasurements(reader, sensors, plan, work)
    return seriesOf(select, plan, groups, reader)
  }
  return { range: plan, read }
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

async function planOf(select: Select, sensors: number, work: Work): Promise<Plan> {
  const { range, windowMs, timeZone } = select
  if (windowMs === undefined) {
    work.take('windows', sensors)
    const startsMs = [range.startMs]
    const carriedFromMs = range.startMs
    return { ...range, startsMs, windowsBefore: 0, carriedFromMs, grid: undefined, source: 'total' }
  }
  const grid = windowGrid(windowMs, timeZone)
  limitWindows(grid.countOf(range), range)
  const storedMs = storedWindowMs(windowMs)
  if (storedMs === undefined) limitMeasuredPeriod(range, 'windows of other than whole minutes')
  const ends = endsOf(select)
  if (ends.includes('last')) limitMeasuredPeriod(range, 'windows with last')
  const { startMs: shownFromMs, stopMs } = wholeWindows(range, grid)
  const keptFromMs = movedFromMs(select, grid, shownFromMs)
  const carriedFromMs = dayBefore(select, grid, shownFromMs)
  const startMs = Math.min(keptFromMs, carriedFromMs)
  const isMeasured = ends.length > 0 || storedMs === undefined
  if (!isMeasured) work.take('windows', (sensors * (stopMs - startMs)) / storedMs)
  const startsMs: number[] = []
  for (let atMs = keptFromMs; atMs < stopMs; atMs = grid.stopOf(atMs)) {
    startsMs.push(atMs)
    if (startsMs.length % ROWS_AT_ONCE === 0) await setImmediate()
  }
  limitWindows(startsMs.length, range)
  const windowsBefore = startsMs.findIndex((atMs) => atMs >= shownFromMs)
  const source = isMeasured ? 'measurements' : 'summaries'
  return { startMs, stopMs, startsMs, windowsBefore, carriedFromMs, grid, source }
}

/** A moving average begins with windows before the range. */
function movedFromMs({ columns }: Select, grid: BucketGrid, shownFromMs: number): number {
  const windows = Math.max(...columns.map(({ movingWindows = 1 }) => movingWindows))
  let fromMs = shownFromMs
  for (let before = 1; before < windows && fromMs > EVER.startMs; before++) {
    fromMs = grid.startOf(fromMs - 1)
  }
  return fromMs
}

/** A previous value is at most a day old, or of the day before: local days are 23 to 25 hours. */
function dayBefore({ fill, windowMs = 0 }: Select, grid: BucketGrid, shownFromMs: number): number {
  if (fill !== 'previous') return shownFromMs
  if (windowMs === DAY_MS) return grid.startOf(shownFromMs - 1)
  return ceilToWindow(shownFromMs - DAY_MS, windowMs)
}

async function* rowsOf(
  select: Select,
  plan: Plan,
  totals: FieldTotals,
): AsyncIterable<readonly Row[]> {
  const { startsMs, windowsBefore } = plan
  const { fill, isDescending, limit = Infinity } = select
  const [ofAnyField] = totals.values()
  const windows = startsMs.length - windowsBefore
  if (startsMs.every((_, at) => at < windowsBefore || ofAnyField?.isEmpty(at) !== false)) return
  const ascending = select.columns.map((column) => columnOf(column, fill, plan, totals))
  const columns = isDescending
    ? await Promise.all(ascending.map((valueOf) => known(valueOf, windowsBefore, startsMs.length)))
    : ascending
  let rows: Row[] = []
  for (let step = 0, shown = 0; step < windows && shown < limit; step++) {
    const window = isDescending ? startsMs.length - 1 - step : windowsBefore + step
    const values = columns.map((valueOf) => valueOf(window))
    if (fill !== 'none' || values.some((value) => value !== null)) {
      rows.push([startsMs[window]!, ...values])
      shown++
    }
    if ((step + 1) % ROWS_AT_ONCE !== 0) continue
    yield rows
    rows = []
    await setImmediate()
  }
  yield rows
}

/** The value of a window; to be asked in ascending order. */
type ValueOf = (window: number) => Value

/** All values of a range of windows, to be asked in any order. */
async function known(valueOf: ValueOf, first: number, stop: number): Promise<ValueOf> {
  const values = new Float64Array(stop - first)
  for (let window = first; window < stop; window++) {
    values[window - first] = Number(valueOf(window) ?? NaN)
    if (window % ROWS_AT_ONCE === 0) await setImmediate()
  }
  return (window) => {
    const value = values[window - first] ?? NaN
    return Number.isNaN(value) ? null : value
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
      const areNoted = endsOf(select).length > 0
      for await (const chunk of reader.readRaw(series)) {
        addMeasurements(chunk, plan, totals, areNoted)
      }
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
  for (const end of endsOf(select)) {
    for await (const chunk of reader.readOne(series, end)) {
      for (const point of chunk) totals.note(0, point)
    }
  }
}

function addMeasurements(
  points: readonly StoredPoint[],
  { startsMs, grid }: Plan,
  totals: SeriesTotals,
  areNoted: boolean,
): void {
  for (const point of points) {
    const window = lastAtOrBefore(startsMs, point.measuredAtMs)
    const summary = summaryOf(point)
    const startMs = window === BEFORE ? grid?.startOf(summary.startMs) : undefined
    totals.add(window, startMs === undefined ? summary : { ...summary, startMs })
    if (areNoted) totals.note(window, point)
  }
}

function neededFor({ columns }: Select): ReadonlySet<SummaryValue> {
  return new Set(columns.flatMap(({ aggregate = 'count' }) => MADE_OF[aggregate]))
}

function endsOf({ columns }: Select): readonly (typeof ENDS)[number][] {
  return ENDS.filter((end) => columns.some(({ aggregate }) => aggregate === end))
}

/** The values of windows; empty ones are filled. */
function columnOf(
  { field, aggregate, movingWindows = 1, compute }: Column,
  fill: Fill,
  { startsMs, windowsBefore, carriedFromMs }: Plan,
  totals: FieldTotals,
): ValueOf {
  const ofField = totals.get(field)
  if (ofField === undefined || aggregate === undefined) throw new Error('BUG: a column of nothing')
  const ofNothing = aggregate === 'count' && fill === 'null' ? 0 : null
  const empty = typeof fill === 'number' ? fill : ofNothing
  const averaged = movingWindows > 1 ? movingAverage(movingWindows) : undefined
  let previous: number | null = null
  const valueOf = (window: number) => {
    let value = fill === 'previous' ? previous : empty
    if (!ofField.isEmpty(window)) {
      value = ofField.valueOf(aggregate, window)
      if (averaged !== undefined && value !== null) value = averaged(value)
      previous = value
    }
    return value === null ? null : compute(value)
  }
  // Whatever the other columns need: what this one does.
  if (averaged === undefined && fill === 'previous') valueOf(BEFORE)
  for (let window = 0; window < windowsBefore; window++) {
    const isAveraged = averaged !== undefined && window > windowsBefore - movingWindows
    const isCarried = averaged === undefined && startsMs[window]! >= carriedFromMs
    if (isAveraged || isCarried) valueOf(window)
  }
  return valueOf
}

/** @returns of a value and those before it; `null` before there are enough */
function movingAverage(count: number): (value: number) => number | null {
  const recent: number[] = []
  let sum = 0
  return (value) => {
    recent.push(value)
    const gone = recent.length > count ? recent.shift() : 0
    sum = steadySum(sum + value - (gone ?? 0))
    return recent.length < count ? null : meanCelsius({ sum, count }, 0)
  }
}
