// The receipts of a group. What was decided stays in columns that all receipts of the group share:
// an object for each of thousands of measurements that are answered together would outlive the
// memory that is cheap to clear.

import type { Receipt, ReceiptItem, ReceiptStatus } from '../../domain/measurement.ts'
import { groupColumnsOver, STATUS_CREATED, STATUS_DUPLICATE } from './group-frame.ts'
import type { GroupColumns, GroupConflict, GroupResult } from './group-frame.ts'

type Decided = Pick<GroupColumns, 'status' | 'sensorId' | 'measuredAtMs' | 'serialNumberAt'>

interface Group extends Decided {
  readonly serialNumbers: readonly string[]
  readonly conflicts: ReadonlyMap<number, GroupConflict>
}

/**
 * What makes receipts of a group's elements. The group's buffer may be used again at once.
 *
 * @param elements how many the group has
 */
export function createReceipts(
  { buffer, keptSerialNumbers, conflicts }: GroupResult,
  elements: number,
): (start: number, count: number) => Receipt {
  const { status, sensorId, measuredAtMs, serialNumberAt } = groupColumnsOver(buffer)
  const group: Group = {
    status: Uint8Array.from(status.subarray(0, elements)),
    sensorId: Uint32Array.from(sensorId.subarray(0, elements)),
    measuredAtMs: Float64Array.from(measuredAtMs.subarray(0, elements)),
    serialNumberAt: Uint32Array.from(serialNumberAt.subarray(0, elements)),
    serialNumbers: keptSerialNumbers,
    conflicts: new Map(conflicts.map((conflict) => [conflict.element, conflict])),
  }
  return (start, count) => new GroupReceipt(group, start, count)
}

class GroupReceipt implements Receipt {
  readonly count: number
  readonly counts: Readonly<Record<ReceiptStatus, number>>
  readonly #group: Group
  readonly #start: number

  constructor(group: Group, start: number, count: number) {
    this.#group = group
    this.#start = start
    this.count = count
    const counts = { created: 0, duplicate: 0, conflict: 0 }
    for (let at = start; at < start + count; at++) counts[statusOf(group, at)]++
    this.counts = counts
  }

  at(index: number): ReceiptItem {
    const group = this.#group
    const element = this.#start + index
    const status = statusOf(group, element)
    const sensorId = group.sensorId[element] ?? 0
    const serialNumber = group.serialNumbers[group.serialNumberAt[element] ?? 0] ?? ''
    const measuredAtMs = group.measuredAtMs[element] ?? 0
    const item = { status, sensorId, serialNumber, measuredAtMs }
    const existing = status === 'conflict' ? group.conflicts.get(element) : undefined
    return existing === undefined ? item : { ...item, existing }
  }
}

function statusOf({ status }: Group, element: number): ReceiptStatus {
  const code = status[element]
  if (code === STATUS_CREATED) return 'created'
  return code === STATUS_DUPLICATE ? 'duplicate' : 'conflict'
}
