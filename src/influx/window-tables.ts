// The four results of one query, joined window by window.
//
// Each aggregate reads the data separately, one moment after the other. A measurement written in
// between is in one and not in the next, and a mean of such a sum and count would match no data at
// all. Sensors whose results visibly do not fit are queried again.

import type { WindowSummary } from '../domain/history.ts'
import { AGGREGATES } from './flux.ts'
import type { Aggregate } from './flux.ts'
import type { FluxRows } from './flux-rows.ts'

/** Greatest relative error of a sum of doubles. */
const ROUNDING = 1e-9

interface Table {
  readonly timesMs: number[]
  readonly values: number[]
}

type Tables = Readonly<Record<Aggregate, Table>>

export class WindowTables {
  readonly #ofSensors = new Map<number, Tables>()

  /** Adds rows of one of the results. */
  add({ result, sensorId, timesMs, values }: FluxRows): void {
    const name = AGGREGATES.find((aggregate) => aggregate === result)
    if (name === undefined) throw new Error(`BUG: InfluxDB answers with a result named ${result}`)
    const tables = this.#ofSensors.get(sensorId) ?? emptyTables()
    this.#ofSensors.set(sensorId, tables)
    for (const timeMs of timesMs) tables[name].timesMs.push(timeMs)
    for (const value of values) tables[name].values.push(value)
  }

  /** Each sensor's windows, ascending; `undefined` where the results do not fit together. */
  *join(): Iterable<readonly [sensorId: number, windows: WindowSummary[] | undefined]> {
    for (const [sensorId, tables] of this.#ofSensors) yield [sensorId, joined(sensorId, tables)]
  }
}

function emptyTables(): Tables {
  return { count: emptyTable(), max: emptyTable(), min: emptyTable(), sum: emptyTable() }
}

function emptyTable(): Table {
  return { timesMs: [], values: [] }
}

function joined(sensorId: number, { count, max, min, sum }: Tables): WindowSummary[] | undefined {
  if ([max, min, sum].some(({ values }) => values.length !== count.values.length)) return undefined
  const summaries: WindowSummary[] = []
  for (const [at, startMs] of count.timesMs.entries()) {
    const times = [max.timesMs[at], min.timesMs[at], sum.timesMs[at]]
    const summary = {
      sensorId,
      startMs,
      count: count.values[at] as number,
      sum: sum.values[at] as number,
      min: min.values[at] as number,
      max: max.values[at] as number,
    }
    if (times.some((timeMs) => timeMs !== startMs) || !isPossible(summary)) return undefined
    summaries.push(summary)
  }
  return summaries
}

function isPossible({ count, sum, min, max }: WindowSummary): boolean {
  const slack = ROUNDING * count * Math.max(1, Math.abs(min), Math.abs(max))
  return sum >= min * count - slack && sum <= max * count + slack
}
