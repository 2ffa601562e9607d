// The hot part of the event ledger: the newest events, in memory. It is a view of the journal and
// is rebuilt from it at start, so it is never written by itself.
//
// Events stand in epochs of fixed capacity. A full epoch is sealed (written to ledger.db in key
// order) by another thread while a new one takes the next events, and is dropped once that is
// durable. Each epoch is a set of columns with two open-addressing indexes over them:
//   by key   finds an event again
//   by time  finds the last event of a sensor at a millisecond: the next tie-break follows its own
// `truncate` takes back the newest events in reverse order, which leaves both indexes exactly as
// they were: this is how a refused submission leaves nothing behind.

import { assert } from '../../domain/errors.ts'
import type { SensorId, UserId } from '../../domain/sensor.ts'
import type { EpochMs } from '../../domain/time.ts'
import { KEY_WORDS } from './event-key.ts'

/** An event's place: which epoch, which record. */
export interface StoredEvent {
  readonly sensorId: SensorId
  readonly measuredAtMs: EpochMs
  readonly tempCelsius: number
}

export interface NewEvent {
  readonly userId: UserId
  readonly sensorId: SensorId
  readonly measuredAtMs: EpochMs
  readonly tieBreakNs: number
  readonly tempCelsius: number
}

/** Index slots a record: half full at most, so that probing stays short. */
const SLOTS_PER_RECORD = 2

export class LedgerEpoch {
  readonly capacity: number
  readonly keys: Uint32Array
  readonly userId: Uint32Array
  readonly sensorId: Uint32Array
  readonly tieBreakNs: Uint32Array
  readonly measuredAtMs: Float64Array
  readonly tempCelsius: Float64Array
  count = 0
  // Slots hold record number + 1 in as many bits as a slot's number has, above them bits of what is
  // looked for: a record of another kind is passed over without a look at its columns, which no
  // cache holds. 0 is empty.
  readonly #slotMask: number
  readonly #byKey: Int32Array
  readonly #byTime: Int32Array
  // What the record displaced from its by-time slot, for taking it back.
  readonly #displaced: Int32Array
  /** No event is later: what is new mostly is, and needs no look at the index. */
  #latestMs = -Infinity
  /** Made of all that `fetch` has read, or the reading would be left out. */
  fetched = 0

  /** @param capacity a power of two */
  constructor(capacity: number) {
    assert((capacity & (capacity - 1)) === 0, `epoch capacity ${capacity} is no power of two`)
    this.capacity = capacity
    this.keys = new Uint32Array(capacity * KEY_WORDS)
    this.userId = new Uint32Array(capacity)
    this.sensorId = new Uint32Array(capacity)
    this.tieBreakNs = new Uint32Array(capacity)
    this.measuredAtMs = new Float64Array(capacity)
    this.tempCelsius = new Float64Array(capacity)
    const slots = capacity * SLOTS_PER_RECORD
    this.#slotMask = slots - 1
    this.#byKey = new Int32Array(slots)
    this.#byTime = new Int32Array(slots)
    this.#displaced = new Int32Array(capacity)
  }

  /** Record of the event with this key, or −1. */
  find(words: Uint32Array, offset: number): number {
    return this.#recordIn(this.#byKey[this.#keySlot(words, offset)] ?? 0)
  }

