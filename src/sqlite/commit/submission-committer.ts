// SubmissionCommitter on SQLite: groups go to the commit thread as columns of numbers and come back
// as receipts over the same columns, which are then reused.

import { writeEventBits } from '../../domain/event-bits.ts'
import type {
  Receipt,
  ReceiptItem,
  ReceiptStatus,
  Submission,
  SubmittedMeasurement,
} from '../../domain/measurement.ts'
import type {
  SubmissionOutcome,
  SubmissionCommitter,
  SubmissionGroup,
} from '../../ports/submissions.ts'
import { KEY_WORDS } from '../event-key.ts'
import type { CommitChannel } from './commit-channel.ts'
import { allocateGroup, STATUS_CREATED, STATUS_DUPLICATE } from './group-frame.ts'
import type { GroupColumns, GroupConflict, GroupFrame, GroupResult } from './group-frame.ts'

export class SqliteSubmissionCommitter implements SubmissionCommitter {
  readonly #channel: CommitChannel
  readonly #onJournalled: (measurements: number) => void
  readonly #spare: GroupColumns[] = []

  /** @param onJournalled is told of new journal rows and their number of measurements */
  constructor(channel: CommitChannel, onJournalled: (measurements: number) => void) {
    this.#channel = channel
    this.#onJournalled = onJournalled
  }

  beginGroup(): GroupBuilder {
    return new GroupBuilder(this.#spare.pop() ?? allocateGroup())
  }

  async commit(group: SubmissionGroup): Promise<readonly SubmissionOutcome[]> {
    if (!(group instanceof GroupBuilder)) throw new Error('BUG: a group of another journal')
    const frame = group.finish()
    const result = await this.#channel.commitGroup(frame)
    const outcomes = outcomesOf(frame, group.columns, result)
    this.#spare.push(group.columns)
    if (result.seq > 0) this.#onJournalled(createdOf(outcomes))
    return outcomes
  }
}

function createdOf(outcomes: readonly SubmissionOutcome[]): number {
  let created = 0
  for (const outcome of outcomes) if ('counts' in outcome) created += outcome.counts.created
  return created
}

/** A group being put together: submissions are encoded as they arrive, and not kept. */
export class GroupBuilder implements SubmissionGroup {
  readonly columns: GroupColumns
  readonly #serialNumbers: string[] = []
  readonly #aliases = new Map<number, string>()
  #submissions = 0
  #elements = 0

  /** @param columns from `allocateGroup`, or from a group that has been answered */
  constructor(columns: GroupColumns) {
    this.columns = columns
  }

  get submissions(): number {
    return this.#submissions
  }

  get measurements(): number {
    return this.#elements
  }

  hasRoomFor(measurements: number): boolean {
    const { status, userId } = this.columns
    return this.#elements + measurements <= status.length && this.#submissions < userId.length
  }

  /** Event ids become the plain bits of keys here. */
  add(submission: Submission, isOnlyChecked = false): void {
    const elements = this.#elements
    const serialNumbers = this.#serialNumbers.length
    try {
      this.#add(submission, isOnlyChecked)
    } catch (error) {
      this.#elements = elements
      this.#serialNumbers.length = serialNumbers
      throw error
    }
  }

  #add({ userId, receivedAtMs, measurements }: Submission, isOnlyChecked: boolean): void {
    const placeOf = new Map<string, number>()
    for (let index = 0; index < measurements.length; index++) {
      const measurement = measurements.at(index)
      if (measurement === undefined) throw new Error(`BUG: no element ${index}`)
      let place = placeOf.get(measurement.serialNumber)
      if (place === undefined) {
        place = this.#serialNumbers.push(measurement.serialNumber) - 1
        placeOf.set(measurement.serialNumber, place)
        // A submission that was taken back may have left a 1 here.
        if (measurement.alias === undefined) this.#aliases.delete(place)
        else this.#aliases.set(place, measurement.alias)
      }
      this.#addElement(measurement, place)
    }
    const submission = this.#submissions++
    this.columns.userId[submission] = userId
    this.columns.elementsEnd[submission] = this.#elements
    this.columns.receivedAtMs[submission] = receivedAtMs
    this.columns.isOnlyChecked[submission] = isOnlyChecked ? 1 : 0
  }

