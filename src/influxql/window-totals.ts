// The totals of the windows of series: the sum of their sensors' summaries, and aggregates of it.

import { meanCelsius, steadySum } from '../history/history-points.ts'
import type { SeriesRange, StoredPoint, WindowSummary } from '../domain/history.ts'
import { compensate, roundCelsius } from '../domain/sensor.ts'
import type { Sensor } from '../domain/sensor.ts'
import { sensorsOf } from './tagged-sensors.ts'
import type { Group } from './tagged-sensors.ts'
import type { Aggregate } from './vocabulary.ts'

interface Noted {
  readonly atMs: number
  readonly celsius: number
}

/**
 * Totals of one field. If all sensors have the same compensation, it is applied to the result, as
 * histories do, so that both agree to the last digit; otherwise to each sensor's summaries.
 */
export class WindowTotals {
  readonly #common: number | undefined
  readonly #counts: Float64Array
  readonly #sums: Float64Array
  readonly #mins: Float64Array
  readonly #maxs: Float64Array
  readonly #firsts = new Map<number, Noted>()
  readonly #lasts = new Map<number, Noted>()

  /** @param compensations of the sensors to be added */
  constructor(windows: number, compensations: readonly number[]) {
    const [first = 0] = compensations
    this.#common = compensations.every((celsius) => celsius === first) ? first : undefined
    this.#counts = new Float64Array(windows)
    this.#sums = new Float64Array(windows)
    this.#mins = new Float64Array(windows).fill(Infinity)
    this.#maxs = new Float64Array(windows).fill(-Infinity)
  }

  add(window: number, summary: WindowSummary, compensation: number): void {
    const shift = this.#common === undefined ? compensation : 0
    const { count, sum, min, max } = summary
    this.#counts[window]! += count
    this.#sums[window]! += shift === 0 ? sum : steadySum(sum) + shift * count
    this.#mins[window] = Math.min(this.#mins[window]!, compensate(min, shift))
    this.#maxs[window] = Math.max(this.#maxs[window]!, compensate(max, shift))
  }

  /** A single measurement; those at one time in their order. */
  note(window: number, atMs: number, celsius: number, compensation: number): void {
    const shift = this.#common === undefined ? compensation : 0
    const noted = { atMs, celsius: compensate(celsius, shift) }
    if (atMs < (this.#firsts.get(window)?.atMs ?? Infinity)) this.#firsts.set(window, noted)
    if (atMs >= (this.#lasts.get(window)?.atMs ?? -Infinity)) this.#lasts.set(window, noted)
  }

  isEmpty(window: number): boolean {
    return this.#counts[window] === 0
  }

  /** @param window must not be empty */
  valueOf(aggregate: Aggregate, window: number): number | null {
    const common = this.#common ?? 0
    const count = this.#counts[window]!
    const sum = this.#sums[window]!
    const [min, max] = [this.#mins[window]!, this.#maxs[window]!]
    // A sensor that was deleted after it was counted has none.
    const shown = (noted?: Noted) => (noted ? compensate(noted.celsius, common) : null)
    const values = {
      count: () => count,
      sum: () => roundCelsius(steadySum(sum) + common * count),
      mean: () => meanCelsius({ sum, count }, common),
      min: () => compensate(min, common),
      max: () => compensate(max, common),
      spread: () => roundCelsius(max - min),
      first: () => shown(this.#firsts.get(window)),
      last: () => shown(this.#lasts.get(window)),
    }
    return values[aggregate]()
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

function compensationOf(field: string, { compensationCelsius }: Sensor): number {
  return field === 'raw' ? 0 : compensationCelsius
}