  /** Record of the last event of the sensor at that time, or −1. */
  findLastAt(sensorId: SensorId, measuredAtMs: EpochMs): number {
    if (measuredAtMs > this.#latestMs) return -1
    const mixed = mixTime(sensorId, measuredAtMs)
    return this.#recordIn(this.#byTime[this.#timeSlot(mixed, sensorId, measuredAtMs)] ?? 0)
  }

  /** Adds an event; `words` holds its key at `offset`, four zeros when it has no event id. */
  add(event: NewEvent, words: Uint32Array, offset: number): void {
    const record = this.count++
    assert(record < this.capacity, `epoch of ${this.capacity} events is full`)
    this.userId[record] = event.userId
    this.sensorId[record] = event.sensorId
    this.tieBreakNs[record] = event.tieBreakNs
    this.measuredAtMs[record] = event.measuredAtMs
    this.tempCelsius[record] = event.tempCelsius
    this.#latestMs = Math.max(this.#latestMs, event.measuredAtMs)
    const mixedTime = mixTime(event.sensorId, event.measuredAtMs)
    const timeSlot = this.#timeSlot(mixedTime, event.sensorId, event.measuredAtMs)
    this.#displaced[record] = this.#byTime[timeSlot] ?? 0
    this.#byTime[timeSlot] = this.#entry(record, mixedTime)
    if (!hasKey(words, offset)) {
      this.keys.fill(0, record * KEY_WORDS, (record + 1) * KEY_WORDS)
      return
    }
    for (let word = 0; word < KEY_WORDS; word++) {
      this.keys[record * KEY_WORDS + word] = words[offset + word] ?? 0
    }
    this.#byKey[this.#keySlot(words, offset)] = this.#entry(record, words[offset + 2] ?? 0)
  }

  /** Has memory bring the slots of keys from `from` to `to` on their way, all at once. */
  fetch(words: Uint32Array, from: number, to: number): void {
    let fetched = 0
    for (let at = from + KEY_WORDS - 1; at < to; at += KEY_WORDS) {
      fetched |= this.#byKey[(words[at] ?? 0) & this.#slotMask] ?? 0
    }
    this.fetched |= fetched
  }

  /** Takes back all but the first `count` events. */
  truncate(count: number): void {
    while (this.count > count) {
      const record = --this.count
      const offset = record * KEY_WORDS
      if (hasKey(this.keys, offset)) this.#byKey[this.#keySlot(this.keys, offset)] = 0
      const sensorId = this.sensorId[record] ?? 0
      const measuredAtMs = this.measuredAtMs[record] ?? 0
      const timeSlot = this.#timeSlot(mixTime(sensorId, measuredAtMs), sensorId, measuredAtMs)
      this.#byTime[timeSlot] = this.#displaced[record] ?? 0
    }
  }

  /** Makes it empty for its next use. */
  clear(): void {
    this.count = 0
    this.#latestMs = -Infinity
    this.#byKey.fill(0)
    this.#byTime.fill(0)
  }

  #entry(record: number, tag: number): number {
    return (tag & ~this.#slotMask) | (record + 1)
  }

  #recordIn(entry: number): number {
    return (entry & this.#slotMask) - 1
  }

  #keySlot(words: Uint32Array, offset: number): number {
    const w0 = words[offset]
    const w1 = words[offset + 1]
    const w2 = words[offset + 2] ?? 0
    const w3 = words[offset + 3]
    let slot = (w3 ?? 0) & this.#slotMask
    for (;;) {
      const entry = this.#byKey[slot] ?? 0
      if (entry === 0) return slot
      if (((entry ^ w2) & ~this.#slotMask) === 0) {
        const at = this.#recordIn(entry) * KEY_WORDS
        const isSame =
          this.keys[at + 3] === w3 &&
          this.keys[at + 2] === w2 &&
          this.keys[at + 1] === w1 &&
          this.keys[at] === w0
        if (isSame) return slot
      }
      slot = (slot + 1) & this.#slotMask
    }
  }

  #timeSlot(mixed: number, sensorId: SensorId, measuredAtMs: EpochMs): number {
    let slot = mixed & this.#slotMask
    for (;;) {
      const entry = this.#byTime[slot] ?? 0
      if (entry === 0) return slot
      if (((entry ^ mixed) & ~this.#slotMask) === 0) {
        const record = this.#recordIn(entry)
        const isSame =
          this.measuredAtMs[record] === measuredAtMs && this.sensorId[record] === sensorId
        if (isSame) return slot
      }
      slot = (slot + 1) & this.#slotMask
    }
  }
}

/** Whether there is an event id behind these words: SHA-256 gives four zero words to nobody. */
export function hasKey(words: Uint32Array, offset: number): boolean {
  return (
    words[offset] !== 0 ||
    words[offset + 1] !== 0 ||
    words[offset + 2] !== 0 ||
    words[offset + 3] !== 0
  )
}

// Neighbouring times of neighbouring sensors must not fall into neighbouring slots.
function mixTime(sensorId: SensorId, measuredAtMs: EpochMs): number {
  const high = Math.floor(measuredAtMs / 0x1_0000_0000)
  let mixed = Math.imul(sensorId, 0x9e3779b1) ^ Math.imul(high, 0x85ebca6b) ^ (measuredAtMs | 0)
  // `| 0` keeps the low 32 bits of a double only below 2^53, which every instant is.
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b)
  return mixed ^ (mixed >>> 16)
}

export class HotLedger {
  readonly #epochCapacity: number
  // The last one takes new events; the ones before it are being sealed, oldest first.
  readonly #epochs: LedgerEpoch[]
  readonly #spare: LedgerEpoch[] = []

  constructor(epochCapacity: number) {
    this.#epochCapacity = epochCapacity
    this.#epochs = [new LedgerEpoch(epochCapacity)]
  }

  get current(): LedgerEpoch {
    const epoch = this.#epochs.at(-1)
    assert(epoch !== undefined, 'the hot ledger has no epoch')
    return epoch
  }

  /** Epochs in memory: the current one and those that are being sealed. */
  get epochs(): number {
    return this.#epochs.length
  }

  /** Closes the current epoch and starts the next. */
  startEpoch(): void {
    this.#epochs.push(this.#spare.pop() ?? new LedgerEpoch(this.#epochCapacity))
  }

  /** Forgets the oldest epoch: it is sealed. */
  dropOldestEpoch(): void {
    assert(this.#epochs.length > 1, 'the current epoch cannot be dropped')
    const epoch = this.#epochs.shift()
    if (epoch === undefined || this.#spare.length > 0) return
    epoch.clear()
    this.#spare.push(epoch)
  }

  /** See `LedgerEpoch.fetch`. */
  fetch(words: Uint32Array, from: number, to: number): void {
    for (const epoch of this.#epochs) epoch.fetch(words, from, to)
  }

  find(words: Uint32Array, offset: number): StoredEvent | undefined {
    for (let at = this.#epochs.length - 1; at >= 0; at--) {
      const epoch = this.#epochs[at]
      const record = epoch?.find(words, offset) ?? -1
      if (epoch === undefined || record < 0) continue
      return {
        sensorId: epoch.sensorId[record] ?? 0,
        measuredAtMs: epoch.measuredAtMs[record] ?? 0,
        tempCelsius: epoch.tempCelsius[record] ?? 0,
      }
    }
    return undefined
  }

  /** The tie-break after the last one given at that time by a hot event, if there is one. */
  nextTieBreak(sensorId: SensorId, measuredAtMs: EpochMs): number | undefined {
    for (let at = this.#epochs.length - 1; at >= 0; at--) {
      const epoch = this.#epochs[at]
      const record = epoch?.findLastAt(sensorId, measuredAtMs) ?? -1
      if (epoch !== undefined && record >= 0) return (epoch.tieBreakNs[record] ?? 0) + 1
    }
    return undefined
  }
}
