// A batch in its everyday form, read from the bytes of its body directly into columns. One object
// and some strings per measurement, all waiting until their group is encoded, would cost the
// garbage collector more than everything else about reading them.
//
// Any other form, whether wrong or only rare (escapes, other alphabets, `null`, exponents, repeated
// or unknown members), is not read here: such a body goes through JSON.parse and the schema, and
// only they report faults. Whatever is read here, they would read as the same values.

import measurementSchema from '../../../schemas/request/measurement.json' with { type: 'json' }
import type { SubmittedMeasurement, SubmittedMeasurements } from '../../domain/measurement.ts'
import type { EventIdTexts } from './event-id-texts.ts'
import { EventIdScanner, SerialNumberScanner } from './scan-strings.ts'
import { InstantScanner, NOT_READ, QUOTE, scanCelsius, skipSpace } from './scan-values.ts'
import { batchElementsMax } from '../body/validate.ts'
import { asciiBytes, WideBytes } from './wide-bytes.ts'

const COMMA = 44
const COLON = 58
const ARRAY_START = 91
const ARRAY_END = 93
const OBJECT_START = 123
const OBJECT_END = 125

const LIST_NAME = asciiBytes('"measurements"')

const [EVENT_ID, SERIAL_NUMBER, CELSIUS, INSTANT] = [1, 2, 4, 8] as const

interface Member {
  /** A bit of its own. */
  readonly bit: number
  readonly name: string
  /** The name as it is written. */
  readonly text: WideBytes
}

const MEMBERS: readonly Member[] = [
  memberOf(EVENT_ID, 'event_id'),
  memberOf(SERIAL_NUMBER, 'sn'),
  memberOf(CELSIUS, 'temp'),
  memberOf(INSTANT, 'timestamp'),
]

const REQUIRED = MEMBERS.filter(({ name }) => measurementSchema.required.includes(name)).reduce(
  (bits, { bit }) => bits | bit,
  0,
)

/**
 * The text before a value in the previous element: its place in the body, and the member it names.
 */
interface Lead {
  start: number
  /** 0: there is none. */
  length: number
  member: number
}

/** The shortest element, `{"sn":"A","temp":0}`, and the comma or bracket after it. */
const ELEMENT_BYTES_MIN = 20

/** Columns for that many elements, in one piece of memory. */
class BatchColumns {
  readonly capacity: number
  readonly tempCelsius: Float64Array
  /** NaN if absent. */
  readonly measuredAtMs: Float64Array
  /** Ordinal of its serial number. */
  readonly serialNumberAt: Uint16Array

  constructor(capacity: number) {
    const memory = new ArrayBuffer(capacity * (8 + 8 + 2))
    this.capacity = capacity
    this.tempCelsius = new Float64Array(memory, 0, capacity)
    this.measuredAtMs = new Float64Array(memory, capacity * 8, capacity)
    this.serialNumberAt = new Uint16Array(memory, capacity * 16, capacity)
  }
}

export class ScannedBatch implements SubmittedMeasurements {
  readonly length: number
  readonly eventIds: EventIdTexts
  readonly #columns: BatchColumns
  readonly #serialNumbers: readonly string[]
  /** All of them; slices of this are cheap. */
  readonly #eventIdText: string

  constructor(
    length: number,
    columns: BatchColumns,
    strings: { eventIds: EventIdTexts; serialNumbers: readonly string[] },
  ) {
    this.length = length
    this.eventIds = strings.eventIds
    this.#columns = columns
    this.#serialNumbers = strings.serialNumbers
    this.#eventIdText = strings.eventIds.texts.bytes.toString('latin1')
  }

  at(index: number): SubmittedMeasurement | undefined {
    if (index >= this.length) return undefined
    const { tempCelsius, measuredAtMs, serialNumberAt } = this.#columns
    const { bytes } = this.eventIds.texts
    const start = this.eventIds.startOf(index)
    const hasEventId = bytes[start] === QUOTE
    const stop = this.eventIds.stopOf(index)
    const atMs = measuredAtMs[index] ?? NaN
    return {
      // It is written without escapes.
      eventId: hasEventId ? this.#eventIdText.slice(start + 1, stop - 1) : null,
      serialNumber: this.#serialNumbers[serialNumberAt[index] ?? 0] ?? '',
      tempCelsius: tempCelsius[index] ?? 0,
      measuredAtMs: Number.isNaN(atMs) ? null : atMs,
    }
  }
}

export class BatchScanner {
  readonly #eventIds = new EventIdScanner()
  readonly #serialNumbers = new SerialNumberScanner()
  readonly #instants = new InstantScanner()
  /** By the order of members. */
  readonly #leads: Lead[] = MEMBERS.map(() => ({ start: 0, length: 0, member: 0 }))
  #columns = new BatchColumns(0)

