// What passes from the main thread to the look-up thread, the commit thread and back: a group of
// submissions, with what the sealed ledger knows of it, and with what was decided. Numbers stand as
// columns in a buffer that they share and that belongs to one of them at a time, text travels as
// arrays of strings; nothing is allocated or copied for a group. Handing a buffer over instead cost
// the main thread a fifth of its time.

import { groupMeasurementsMax, submissionsInFlightMax } from '../../domain/limits.ts'
import type { RefusedSubmission } from '../../ports/submissions.ts'
import { DamagedData, isDamage } from '../damaged-data.ts'
import { KEY_WORDS } from '../event-key.ts'
import type { EventKeyCipher } from '../event-key.ts'
import { LookUpLate } from '../ledger/event-look-up.ts'
import type { StoredEvent } from '../ledger/hot-ledger.ts'
import type { FoundEvents, SealedEvents } from '../ledger/sealed-events.ts'

export const STATUS_CREATED = 0
export const STATUS_DUPLICATE = 1
export const STATUS_CONFLICT = 2

/** No sensor has these ids: ids are below 2^31. */
const SEALED_DAMAGED = 0xffff_ffff
const SEALED_LATE = 0xffff_fffe

/** Time for the look-ups of a group; submissions with keys that are left then are refused. */
export const LOOK_UP_MS_MAX = 1_000

/** Users with more keys in a group wait for the look-ups of the others. */
const KEYS_FIRST_MAX = 64

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
   * When it is looked up: the sensor of the sealed event that has the key, 0 where none has;
   * `SEALED_DAMAGED` and `SEALED_LATE` where nobody can tell.
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

/**
 * Encrypts the keys of a group, asks the sealed ledger for their events, and writes down what it
 * knows. Users with few keys come first.
 *
 * @returns the group, with what it needs that is damaged
 */
export function lookUpGroup(
  group: GroupFrame,
  cipher: EventKeyCipher,
  sealed: SealedEvents,
  monotonicMs: () => number,
): GroupFrame {
  const columns = groupColumnsOver(group.buffer)
  const endMs = monotonicMs() + LOOK_UP_MS_MAX
  let damage: string | undefined
  cipher.encrypt(columns, group.submissionCount)
  columns.sealedSensorId.fill(0, 0, group.elementCount)
  const found: FoundEvents = {
    has: (element) => columns.sealedSensorId[element] !== 0,
    set: (element, { sensorId, measuredAtMs, tempCelsius }) => {
      columns.sealedSensorId[element] = sensorId
      columns.sealedMeasuredAtMs[element] = measuredAtMs
      columns.sealedTempCelsius[element] = tempCelsius
    },
    setUnknown: (element, reason) => {
      const isDamaged = reason instanceof DamagedData
      columns.sealedSensorId[element] = isDamaged ? SEALED_DAMAGED : SEALED_LATE
      if (isDamaged) damage ??= reason.message
    },
    isLate: () => monotonicMs() > endMs,
  }
  for (const places of keysInTurn(columns, group.submissionCount)) {
    if (places.length > 0) sealed.findAll(columns.keys, places, found)
  }
  return damage === undefined ? group : { ...group, damage }
}

/** @returns the keyed elements of users with few of them, and those of all others */
function keysInTurn(columns: GroupColumns, submissionCount: number): [number[], number[]] {
  const keysOf = new Map<number, number[]>()
  let element = 0
  for (let submission = 0; submission < submissionCount; submission++) {
    const userId = columns.userId[submission] ?? 0
    let keys = keysOf.get(userId)
    if (keys === undefined) keysOf.set(userId, (keys = []))
    for (const end = columns.elementsEnd[submission] ?? 0; element < end; element++) {
      if (columns.hasEventId[element] === 1) keys.push(element)
    }
  }
  const few: number[] = []
  const many: number[] = []
  for (const keys of keysOf.values()) {
    const places = keys.length > KEYS_FIRST_MAX ? many : few
    for (const key of keys) places.push(key)
  }
  return [few, many]
}

/**
 * The sealed event with the key of an element.
 *
 * @throws DamagedData when what is stored under it is damaged
 * @throws LookUpLate when it was not looked up in time
 */
export function sealedEventOf(
  columns: GroupColumns,
  element: number,
  damage: string,
): StoredEvent | undefined {
  const sensorId = columns.sealedSensorId[element] ?? 0
  if (sensorId === 0) return undefined
  if (sensorId === SEALED_DAMAGED) throw new DamagedData(damage)
  if (sensorId === SEALED_LATE) throw new LookUpLate()
  return {
    sensorId,
    measuredAtMs: columns.sealedMeasuredAtMs[element] ?? 0,
    tempCelsius: columns.sealedTempCelsius[element] ?? 0,
  }
}

/** What a submission is refused with when an element of it cannot be decided. */
export function refusalCodeOf(error: unknown): RefusedSubmission['code'] {
  if (error instanceof LookUpLate) return 'overloaded'
  return error instanceof DamagedData || isDamage(error) ? 'data_damaged' : 'internal_error'
}
