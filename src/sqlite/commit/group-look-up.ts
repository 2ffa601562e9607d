// What the sealed ledger knows of a group's events: the look-up thread finds it and writes it into
// the group's columns.

import { DamagedData } from '../database.ts'
import type { EventKeyCipher } from '../event-key.ts'
import type { FoundEvents, SealedEvents } from '../ledger/sealed-events.ts'
import { groupColumnsOver, SEALED_DAMAGED, SEALED_LATE } from './group-frame.ts'
import type { GroupColumns, GroupFrame } from './group-frame.ts'

/** Time for the look-ups of a group; submissions with keys that are left then are rejected. */
export const LOOK_UP_MS_MAX = 1_000

/** Users with more keys in a group wait for the look-ups of the others. */
const KEYS_FIRST_MAX = 64

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