  /** The batch in a body, `undefined` unless the body has the everyday form. */
  scan(bytes: Buffer): ScannedBatch | undefined {
    const elementsMax = Math.floor(bytes.length / ELEMENT_BYTES_MIN)
    this.#columns = new BatchColumns(Math.min(elementsMax, batchElementsMax))
    this.#eventIds.begin()
    this.#serialNumbers.begin()
    this.#instants.begin()
    for (const lead of this.#leads) lead.length = 0
    const length = this.#scanBody(new WideBytes(bytes))
    if (length === NOT_READ) return undefined
    const eventIds = this.#eventIds.take()
    const serialNumbers = this.#serialNumbers.take()
    return new ScannedBatch(length, this.#columns, { eventIds, serialNumbers })
  }

  // Every step accepts NOT_READ as its start and then returns NOT_READ.

  /** @returns the number of elements */
  #scanBody(body: WideBytes): number {
    let at = after(body, 0, OBJECT_START)
    at = skipSpace(body.bytes, at)
    if (!isTextAt(body, at, LIST_NAME)) return NOT_READ
    at = after(body, at + LIST_NAME.length, COLON)
    at = after(body, at, ARRAY_START)
    let length = 0
    do {
      if (length === this.#columns.capacity) return NOT_READ
      at = this.#scanElement(body, at, length++)
      at = skipSpace(body.bytes, at)
    } while (body.bytes[at++] === COMMA)
    if (body.bytes[at - 1] !== ARRAY_END) return NOT_READ
    at = after(body, at, OBJECT_END)
    return skipSpace(body.bytes, at) === body.length ? length : NOT_READ
  }

  #scanElement(body: WideBytes, start: number, index: number): number {
    this.#columns.measuredAtMs[index] = NaN
    let members = 0
    let at = skipSpace(body.bytes, start)
    for (let place = 0; at !== NOT_READ && body.bytes[at] !== OBJECT_END; place++) {
      at = this.#scanLead(body, at, place)
      const member = this.#leads[place]?.member ?? 0
      if (at === NOT_READ || (members & member) !== 0) return NOT_READ
      members |= member
      at = skipSpace(body.bytes, this.#scanValue(body, at, member, index))
    }
    if (at === NOT_READ || (members & REQUIRED) !== REQUIRED) return NOT_READ
    if ((members & EVENT_ID) === 0) this.#eventIds.skip()
    return at + 1
  }

  /** The text before a value, usually as in the previous element: `{"sn":` or `, "temp": `. */
  #scanLead(body: WideBytes, start: number, place: number): number {
    const lead = this.#leads[place]
    if (lead === undefined) return NOT_READ
    if (lead.length > 0 && body.equals(start, body, lead.start, lead.length)) {
      return skipSpace(body.bytes, start + lead.length)
    }
    return this.#readLead(body, start, { isFirst: place === 0, lead })
  }

  // Separate, because a function that contains a closure allocates memory on each call.
  #readLead(
    body: WideBytes,
    start: number,
    { isFirst, lead }: { isFirst: boolean; lead: Lead },
  ): number {
    if (body.bytes[start] !== (isFirst ? OBJECT_START : COMMA)) return NOT_READ
    const nameAt = skipSpace(body.bytes, start + 1)
    const member = MEMBERS.find(({ text }) => isTextAt(body, nameAt, text))
    if (member === undefined) return NOT_READ
    const at = skipSpace(body.bytes, after(body, nameAt + member.text.length, COLON))
    if (at === NOT_READ) return NOT_READ
    lead.start = start
    lead.length = at - start
    lead.member = member.bit
    return at
  }

  #scanValue(body: WideBytes, start: number, member: number, index: number): number {
    const { tempCelsius, measuredAtMs, serialNumberAt } = this.#columns
    if (member === EVENT_ID) return this.#eventIds.scan(body, start)
    if (member === SERIAL_NUMBER) {
      return this.#serialNumbers.scan(body, start, serialNumberAt, index)
    }
    if (member === CELSIUS) return scanCelsius(body.bytes, start, tempCelsius, index)
    return this.#instants.scan(body, start, measuredAtMs, index)
  }
}

function memberOf(bit: number, name: string): Member {
  return { bit, name, text: asciiBytes(`"${name}"`) }
}

function isTextAt(body: WideBytes, at: number, text: WideBytes): boolean {
  return body.equals(at, text, 0, text.length)
}

/** The place after a byte that white space may precede. */
function after(body: WideBytes, start: number, byte: number): number {
  const at = skipSpace(body.bytes, start)
  return body.bytes[at] === byte ? at + 1 : NOT_READ
}
