// What passes from the main thread to the look-up thread, the commit thread and back: a group of
// submissions, with what the sealed ledger knows of it, and with what was decided. Numbers stand as
// columns in a buffer that they share and that belongs to one of them at a time, text travels as
// arrays of strings; nothing is allocated or copied for a group. Handing a buffer over instead cost
// the main thread a fifth of its time.

import { groupMeasurementsMax, submissionsInFlightMax } from '../../domain/limits.ts'
import type { Submission, SubmittedMeasurement } from '../../domain/measurement.ts'
import type { RefusedSubmission, SubmissionGroup } from '../../ports/submissions.ts'
import { DamagedData } from '../damaged-data.ts'
import { KEY_WORDS, writeEventId } from '../event-key.ts'
import type { SealedEvent } from '../ledger/event-look-up.ts'

export const STATUS_CREATED = 0
export const STATUS_DUPLICATE = 1
export const STATUS_CONFLICT = 2

/** No sensor has this id: ids are below 2^31. */
export const SEALED_DAMAGED = 0xffff_ffff

/** Columns of a group; those of elements run through all of its submissions. */
export interface GroupColumns {
  /** Per submission. */
  readonly userId: Uint32Array
  /** Per submission: one past its last element. */
  readonly elementsEnd: Uint32Array
  /** Per submission. */
  readonly receivedAtMs: Float64Array
  /** Per submission: 1 where it is only to be checked, and refused whatever comes out. */
  readonly isOnlyChecked: Uint8Array
  /** Per element: encrypted by the look-up thread; they mean nothing without an event id. */
  readonly keys: Uint32Array
  /** Per element: 1 where it has one. */
  readonly hasEventId: Uint8Array
  readonly tempCelsius: Float64Array
  /** NaN where the element has no timestamp; when it is decided, the stored time. */
  readonly measuredAtMs: Float64Array
  /** Position in the group's serial numbers. */
  readonly serialNumberAt: Uint32Array
  /**
   * When it is looked up: the sensor of the sealed event that has the key, 0 where none has, and
   * `SEALED_DAMAGED` where nobody can tell.
   */
  readonly sealedSensorId: Uint32Array
  readonly sealedMeasuredAtMs: Float64Array
  readonly sealedTempCelsius: Float64Array
  /** The block that has that event. */
  readonly sealedBlockId: Float64Array
  /** When it is decided. */
  readonly status: Uint8Array
  /** When it is decided. */
  readonly sensorId: Uint32Array
}

/** A group on its way to the commit thread. */
export interface GroupFrame {
  readonly submissionCount: number
  readonly elementCount: number
  /** See `groupColumnsOver`. */
  readonly buffer: SharedArrayBuffer
  /** Of each submission its distinct spellings, one submission after the other. */
  readonly serialNumbers: readonly string[]
  /** By place of the serial number: what the sensor is called if it is registered. */
  readonly aliases: ReadonlyMap<number, string>
  /** When it is looked up: what of the sealed ledger is damaged that it needs. */
  readonly damage?: string
}

/** What was decided. */
export interface GroupResult {
  /** The last row of the journal that holds what was created; 0 when nothing was. */
  readonly seq: number
  /** The frame's own, with status, sensor and time of each element. */
  readonly buffer: SharedArrayBuffer
  /** The kept spelling for each of the frame's `serialNumbers` that names a sensor. */
  readonly keptSerialNumbers: readonly string[]
  readonly refusals: readonly GroupRefusal[]
  readonly conflicts: readonly GroupConflict[]
}

/** A submission of which nothing is stored. */
export interface GroupRefusal extends RefusedSubmission {
  /** Its place in the group. */
  readonly submission: number
}

export interface GroupConflict {
  /** Place of the element in the frame. */
  readonly element: number
  readonly serialNumber: string
  readonly sensorId: number
  readonly tempCelsius: number
  readonly measuredAtMs: number
}

const SUBMISSIONS = submissionsInFlightMax
const ELEMENTS = groupMeasurementsMax
const WORDS = SUBMISSIONS * 2 + ELEMENTS * (KEY_WORDS + 3)
const GROUP_BYTES = (SUBMISSIONS + ELEMENTS * 5) * 8 + WORDS * 4 + ELEMENTS * 2 + SUBMISSIONS

export function allocateGroup(): SharedArrayBuffer {
  return new SharedArrayBuffer(GROUP_BYTES)
}

