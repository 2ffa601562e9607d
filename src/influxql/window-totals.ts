// The totals of a series' windows: summaries of its sensors added up, and the aggregates of them.

import { meanCelsius, steadySum } from '../history/history-points.ts'
import type { WindowSummary } from '../domain/history.ts'
import { compensate, roundCelsius } from '../domain/sensor.ts'
import type { Aggregate } from './vocabulary.ts'

/**
 * Totals of one field. Where all sensors have the same compensation it is applied to the result, as
 * histories do, so that both have the same last digit; else to each sensor's summaries.
 */
export class WindowTotals {
  readonly #common: number | undefined
  readonly #counts: Float64Array
  readonly #sums: Float64Array
  readonly #mins: Float64Array
  readonly #maxs: Float64Array
  readonly #lastAtMs: Float64Array
  readonly #lasts: Float64Array

  /** @param compensations of the sensors that will be added */
  constructor(windows: number, compensations: readonly number[]) {
    const [first = 0] = compensations
    this.#common = compensations.every((celsius) => celsius === first) ? first : undefined
    this.#counts = new Float64Array(windows)
    this.#sums = new Float64Array(windows)
    this.#mins = new Float64Array(windows).fill(Infinity)
    this.#maxs = new Float64Array(windows).fill(-Infinity)
    this.#lastAtMs = new Float64Array(windows).fill(-Infinity)
    this.#lasts = new Float64Array(windows)
  }

  add(window: number, summary: WindowSummary, compensation: number): void {
    const shift = this.#common === undefined ? compensation : 0
    const { count, sum, min, max } = summary
    this.#counts[window]! += count
    this.#sums[window]! += shift === 0 ? sum : steadySum(sum) + shift * count
    this.#mins[window] = Math.min(this.#mins[window]!, compensate(min, shift))
    this.#maxs[window] = Math.max(this.#maxs[window]!, compensate(max, shift))
  }

  /** Of several measurements at one time the one noted last counts. */
  noteLast(window: number, atMs: number, celsius: number, compensation: number): void {
    if (atMs < this.#lastAtMs[window]!) return
    const shift = this.#common === undefined ? compensation : 0
    this.#lastAtMs[window] = atMs
    this.#lasts[window] = compensate(celsius, shift)
  }

  isEmpty(window: number): boolean {
    return this.#counts[window] === 0
  }

  /** @param window not empty */
  valueOf(aggregate: Aggregate, window: number): number {
    const common = this.#common ?? 0
    const count = this.#counts[window]!
    const sum = this.#sums[window]!
    const values = {
      count: () => count,
      sum: () => roundCelsius(steadySum(sum) + common * count),
      mean: () => meanCelsius({ sum, count }, common),
      min: () => compensate(this.#mins[window]!, common),
      max: () => compensate(this.#maxs[window]!, common),
      last: () => compensate(this.#lasts[window]!, common),
    }
    return values[aggregate]()
  }
}
