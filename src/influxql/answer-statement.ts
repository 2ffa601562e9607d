// Answers statements from the user's sensors and their histories.

import type { HistoryReader } from '../history/read-history.ts'
import type { Sensor } from '../domain/sensor.ts'
import { formatInstant } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import type { Sensors } from '../sensors/sensors.ts'
import { Work } from './limits.ts'
import type { RowText } from './row-text.ts'
import { StatementError } from './scanner.ts'
import { measurementSeries } from './select-measurements.ts'
import { pointSeries } from './select-point.ts'
import { sensorSeries } from './select-sensor.ts'
import { windowSeries } from './select-windows.ts'
import { answerText, oneByOne } from './series-text.ts'
import type { Reading, Result, Series } from './series-text.ts'
import { showSeries, tagValueSeries } from './show.ts'
import { selectorOf } from './statement.ts'
import type { Select, ShowTagValues, Statement } from './statement.ts'
import { chosenSensors, grouped, sensorsOf, taggedSensors } from './tagged-sensors.ts'
import type { Group, TaggedSensor } from './tagged-sensors.ts'
import { MEASUREMENTS, isMeasurement } from './vocabulary.ts'

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
  /** How rows with a time are written. */
  readonly timedText: RowText
}

/** Whether the answer has to do with the user's sensors. */
export function needsSensors({ kind }: Statement): boolean {
  return kind === 'select' || kind === 'tag values'
}

/**
 * The answer to statements, produced as it is consumed.
 *
 * @throws StatementError if one asks for too much, or all together do
 * @throws ServiceError `history_unavailable` if the store is unreachable, also while it is read
 */
export async function answerStatements(
  statements: readonly Statement[],
  asked: Asked,
  sources: InfluxqlSources,
): Promise<AsyncIterable<Buffer>> {
  const areNeeded = statements.some(needsSensors)
  const states = areNeeded ? await sources.sensors.list(asked.userId) : []
  const answering = new Answering(await taggedSensors(states), asked.nowMs, sources)
  const results: Result[] = []
  for (const [at, statement] of statements.entries()) {
    try {
      results.push(await answering.answer(statement))
    } catch (error) {
      if (!(error instanceof StatementError) || statements.length === 1) throw error
      throw new StatementError(`statement ${at + 1}: ${error.message}`)
    }
  }
  return answerText(results, asked.timedText)
}

class Answering {
  readonly #sensors: readonly TaggedSensor[]
  readonly #nowMs: number
  readonly #sources: InfluxqlSources
  readonly #work = new Work()

  constructor(sensors: readonly TaggedSensor[], nowMs: number, sources: InfluxqlSources) {
    this.#sensors = sensors
    this.#nowMs = nowMs
    this.#sources = sources
  }

  async answer(statement: Statement): Promise<Result> {
    if (statement.kind === 'select') return this.#select(statement)
    if (statement.kind === 'tag values') return this.#tagValues(statement)
    return known(showSeries(statement))
  }

  async #select(select: Select): Promise<Result> {
    const { measurement, columns, range, tags, seriesLimit } = select
    const isKnown =
      isMeasurement(measurement) &&
      columns.every(({ field }) => Object.hasOwn(MEASUREMENTS[measurement], field))
    const groups = isKnown ? grouped(await this.#meant(select), tags) : undefined
    if (groups === undefined) return known([])
    const shown = groups.slice(0, seriesLimit)
    if (measurement === 'sensor') return this.#states(select, shown)
    if (range.startMs >= range.stopMs) return known([])
    const { series, warnings } = await this.#read(select, shown)
    return { series, warnings: select.isLastDay ? [...warnings, lastDay(range)] : warnings }
  }

  async #states(select: Select, shown: readonly Group[]): Promise<Result> {
    const isAsked = select.columns.some(({ field }) => field === 'unreadable')
    const { history } = this.#sources
    const unreadable = isAsked ? await history.listUnreadable(sensorsOf(shown)) : NONE
    const series = sensorSeries(select, shown, { nowMs: this.#nowMs, unreadable }, this.#work)
    return known(series)
  }

  async #reading(select: Select, shown: readonly Group[]): Promise<Reading> {
    const selector = selectorOf(select)
    if (selector !== undefined) return pointSeries(select, selector, shown, this.#work)
    const isAggregate = select.columns.some(({ aggregate }) => aggregate !== undefined)
    if (isAggregate) return await windowSeries(select, shown, this.#work)
    return measurementSeries(select, shown, this.#work)
  }

  async #read(select: Select, shown: readonly Group[]): Promise<Result> {
    const { measurements } = this.#sources
    const { range, read } = await this.#reading(select, shown)
    // After all checks that need no store, and before anything is counted there.
    const warnings = await this.#warnings(sensorsOf(shown), range)
    return { series: await read(measurements), warnings }
  }

  async #tagValues(statement: ShowTagValues): Promise<Result> {
    const sensor = await this.#meant(statement)
    const { range, measurement } = statement
    const isOfAll = range === undefined || measurement === 'sensor'
    const { temperature, warnings } = isOfAll
      ? { temperature: sensor, warnings: [] }
      : await this.#measuredIn(range, sensor)
    return { series: oneByOne(tagValueSeries(statement, { sensor, temperature })), warnings }
  }

  /** Which of the sensors have been measured in a range. */
  async #measuredIn(range: TimeRange, sensors: readonly TaggedSensor[]) {
    const { measurements } = this.#sources
    const asked = sensors.map(({ state }) => state.sensor)
    this.#work.take('windows', asked.length)
    const warnings = await this.#warnings(asked, range)
    const measured = new Set<number>()
    const series = { sensorIds: asked.map(({ id }) => id), ...range }
    for await (const chunk of measurements.readOne(series, 'first')) {
      for (const { sensorId } of chunk) measured.add(sensorId)
    }
    const temperature = sensors.filter(({ state }) => measured.has(state.sensor.id))
    return { temperature, warnings }
  }

  async #warnings(sensors: readonly Sensor[], range: TimeRange): Promise<readonly string[]> {
    return (await this.#sources.history.areReadable(sensors, range)) ? [] : [NOT_ALL]
  }

  async #meant({ where }: Select | ShowTagValues): Promise<readonly TaggedSensor[]> {
    return chosenSensors(this.#sensors, where, this.#work)
  }
}

function known(series: readonly Series[]): Result {
  return { series: oneByOne(series), warnings: [] }
}

function lastDay({ stopMs }: TimeRange): string {
  const reason = `only the 24 hours before ${formatInstant(stopMs)}: time has no lower bound`
  return `${reason}, add one, such as time > now() - 30d`
}
