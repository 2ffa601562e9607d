// The totals of the windows of series: the sum of their sensors' summaries, and aggregates of it.

import { meanCelsius, steadySum } from '../history/history-points.ts'
import type { SeriesRange, StoredPoint, WindowSummary } from '../domain/history.ts'
import { compensate, roundCelsius } from '../domain/sensor.ts'
import type { Sensor } from '../domain/sensor.ts'
import { compensationOf, sensorsOf } from './tagged-sensors.ts'
import type { Group } from './tagged-sensors.ts'
import type { Aggregate } from './vocabulary.ts'

/** The newest window before those that are kept each. */
export const BEFORE = -1

/** The first or last measurement of each window. */
class Ends {
  readonly atMs: Float64Array
  readonly celsius: Float64Array

  constructor(windows: number) {
    this.atMs = new Float64Array(windows).fill(NaN)
    this.celsius = new Float64Array(windows)
  }

  set(place: number, atMs: number, celsius: number): void {
    this.atMs[place] = atMs
    this.celsius[place] = celsius
  }
}

/**
 * Totals of one field. If all sensors have the same compensation, it is applied to the result, as
 * histories do, so that both agree to the last digit; otherwise to each sensor's summaries.
 */
export class WindowTotals {
  readonly #common: number | undefined
  /** Of `BEFORE`, behind the others. */
  readonly #placeBefore: number
  #beforeMs = -Infinity
  readonly #counts: Float64Array
  readonly #sums: Float64Array
  readonly #mins: Float64Array
  readonly #maxs: Float64Array
  #firsts: Ends | undefined
  #lasts: Ends | undefined

  /** @param compensations of the sensors to be added */
  constructor(windows: number, compensations: readonly number[]) {
    const [first = 0] = compensations
    this.#common = compensations.every((celsius) => celsius === first) ? first : undefined
    this.#placeBefore = windows
    this.#counts = new Float64Array(windows + 1)
    this.#sums = new Float64Array(windows + 1)
    this.#mins = new Float64Array(windows + 1).fill(Infinity)
    this.#maxs = new Float64Array(windows + 1).fill(-Infinity)
  }