  /** The finished group. Its columns belong to the other thread now: nothing more can be added. */
  finish(): GroupFrame {
    return {
      submissionCount: this.#submissions,
      elementCount: this.#elements,
      buffer: this.columns.buffer,
      serialNumbers: this.#serialNumbers,
      aliases: this.#aliases,
    }
  }

  #addElement(measurement: SubmittedMeasurement, serialNumberAt: number): void {
    const element = this.#elements++
    const { eventId, tempCelsius, measuredAtMs } = measurement
    // Checks that the columns can hold what goes to another thread, whoever made it.
    const hasNumbers = Number.isFinite(tempCelsius) && Number.isSafeInteger(measuredAtMs ?? 0)
    if (!hasNumbers || typeof measurement.serialNumber !== 'string') throw noMeasurement()
    if (eventId !== null && typeof eventId !== 'string') throw noMeasurement()
    if (eventId !== null) writeEventBits(eventId, this.columns.keys, element * KEY_WORDS)
    this.columns.hasEventId[element] = eventId === null ? 0 : 1
    this.columns.serialNumberAt[element] = serialNumberAt
    this.columns.tempCelsius[element] = tempCelsius
    this.columns.measuredAtMs[element] = measuredAtMs ?? NaN
  }
}

function noMeasurement(): TypeError {
  return new TypeError('BUG: a submission with an element that is no measurement')
}

type Decided = Pick<GroupColumns, 'status' | 'sensorId' | 'measuredAtMs' | 'serialNumberAt'>

interface DecidedGroup extends Decided {
  readonly serialNumbers: readonly string[]
  readonly conflicts: ReadonlyMap<number, GroupConflict>
}

/** The outcome of each submission of a group, in order. The columns may be reused at once. */
function outcomesOf(
  { submissionCount, elementCount }: GroupFrame,
  columns: GroupColumns,
  result: GroupResult,
): SubmissionOutcome[] {
  const group: DecidedGroup = {
    status: Uint8Array.from(columns.status.subarray(0, elementCount)),
    sensorId: Uint32Array.from(columns.sensorId.subarray(0, elementCount)),
    measuredAtMs: Float64Array.from(columns.measuredAtMs.subarray(0, elementCount)),
    serialNumberAt: Uint32Array.from(columns.serialNumberAt.subarray(0, elementCount)),
    serialNumbers: result.keptSerialNumbers,
    conflicts: new Map(result.conflicts.map((conflict) => [conflict.element, conflict])),
  }
  const rejections = new Map(
    result.rejections.map((rejection) => [rejection.submission, rejection]),
  )
  const outcomes: SubmissionOutcome[] = []
  let start = 0
  for (let submission = 0; submission < submissionCount; submission++) {
    const end = columns.elementsEnd[submission] ?? 0
    outcomes.push(rejections.get(submission) ?? new GroupReceipt(group, start, end - start))
    start = end
  }
  return outcomes
}

/**
 * Outcomes stay in columns shared by all receipts of a group: with an object for each of thousands
 * of measurements answered together, many would outlive the young generation.
 */
class GroupReceipt implements Receipt {
  readonly count: number
  readonly counts: Readonly<Record<ReceiptStatus, number>>
  readonly #group: DecidedGroup
  readonly #start: number

  constructor(group: DecidedGroup, start: number, count: number) {
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

function statusOf({ status }: DecidedGroup, element: number): ReceiptStatus {
  const code = status[element]
  if (code === STATUS_CREATED) return 'created'
  return code === STATUS_DUPLICATE ? 'duplicate' : 'conflict'
}
