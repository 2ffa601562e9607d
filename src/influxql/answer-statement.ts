// Answers a statement from the user's sensors and their histories.

import { wholeWindows, windowGrid } from '../history/buckets.ts'
import type { HistoryReader } from '../history/read-history.ts'
import type { TimeRange } from '../domain/time.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import type { Sensors } from '../sensors/sensors.ts'
import { Work } from './limits.ts'
import { readStatement } from './read-statement.ts'
import { measurementSeries } from './select-measurements.ts'
import { sensorSeries } from './select-sensor.ts'
import { windowSeries } from './select-windows.ts'
import { answerText } from './series-text.ts'
import type { Series } from './series-text.ts'
import { showSeries, tagValueSeries } from './show.ts'
import { MEASUREMENTS, isMeasurement } from './vocabulary.ts'
import type { Select, ShowTagValues } from './statement.ts'
import { chosenSensors, grouped, sensorsOf } from './tagged-sensors.ts'
import type { TaggedSensor } from './tagged-sensors.ts'

const NONE: ReadonlySet<number> = new Set()

const NOT_ALL =
  'acknowledged measurements of this range cannot be read yet: ask again for all of them'

export interface InfluxqlSources {
  readonly sensors: Sensors
  readonly measurements: MeasurementReader
  readonly history: HistoryReader
}

export interface Asked {
  readonly userId: number
  readonly nowMs: number
}

/** Whether the answer has to do with the user's sensors. @throws StatementError */
export function needsSensors(text: string, nowMs: number): boolean {
  const { kind } = readStatement(text, nowMs)
  return kind === 'select' || kind === 'tag values'
}

/**
 * The answer to a statement, produced as it is consumed.
 *
 * @param text within `limitStatement`
 * @throws StatementError if it is unsupported or asks for too much
 * @throws ServiceError `history_unavailable` if the store is unreachable, also while it is read
 */
export async function answerStatement(
  text: string,
  asked: Asked,
  sources: InfluxqlSources,
): Promise<AsyncIterable<Buffer>> {
  const statement = readStatement(text, asked.nowMs)
  if (statement.kind === 'select') return select(statement, asked, sources)
  if (statement.kind !== 'tag values') return answerText(oneByOne(showSeries(statement)))
  const sensors = await meant(statement, asked, sources)
  return answerText(oneByOne(tagValueSeries(statement, sensors)))
}

async function select(
  statement: Select,
  asked: Asked,
  sources: InfluxqlSources,
): Promise<AsyncIterable<Buffer>> {
  const { measurement, columns, range, tags, seriesLimit } = statement
  const isKnown =
    isMeasurement(measurement) &&
    columns.every(({ field }) => Object.hasOwn(MEASUREMENTS[measurement], field))
  const groups = isKnown ? grouped(await meant(statement, asked, sources), tags) : undefined
  const shown = groups?.slice(0, seriesLimit) ?? []
  if (measurement === 'sensor') {
    const isAsked = columns.some(({ field }) => field === 'unreadable')
    const unreadable = isAsked ? await sources.history.listUnreadable(sensorsOf(shown)) : NONE
    return answerText(oneByOne(sensorSeries(statement, shown, { nowMs: asked.nowMs, unreadable })))
  }
  if (range.startMs >= range.stopMs) return answerText(oneByOne([]))
  const isAggregate = columns.some(({ aggregate }) => aggregate !== undefined)
  const read = isAggregate
    ? await windowSeries(statement, shown)
    : measurementSeries(statement, shown)
  // After all checks that need no store, and before anything is counted there.
  const isReadable = await sources.history.areReadable(sensorsOf(shown), readRange(statement))
  const series = await read(sources.measurements)
  return answerText(series, isReadable ? undefined : NOT_ALL)
}

async function meant(
  { where }: Select | ShowTagValues,
  { userId }: Asked,
  { sensors }: InfluxqlSources,
): Promise<readonly TaggedSensor[]> {
  return chosenSensors(await sensors.list(userId), where, new Work())
}

function readRange({ range, windowMs, timeZone }: Select): TimeRange {
  return windowMs === undefined ? range : wholeWindows(range, windowGrid(windowMs, timeZone))
}

async function* oneByOne(series: readonly Series[]): AsyncIterable<Series> {
  yield* series
}
