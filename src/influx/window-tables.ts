// The four results of one query, joined window by window.
//
// Each aggregate reads the data separately, one moment after the other. A measurement written in
// between is in one and not in the next, and a mean of such a sum and count would match no data at
// all. Results that visibly do not fit are queried again.

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

export class WindowTables {
  readonly #tables: Readonly<Record<Aggregate, Table>> = {
    count: { timesMs: [], values: [] },
    max: { timesMs: [], values: [] },
    min: { timesMs: [], values: [] },
    sum: { timesMs: [], values: [] },
  }

  /** Adds rows of one of the results. */
  add({ result, timesMs, values }: FluxRows): void {
    const name = AGGREGATES.find((aggregate) => aggregate === result)
    if (name === undefined) throw new Error(`BUG: InfluxDB answers with a result named ${result}`)
    const table = this.#tables[name]
    for (const timeMs of timesMs) table.timesMs.push(timeMs)
    for (const value of values) table.values.push(value)
  }

  /** @returns the windows in ascending order, `undefined` when the results do not fit together */
  join(): WindowSummary[] | undefined {
    const { count, max, min, sum } = this.#tables
    if ([max, min, sum].some(({ values }) => values.length !== count.values.length))
      return undefined
    const summaries: WindowSummary[] = []
    for (const [at, startMs] of count.timesMs.entries()) {
      const times = [max.timesMs[at], min.timesMs[at], sum.timesMs[at]]
      const summary = {
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
}

function isPossible({ count, sum, min, max }: WindowSummary): boolean {
  const slack = ROUNDING * count * Math.max(1, Math.abs(min), Math.abs(max))
  return sum >= min * count - slack && sum <= max * count + slack
}