/** The columns in a group's buffer: eight bytes wide first, single bytes last. */
export function groupColumnsOver(buffer: SharedArrayBuffer): GroupColumns {
  let at = 0
  const take = (bytes: number) => (at += bytes) - bytes
  return {
    receivedAtMs: new Float64Array(buffer, take(SUBMISSIONS * 8), SUBMISSIONS),
    tempCelsius: new Float64Array(buffer, take(ELEMENTS * 8), ELEMENTS),
    measuredAtMs: new Float64Array(buffer, take(ELEMENTS * 8), ELEMENTS),
    sealedMeasuredAtMs: new Float64Array(buffer, take(ELEMENTS * 8), ELEMENTS),
    sealedTempCelsius: new Float64Array(buffer, take(ELEMENTS * 8), ELEMENTS),
    sealedBlockId: new Float64Array(buffer, take(ELEMENTS * 8), ELEMENTS),
    userId: new Uint32Array(buffer, take(SUBMISSIONS * 4), SUBMISSIONS),
    elementsEnd: new Uint32Array(buffer, take(SUBMISSIONS * 4), SUBMISSIONS),
    keys: new Uint32Array(buffer, take(ELEMENTS * KEY_WORDS * 4), ELEMENTS * KEY_WORDS),
    serialNumberAt: new Uint32Array(buffer, take(ELEMENTS * 4), ELEMENTS),
    sealedSensorId: new Uint32Array(buffer, take(ELEMENTS * 4), ELEMENTS),
    sensorId: new Uint32Array(buffer, take(ELEMENTS * 4), ELEMENTS),
    status: new Uint8Array(buffer, take(ELEMENTS), ELEMENTS),
    hasEventId: new Uint8Array(buffer, take(ELEMENTS), ELEMENTS),
    isOnlyChecked: new Uint8Array(buffer, take(SUBMISSIONS), SUBMISSIONS),
  }
}

/**
 * The sealed event with the key of an element.
 *
 * @throws DamagedData when what is stored under it is damaged
 */
export function sealedEventOf(
  columns: GroupColumns,
  element: number,
  damage: string,
): SealedEvent | undefined {
  const sensorId = columns.sealedSensorId[element] ?? 0
  if (sensorId === 0) return undefined
  if (sensorId === SEALED_DAMAGED) throw new DamagedData(damage)
  return {
    sensorId,
    measuredAtMs: columns.sealedMeasuredAtMs[element] ?? 0,
    tempCelsius: columns.sealedTempCelsius[element] ?? 0,
    blockId: columns.sealedBlockId[element] ?? 0,
  }
}

function noMeasurement(): TypeError {
  return new TypeError('BUG: a submission with an element that is no measurement')
}

/** A group that is being put together: submissions are encoded as they come, and let go. */
export class GroupBuilder implements SubmissionGroup {
  readonly #buffer: SharedArrayBuffer
  readonly #columns: GroupColumns
  readonly #serialNumbers: string[] = []
  readonly #aliases = new Map<number, string>()
  #submissions = 0
  #elements = 0

  /** @param buffer from `allocateGroup`, or one that came back; its content does not matter */
  constructor(buffer: SharedArrayBuffer) {
    this.#buffer = buffer
    this.#columns = groupColumnsOver(buffer)
  }

  get submissions(): number {
    return this.#submissions
  }

  get measurements(): number {
    return this.#elements
  }

  hasRoomFor(measurements: number): boolean {
    return this.#elements + measurements <= ELEMENTS && this.#submissions < SUBMISSIONS
  }

  /** Event ids become plain bits of keys here. */
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
        // A submission that was taken back may have left one here.
        if (measurement.alias === undefined) this.#aliases.delete(place)
        else this.#aliases.set(place, measurement.alias)
      }
      this.#addElement(measurement, place)
    }
    const submission = this.#submissions++
    this.#columns.userId[submission] = userId
    this.#columns.elementsEnd[submission] = this.#elements
    this.#columns.receivedAtMs[submission] = receivedAtMs
    this.#columns.isOnlyChecked[submission] = isOnlyChecked ? 1 : 0
  }

  /** The finished group; its buffer is the other thread's now, so the builder takes no more. */
  finish(): GroupFrame {
    return {
      submissionCount: this.#submissions,
      elementCount: this.#elements,
      buffer: this.#buffer,
      serialNumbers: this.#serialNumbers,
      aliases: this.#aliases,
    }
  }

  #addElement(measurement: SubmittedMeasurement, serialNumberAt: number): void {
    const element = this.#elements++
    const { eventId, tempCelsius, measuredAtMs } = measurement
    // What goes to another thread is what its columns can hold, whoever made it.
    const hasNumbers = Number.isFinite(tempCelsius) && Number.isSafeInteger(measuredAtMs ?? 0)
    if (!hasNumbers || typeof measurement.serialNumber !== 'string') throw noMeasurement()
    if (eventId !== null && typeof eventId !== 'string') throw noMeasurement()
    if (eventId !== null) writeEventId(eventId, this.#columns.keys, element * KEY_WORDS)
    this.#columns.hasEventId[element] = eventId === null ? 0 : 1
    this.#columns.serialNumberAt[element] = serialNumberAt
    this.#columns.tempCelsius[element] = tempCelsius
    this.#columns.measuredAtMs[element] = measuredAtMs ?? NaN
  }
}
