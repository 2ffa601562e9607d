// What a group goes through before it is decided: its keys are encrypted, and what the sealed
// ledger has under each is written down beside it.

import type { SealedEvents } from '../ledger/sealed-events.ts'
import type { EventKeyCipher } from '../event-key.ts'
import { groupColumnsOver, SEALED_DAMAGED } from './group-frame.ts'
import type { GroupFrame } from './group-frame.ts'

/**
 * Asks the sealed ledger for the events of a group, once, and writes down what it knows.
 *
 * @returns the group, with what it needs that is damaged
 */
export function lookUpGroup(
  group: GroupFrame,
  cipher: EventKeyCipher,
  sealed: SealedEvents,
): GroupFrame {
  const { buffer, elementCount, submissionCount } = group
  let damage: string | undefined
  const columns = groupColumnsOver(buffer)
  cipher.encrypt(columns, submissionCount)
  columns.sealedSensorId.fill(0, 0, elementCount)
  const places: number[] = []
  for (let element = 0; element < elementCount; element++) {
    if (columns.hasEventId[element] === 1) places.push(element)
  }
  sealed.findAll(columns.keys, places, {
    has: (element) => columns.sealedSensorId[element] !== 0,
    set: (element, { sensorId, measuredAtMs, tempCelsius, blockId }) => {
      columns.sealedBlockId[element] = blockId
      columns.sealedSensorId[element] = sensorId
      columns.sealedMeasuredAtMs[element] = measuredAtMs
      columns.sealedTempCelsius[element] = tempCelsius
    },
    setDamaged: (element, { message }) => {
      columns.sealedSensorId[element] = SEALED_DAMAGED
      damage ??= message
    },
  })
  return damage === undefined ? group : { ...group, damage }
}
