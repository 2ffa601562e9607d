// When sensors had measurements before an import stored any of them. Only lines of these periods
// are compared with what is stored, and those of the day of the import, on which daemons send
// meanwhile: the others cannot be there, and the import need not wait for what it stored itself.

import type { SubmittedMeasurement } from '../../domain/measurement.ts'
import { serialNumberKey } from '../../domain/sensor.ts'
import { DAY_MS } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type { Operations } from '../../commands/operations.ts'
import type { ImportRules } from '../../operations/import-order.ts'

export class PeriodsBefore {
  readonly #operations: Pick<Operations, 'listMeasuredPeriods'>
  readonly #user: string
  readonly #todayMs: number
  /** By the key of the serial number. */
  readonly #periods = new Map<string, readonly TimeRange[]>()

  constructor(
    operations: Pick<Operations, 'listMeasuredPeriods'>,
    { user, rules }: { readonly user: string; readonly rules: ImportRules },
  ) {
    this.#operations = operations
    this.#user = user
    this.#todayMs = Math.floor(rules.measuredAtMsMax / DAY_MS) * DAY_MS
  }

  /**
   * Whether each of the measurements is to be compared; to be called before any is stored.
   *
   * @throws OperationError if it cannot be known now
   */
  async cover(measurements: readonly SubmittedMeasurement[]): Promise<readonly boolean[]> {
    const spellings = new Set(measurements.map(({ serialNumber }) => serialNumber))
    const keys = new Map(Array.from(spellings, (one) => [one, serialNumberKey(one)]))
    await this.#learn(new Set(keys.values()))
    const periods = new Map(
      keys.entries().map(([spelling, key]) => [spelling, this.#periods.get(key) ?? []]),
    )
    return measurements.map(({ serialNumber, measuredAtMs }) => {
      const atMs = measuredAtMs ?? 0
      const isAt = ({ startMs, stopMs }: TimeRange) => startMs <= atMs && atMs < stopMs
      return atMs >= this.#todayMs || periods.get(serialNumber)?.some(isAt) === true
    })
  }

  async #learn(keys: ReadonlySet<string>): Promise<void> {
    const serialNumbers = [...keys].filter((key) => !this.#periods.has(key))
    if (serialNumbers.length === 0) return
    const asked = { user: this.#user, serialNumbers }
    const found = await this.#operations.listMeasuredPeriods(asked)
    for (const [at, key] of serialNumbers.entries()) this.#periods.set(key, found[at] ?? [])
  }
}
