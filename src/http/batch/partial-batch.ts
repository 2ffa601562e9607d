// A batch with `on_invalid=skip`: what is valid is stored, every other element comes back as
// rejected, with its faults.

import type { RequestFault } from '../../domain/errors.ts'
import type { SubmittedMeasurement } from '../../domain/measurement.ts'
import type { PartialReceipt } from '../../ingest/submit-valid.ts'
import { presentItem } from './batch-receipt.ts'
import type { Refusal } from './keep-refused.ts'
import { aheadTime } from './keep-refused.ts'
import { membersOf, throwFaults } from '../routes/input.ts'
import { elementOf, faultOfElement } from './read-batch.ts'
import type { FitElements } from './read-batch.ts'
import type { BatchReceiptItem, BatchReceiptResponse } from '../../../schemas/messages.d.ts'

export class PartialBatch {
  /** The elements of valid form. */
  readonly measurements: readonly SubmittedMeasurement[]
  /** Elements of the batch. */
  readonly count: number
  readonly #places: readonly number[]
  readonly #faults: readonly RequestFault[]
  readonly #elements: readonly unknown[]

  /**
   * @param faults found while reading the batch and its elements
   * @param body the parsed JSON, or a scanned batch
   * @throws ServiceError `validation_failed` if the batch as a whole is not valid
   */
  constructor(
    { measurements, places, count }: FitElements,
    faults: readonly RequestFault[],
    body: unknown,
  ) {
    if (faults.some(({ index }) => index === undefined)) throwFaults(faults)
    // The columns that the elements were read into are reused for the next batch.
    this.measurements = Array.from({ length: measurements.length }, (_, index) => {
      const measurement = measurements.at(index)
      if (measurement === undefined) throw new Error(`BUG: no element ${index}`)
      return { ...measurement }
    })
    this.count = count
    this.#places = places ?? [...this.measurements.keys()]
    this.#faults = faults
    const { measurements: elements } = membersOf(body)
    this.#elements = Array.isArray(elements) ? elements : []
  }

  /** The outcome to report after committing `measurements`. */
  receipt({ receipt, places, faults }: PartialReceipt): BatchReceiptResponse {
    const ofBatch = [...this.#faults, ...faults.map((fault) => this.#ofElement(fault))]
    const items = [...rejectedItems(ofBatch)]
    places.forEach((place, at) => {
      const item = receipt?.at(at)
      if (item === undefined) return
      const index = this.#places[place] ?? 0
      items.push(presentItem(index, this.measurements[place]?.eventId ?? null, item))
    })
    const { created = 0, duplicate = 0, conflict = 0 } = receipt?.counts ?? {}
    const rejected = items.length - places.length
    const measurements = items.toSorted((a, b) => a.index - b.index)
    return {
      data: { created, duplicates: duplicate, conflicts: conflict, rejected, measurements },
    }
  }

  /** What to keep of the elements that cannot be read. */
  unreadable(): readonly Refusal[] {
    const byIndex = new Map<number, Refusal>()
    for (const { index = 0, pointer, detail } of this.#faults) {
      if (byIndex.has(index)) continue
      const element = JSON.stringify(this.#elements[index] ?? null)
      const reason = `${pointer.replace(/^\/measurements\/\d+\/?/, '')} ${detail}`.trim()
      byIndex.set(index, refusalOf(element, reason, null))
    }
    return [...byIndex.values()]
  }

  /** What to keep of `measurements`, given what is wrong with some of them. */
  refusals(faults: readonly RequestFault[]): readonly Refusal[] {
    const byPlace = new Map<number, Refusal>()
    for (const fault of faults) {
      const place = fault.index ?? 0
      const measurement = this.measurements[place]
      if (measurement === undefined || byPlace.has(place)) continue
      const aheadAtMs = aheadTime(fault, measurement.measuredAtMs)
      byPlace.set(place, refusalOf(elementOf(measurement), fault.detail, aheadAtMs))
    }
    return [...byPlace.values()]
  }

  #ofElement(fault: RequestFault): RequestFault {
    const place = fault.index ?? 0
    const index = this.#places[place] ?? 0
    return faultOfElement(fault, index, this.measurements[place]?.eventId ?? null)
  }
}

function refusalOf(content: string, reason: string, aheadAtMs: number | null): Refusal {
  return { kind: 'element', content, fields: null, unitNs: '1', reason, aheadAtMs, count: 1 }
}

function rejectedItems(faults: readonly RequestFault[]): Iterable<BatchReceiptItem> {
  const items = new Map<number, BatchReceiptItem & { readonly errors: RequestFault[] }>()
  for (const fault of faults) {
    const { index = 0, event_id: eventId = null } = fault
    const known = items.get(index)
    if (known !== undefined) known.errors.push(fault)
    else items.set(index, { index, event_id: eventId, status: 'rejected', errors: [fault] })
  }
  return items.values()
}