  /** Of windows before those that are kept, only the newest counts. */
  add(window: number, summary: WindowSummary, compensation: number): void {
    if (window === BEFORE) {
      if (summary.startMs < this.#beforeMs) return
      if (summary.startMs > this.#beforeMs) this.#clearBefore(summary.startMs)
    }
    const place = this.#placeOf(window)
    const shift = this.#common === undefined ? compensation : 0
    const { count, sum, min, max } = summary
    this.#counts[place]! += count
    this.#sums[place]! += shift === 0 ? sum : steadySum(sum) + shift * count
    this.#mins[place] = Math.min(this.#mins[place]!, compensate(min, shift))
    this.#maxs[place] = Math.max(this.#maxs[place]!, compensate(max, shift))
  }

  /** A single measurement that has been added; those at one time in their order. */
  note(window: number, atMs: number, rawCelsius: number, compensation: number): void {
    if (window === BEFORE && atMs < this.#beforeMs) return
    const windows = this.#placeBefore + 1
    const firsts = (this.#firsts ??= new Ends(windows))
    const lasts = (this.#lasts ??= new Ends(windows))
    const place = this.#placeOf(window)
    const celsius = compensate(rawCelsius, this.#common === undefined ? compensation : 0)
    if (!(atMs >= firsts.atMs[place]!)) firsts.set(place, atMs, celsius)
    if (!(atMs < lasts.atMs[place]!)) lasts.set(place, atMs, celsius)
  }

  isEmpty(window: number): boolean {
    return this.#counts[this.#placeOf(window)] === 0
  }

  /** @param window must not be empty */
  valueOf(aggregate: Aggregate, window: number): number | null {
    const place = this.#placeOf(window)
    if (aggregate === 'first') return this.#endOf(this.#firsts, place)
    if (aggregate === 'last') return this.#endOf(this.#lasts, place)
    const common = this.#common ?? 0
    const [min, max] = [this.#mins[place]!, this.#maxs[place]!]
    if (aggregate === 'min') return compensate(min, common)
    if (aggregate === 'max') return compensate(max, common)
    if (aggregate === 'spread') return roundCelsius(max - min)
    const [count, sum] = [this.#counts[place]!, this.#sums[place]!]
    if (aggregate === 'mean') return meanCelsius({ sum, count }, common)
    return aggregate === 'count' ? count : roundCelsius(steadySum(sum) + common * count)
  }

  /** A sensor that was deleted after it was counted has none. */
  #endOf(ends: Ends | undefined, place: number): number | null {
    if (ends === undefined || Number.isNaN(ends.atMs[place]!)) return null
    return compensate(ends.celsius[place]!, this.#common ?? 0)
  }

  #placeOf(window: number): number {
    return window === BEFORE ? this.#placeBefore : window
  }

  #clearBefore(startMs: number): void {
    const place = this.#placeBefore
    this.#beforeMs = startMs
    this.#counts[place] = 0
    this.#sums[place] = 0
    this.#mins[place] = Infinity
    this.#maxs[place] = -Infinity
    this.#firsts?.set(place, NaN, 0)
    this.#lasts?.set(place, NaN, 0)
  }
}

/** Compensations that are queried separately; if there are more, sensors are. */
const ALIKE_MAX = 4

/** Totals by field. */
export type FieldTotals = ReadonlyMap<string, WindowTotals>

/** Where the values read of a sensor are added. */
interface Target {
  readonly totals: WindowTotals
  readonly compensation: number
}

/** The totals of several series, from values of their sensors read in any order. */
export class SeriesTotals {
  readonly ofGroups: readonly FieldTotals[]
  readonly #targets = new Map<number, readonly Target[]>()

  constructor(groups: readonly Group[], fields: ReadonlySet<string>, windows: number) {
    this.ofGroups = groups.map((group) => this.#totalsOf(sensorsOf([group]), fields, windows))
  }

  /**
   * How the sensors are queried. If they form one series and few are calibrated, those with the
   * same compensation may be summarised together.
   */
  get parts(): readonly Pick<SeriesRange, 'sensorIds' | 'areOne'>[] {
    const sensorIds = [...this.#targets.keys()]
    if (this.ofGroups.length > 1) return [{ sensorIds }]
    const alike = Map.groupBy(sensorIds, (id) => String(this.#compensationsOf(id)))
    if (alike.size > ALIKE_MAX) return [{ sensorIds }]
    return [...alike.values()].map((ids) => ({ sensorIds: ids, areOne: true }))
  }

  add(window: number, summary: WindowSummary): void {
    for (const { totals, compensation } of this.#targets.get(summary.sensorId) ?? []) {
      totals.add(window, summary, compensation)
    }
  }

  note(window: number, { sensorId, measuredAtMs, rawCelsius }: StoredPoint): void {
    for (const { totals, compensation } of this.#targets.get(sensorId) ?? []) {
      totals.note(window, measuredAtMs, rawCelsius, compensation)
    }
  }

  #compensationsOf(id: number): readonly number[] {
    return (this.#targets.get(id) ?? []).map(({ compensation }) => compensation)
  }

  #totalsOf(sensors: readonly Sensor[], fields: ReadonlySet<string>, windows: number): FieldTotals {
    const targets = sensors.map(({ id }) => ({ id, own: [] as Target[] }))
    const totals = new Map<string, WindowTotals>()
    for (const field of fields) {
      const compensations = sensors.map((sensor) => compensationOf(field, sensor))
      const ofField = new WindowTotals(windows, compensations)
      totals.set(field, ofField)
      for (const [at, { own }] of targets.entries()) {
        own.push({ totals: ofField, compensation: compensations[at] ?? 0 })
      }
    }
    for (const { id, own } of targets) this.#targets.set(id, own)
    return totals
  }
}
