// The receipt of a submission: what was decided about each element, in order.

import type { Receipt, ReceiptItem, ReceiptStatus } from '../../domain/measurement.ts'
import type { ItemDraft } from './group-decider.ts'

export class GroupReceipt implements Receipt {
  readonly counts: Readonly<Record<ReceiptStatus, number>>
  readonly #items: readonly ItemDraft[]

  constructor(items: readonly ItemDraft[]) {
    this.#items = items
    const counts = { created: 0, duplicate: 0, conflict: 0 }
    for (const { status } of items) counts[status]++
    this.counts = counts
  }

  get count(): number {
    return this.#items.length
  }

  at(index: number): ReceiptItem {
    const item = this.#items[index]
    if (item === undefined) throw new Error(`BUG: no item ${index}`)
    const { status, serialNumber, measuredAtMs, sensor, existing } = item
    const { id: sensorId } = sensor
    const plain = { status, sensorId, serialNumber, measuredAtMs }
    if (existing === undefined) return plain
    const { tempCelsius } = existing
    const stored = { serialNumber: sensor.serialNumber, sensorId, tempCelsius, measuredAtMs }
    return { ...plain, existing: stored }
  }
}
