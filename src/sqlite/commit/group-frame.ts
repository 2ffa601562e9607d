// The columns in which a group of submissions passes from the main thread to the look-up thread,
// the commit thread and back: what was submitted, what the sealed ledger knows of it, what was
// decided. Each thread writes its own. Numbers stand as columns in a buffer that they share and
// that belongs to one of them at a time, text travels as arrays of strings; nothing is allocated
// or copied for a group. Handing a buffer over instead cost the main thread a fifth of its time.

import { groupMeasurementsMax, submissionsInFlightMax } from '../../domain/limits.ts'
import type { RejectedSubmission } from '../../ports/submissions.ts'
import { KEY_WORDS } from '../event-key.ts'

export const STATUS_CREATED = 0
export const STATUS_DUPLICATE = 1
export const STATUS_CONFLICT = 2

/** In place of the sealed event's sensor: nobody can tell. Ids of sensors are below 2^31. */
export const SEALED_DAMAGED = 0xffff_ffff
export const SEALED_LATE = 0xffff_fffe

/** Columns of a group; those of elements run through all of its submissions. */
export interface GroupColumns {
  /** All of them. */
  readonly buffer: SharedArrayBuffer
  /** Per submission. */
  readonly userId: Uint32Array
  /** Per submission: one past its last element. */
  readonly elementsEnd: Uint32Array
  /** Per submission. */
  readonly receivedAtMs: Float64Array
  /** Per submission: 1 where it is only to be checked, and rejected whatever comes out. */
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
   * When it is looked up: the sensor of the sealed event that has the key, 0 where none has, or
   * `SEALED_DAMAGED`, `SEALED_LATE`.
   */
  readonly sealedSensorId: Uint32Array
  readonly sealedMeasuredAtMs: Float64Array
  readonly sealedTempCelsius: Float64Array
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

/** What was decided, beside status, sensor and time of each element in the frame's columns. */
export interface GroupResult {
  /** The last row of the journal that holds what was created; 0 when nothing was. */
  readonly seq: number
  /** The kept spelling for each of the frame's `serialNumbers` that names a sensor. */
  readonly keptSerialNumbers: readonly string[]
  readonly rejections: readonly GroupRejection[]
  readonly conflicts: readonly GroupConflict[]
}

/** A submission of which nothing is stored. */
export interface GroupRejection extends RejectedSubmission {
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
const GROUP_BYTES = (SUBMISSIONS + ELEMENTS * 4) * 8 + WORDS * 4 + ELEMENTS * 2 + SUBMISSIONS

export function allocateGroup(): GroupColumns {
  return groupColumnsOver(new SharedArrayBuffer(GROUP_BYTES))
}

/** The columns in a group's buffer: eight bytes wide first, single bytes last. */
export function groupColumnsOver(buffer: SharedArrayBuffer): GroupColumns {
  let at = 0
  const take = (bytes: number) => (at += bytes) - bytes
  return {
    buffer,
    receivedAtMs: new Float64Array(buffer, take(SUBMISSIONS * 8), SUBMISSIONS),
    tempCelsius: new Float64Array(buffer, take(ELEMENTS * 8), ELEMENTS),
    measuredAtMs: new Float64Array(buffer, take(ELEMENTS * 8), ELEMENTS),
    sealedMeasuredAtMs: new Float64Array(buffer, take(ELEMENTS * 8), ELEMENTS),
    sealedTempCelsius: new Float64Array(buffer, take(ELEMENTS * 8), ELEMENTS),
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
