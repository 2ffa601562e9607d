// The receipt of a batch. While a batch waits for its commit only the texts of its event ids are
// kept, as bytes: thousands of strings that wait would be moved about by the garbage collector
// again and again.

import type { Receipt, SubmittedMeasurement } from '../domain/measurement.ts'
import { JsonBytes } from './json-bytes.ts'
import { presentExisting } from './present.ts'

const LINE_END = 10

/** The event ids of a batch as JSON texts, each with a line end after it. */
export type EventIdTexts = Buffer

/** What an event id was; `null` where there is none. */
export function eventIdAt(texts: EventIdTexts, index: number): string | null {
  const line = texts.toString().split('\n')[index]
  return line === undefined || line === '' ? null : (JSON.parse(line) as string | null)
}

export class BatchReceiptWriter {
  readonly #json = new JsonBytes()

  keepEventIds(measurements: readonly SubmittedMeasurement[]): EventIdTexts {
    for (const { eventId } of measurements) {
      if (eventId === null) this.#json.writeAscii('null\n')
      else {
        this.#json.writeString(eventId)
        this.#json.writeAscii('\n')
      }
    }
    return this.#json.take()
  }

  /** A `BatchReceiptResponse`, as it is sent. */
  write(texts: EventIdTexts, receipt: Receipt): Buffer {
    const json = this.#json
    const { counts } = receipt
    json.writeAscii('{"data":{"created":')
    json.writeInteger(counts.created)
    json.writeAscii(',"duplicates":')
    json.writeInteger(counts.duplicate)
    json.writeAscii(',"conflicts":')
    json.writeInteger(counts.conflict)
    json.writeAscii(',"measurements":[')
    let textStart = 0
    for (let index = 0; index < receipt.count; index++) {
      const item = receipt.at(index)
      const textStop = texts.indexOf(LINE_END, textStart)
      json.writeAscii(index === 0 ? '{"index":' : ',{"index":')
      json.writeInteger(index)
      json.writeAscii(',"event_id":')
      json.writeBytes(texts, textStart, textStop)
      json.writeAscii(',"sensor_id":')
      json.writeInteger(item.sensorId)
      json.writeAscii(',"timestamp":"')
      json.writeInstant(item.measuredAtMs)
      json.writeAscii('","status":"')
      json.writeAscii(item.status)
      json.writeAscii('"')
      if (item.existing !== undefined) {
        json.writeAscii(',"existing":')
        const eventId = eventIdAt(texts.subarray(textStart, textStop), 0) ?? ''
        json.writeJson(presentExisting(eventId, item.existing))
      }
      json.writeAscii('}')
      textStart = textStop + 1
    }
    json.writeAscii(']}}')
    return json.take()
  }
}
