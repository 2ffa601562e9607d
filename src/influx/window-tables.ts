// The results of one query, an aggregate each, joined window by window.
//
// Each aggregate reads the data separately, one moment after the other. A measurement written in
// between is in one and not in the next, and a mean of such a sum and count would match no data at
// all. Sensors whose results visibly do not fit are queried again.

import type { SummaryValue, WindowSummary } from '../domain/history.ts'
import type { FluxRows } from './flux-rows.ts'

/** Greatest relative error of a sum of doubles. */
const ROUNDING = 1e-9

interface Table {
  readonly timesMs: number[]
  readonly values: number[]
}

type Tables = Readonly<Record<SummaryValue, Table>>

export class WindowTables {
  readonly #aggregates: readonly SummaryValue[]
  readonly #ofSensors = new Map<number, Tables>()

  /** @param aggregates that are asked for */
  constructor(aggregates: readonly SummaryValue[]) {
    this.#aggregates = aggregates
  }

  /** Adds rows of one of the results. */
  add({ result, sensorId, timesMs, values }: FluxRows): void {
    const name = this.#aggregates.find((aggregate) => aggregate === result)
    if (name === undefined) throw new Error(`BUG: InfluxDB answers with a result named ${result}`)
    const tables = this.#ofSensors.get(sensorId) ?? emptyTables()
    this.#ofSensors.set(sensorId, tables)
    for (const timeMs of timesMs) tables[name].timesMs.push(timeMs)
    for (const value of values) tables[name].values.push(value)
  }

  /** Each sensor's windows, ascending; `undefined` where the results do not fit together. */
  *join(): Iterable<readonly [sensorId: number, windows: WindowSummary[] | undefined]> {
    for (const [sensorId, tables] of this.#ofSensors) {
      yield [sensorId, joined(sensorId, tables, this.#aggregates)]
    }
  }
}

function emptyTables(): Tables {
  return { count: emptyTable(), max: emptyTable(), min: emptyTable(), sum: emptyTable() }
}

function emptyTable(): Table {
  return { timesMs: [], values: [] }
}

function joined(
  sensorId: number,
  tables: Tables,
  aggregates: readonly SummaryValue[],
): WindowSummary[] | undefined {
  const { count, max, min, sum } = tables
  const windows = count.values.length
  if (aggregates.some((name) => tables[name].values.length !== windows)) return undefined
  const summaries: WindowSummary[] = []
  for (const [at, startMs] of count.timesMs.entries()) {
    const summary = {
      sensorId,
      startMs,
      count: count.values[at] ?? NaN,
      sum: sum.values[at] ?? NaN,
      min: min.values[at] ?? NaN,
      max: max.values[at] ?? NaN,
    }
    const isSame = aggregates.every((name) => tables[name].timesMs[at] === startMs)
    if (!isSame || isImpossible(summary)) return undefined
    summaries.push(summary)
  }
  return summaries
}

/** What is not known is possible. */
function isImpossible({ count, sum, min, max }: WindowSummary): boolean {
  const slack = ROUNDING * count * Math.max(1, Math.abs(min || 0), Math.abs(max || 0))
  return sum < min * count - slack || sum > max * count + slack
}
