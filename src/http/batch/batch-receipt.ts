// The receipt of a batch, written directly as bytes.

import { giveBack } from '../../bytes/give-back.ts'
import type {
  Receipt,
  ReceiptItem,
  ReceiptStatus,
  StoredMeasurement,
  SubmittedMeasurements,
} from '../../domain/measurement.ts'
import { formatInstant } from '../../domain/time.ts'
import { EventIdTextsWriter } from './event-id-texts.ts'
import type { EventIdTexts } from './event-id-texts.ts'
import { JsonBytes } from './json-bytes.ts'
import type {
  BatchReceiptItem,
  StoredMeasurement as Existing,
} from '../../../schemas/messages.d.ts'
import { ScannedBatch } from './scan-batch.ts'
import { asciiBytes } from './wide-bytes.ts'
import type { WideBytes } from './wide-bytes.ts'

const CREATED = asciiBytes('{"data":{"created":')
const DUPLICATES = asciiBytes(',"duplicates":')
const CONFLICTS = asciiBytes(',"conflicts":')
const MEASUREMENTS = asciiBytes(',"measurements":[')
const FIRST_INDEX = asciiBytes('{"index":')
const NEXT_INDEX = asciiBytes(',{"index":')
const EVENT_ID = asciiBytes(',"event_id":')
const SENSOR_ID = asciiBytes(',"sensor_id":')
const TIMESTAMP = asciiBytes(',"timestamp":"')
const STATUS: Readonly<Record<ReceiptStatus, WideBytes>> = {
  created: asciiBytes('","status":"created"'),
  duplicate: asciiBytes('","status":"duplicate"'),
  conflict: asciiBytes('","status":"conflict"'),
}
const EXISTING = asciiBytes(',"existing":')
const ELEMENT_END = asciiBytes('}')
const END = asciiBytes(']}}')

export class BatchReceiptWriter {
  readonly #json = new JsonBytes()
  readonly #eventIds = new EventIdTextsWriter()

  /** What must be kept of a batch until its receipt is written. */
  keepEventIds(measurements: SubmittedMeasurements): EventIdTexts {
    if (measurements instanceof ScannedBatch) return measurements.eventIds
    for (let index = 0; index < measurements.length; index++) {
      this.#eventIds.add(measurements.at(index)?.eventId ?? null)
    }
    return this.#eventIds.take()
  }

  /** A `BatchReceiptResponse` as it is sent. Clears the event ids. */
  write(eventIds: EventIdTexts, receipt: Receipt): Buffer {
    const json = this.#json
    const { counts } = receipt
    json.write(CREATED)
    json.writeInteger(counts.created)
    json.write(DUPLICATES)
    json.writeInteger(counts.duplicate)
    json.write(CONFLICTS)
    json.writeInteger(counts.conflict)
    json.write(MEASUREMENTS)
    for (let index = 0; index < receipt.count; index++) {
      const item = receipt.at(index)
      json.write(index === 0 ? FIRST_INDEX : NEXT_INDEX)
      json.writeInteger(index)
      json.write(EVENT_ID)
      json.write(eventIds.texts, eventIds.startOf(index), eventIds.stopOf(index))
      json.write(SENSOR_ID)
      json.writeInteger(item.sensorId)
      json.write(TIMESTAMP)
      json.writeInstant(item.measuredAtMs)
      json.write(STATUS[item.status])
      if (item.existing !== undefined) {
        json.write(EXISTING)
        json.writeJson(presentExisting(eventIds.at(index) ?? '', item.existing))
      }
      json.write(ELEMENT_END)
    }
    json.write(END)
    giveBack(eventIds.texts.bytes)
    return json.take()
  }
}

/** An element of a receipt that also has elements not written as bytes. */
export function presentItem(
  index: number,
  eventId: string | null,
  item: ReceiptItem,
): BatchReceiptItem {
  const { sensorId, measuredAtMs, status, existing } = item
  return {
    index,
    event_id: eventId,
    sensor_id: sensorId,
    timestamp: formatInstant(measuredAtMs),
    status,
    ...(existing && { existing: presentExisting(eventId ?? '', existing) }),
  }
}

/** The measurement that a conflict is with. */
export function presentExisting(eventId: string, existing: StoredMeasurement): Existing {
  return {
    event_id: eventId,
    sn: existing.serialNumber,
    sensor_id: existing.sensorId,
    temp: existing.tempCelsius,
    timestamp: formatInstant(existing.measuredAtMs),
  }
}
