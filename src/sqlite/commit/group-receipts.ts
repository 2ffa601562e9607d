// The receipts of a group. What was decided stays in columns that all receipts of the group share:
// an object for each of thousands of measurements that are answered together would outlive the
// memory that is cheap to clear.

import type { Receipt, ReceiptItem, ReceiptStatus } from '../../domain/measurement.ts'
import type { SubmissionOutcome } from '../../ports/submissions.ts'
import { groupColumnsOver, STATUS_CREATED, STATUS_DUPLICATE } from './group-frame.ts'
import type { GroupColumns, GroupConflict, GroupFrame, GroupResult } from './group-frame.ts'

type Decided = Pick<GroupColumns, 'status' | 'sensorId' | 'measuredAtMs' | 'serialNumberAt'>

interface Group extends Decided {
  readonly serialNumbers: readonly string[]
  readonly conflicts: ReadonlyMap<number, GroupConflict>
}

/**
 * What became of each submission of a group, in order. The buffer may be used again at once.
 *
 * @param result what was decided about the frame, in its own buffer
 */
export function outcomesOf(
  { submissionCount, elementCount }: GroupFrame,
  result: GroupResult,
): SubmissionOutcome[] {
  const columns = groupColumnsOver(result.buffer)
  const group: Group = {
    status: Uint8Array.from(columns.status.subarray(0, elementCount)),
    sensorId: Uint32Array.from(columns.sensorId.subarray(0, elementCount)),
    measuredAtMs: Float64Array.from(columns.measuredAtMs.subarray(0, elementCount)),
    serialNumberAt: Uint32Array.from(columns.serialNumberAt.subarray(0, elementCount)),
    serialNumbers: result.keptSerialNumbers,
    conflicts: new Map(result.conflicts.map((conflict) => [conflict.element, conflict])),
  }
  const refusals = new Map(result.refusals.map((refusal) => [refusal.submission, refusal]))
  const outcomes: SubmissionOutcome[] = []
  let start = 0
  for (let submission = 0; submission < submissionCount; submission++) {
    const end = columns.elementsEnd[submission] ?? 0
    outcomes.push(refusals.get(submission) ?? new GroupReceipt(group, start, end - start))
    start = end
  }
  return outcomes
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
