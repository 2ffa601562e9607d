// What a group goes through before it is decided: for each of its elements, what the sealed ledger
// has under its key is written down beside it.

import type { SealedEvents } from '../ledger/sealed-events.ts'
import { groupColumnsOver } from './group-frame.ts'
import type { GroupFrame } from './group-frame.ts'

/** Asks the sealed ledger for the events of a group, and writes down what it knows. */
export function lookUpGroup({ buffer, elementCount }: GroupFrame, sealed: SealedEvents): void {
  const columns = groupColumnsOver(buffer)
  columns.sealedSensorId.fill(0, 0, elementCount)
  const places = Array.from({ length: elementCount }, (_, element) => element)
  sealed.findAll(columns.keys, places, {
    has: (element) => columns.sealedSensorId[element] !== 0,
    set: (element, { sensorId, measuredAtMs, tempCelsius }) => {
      columns.sealedSensorId[element] = sensorId
      columns.sealedMeasuredAtMs[element] = measuredAtMs
      columns.sealedTempCelsius[element] = tempCelsius
    },
  })
}
