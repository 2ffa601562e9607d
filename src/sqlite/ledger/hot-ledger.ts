// The hot part of the event ledger: the newest events, in memory. It is a view of the journal,
// rebuilt from it at start, so it is never saved itself.
//
// Events are kept in epochs of fixed capacity. A full epoch is sealed (written to ledger.db in key
// order) by another thread while a new one takes further events, and is dropped once that is
// durable. Each epoch is a set of columns with two open-addressing indexes over them:
//   by key   finds an event again
//   by time  finds the last event of a sensor at a millisecond: the next tie-break follows its own
// Their hashes are secret (secret-hash.ts), and probing ends after `PROBES_MAX` slots: an event
// that finds all of them taken goes into a Map of strings, whose hash the engine seeds. `truncate`
// takes back the newest events in reverse order, which leaves both indexes exactly as they were:
// this is how a refused submission leaves nothing behind.

import { assert } from '../../domain/errors.ts'
import { KEY_WORDS } from '../event-key.ts'
import { hashKeyWords, hashTime } from './secret-hash.ts'

/** An event's place: which epoch, which record. */
export interface StoredEvent {
  readonly sensorId: number
  readonly measuredAtMs: number
  readonly tempCelsius: number
}

export interface NewEvent {
  readonly userId: number
  readonly sensorId: number
  readonly measuredAtMs: number
  readonly tieBreakNs: number
  readonly tempCelsius: number
  /** 1 where it has an event id. */
  readonly hasEventId: number
}

/** Index slots per record: at most half are used, so that probing stays short. */
const SLOTS_PER_RECORD = 2

/** Slots probed per event; in an index half full, hardly any event needs as many. */
const PROBES_MAX = 64

/** Sensors share a newest time with those whose ids have the same low bits. */
const NEWEST_TIMES = 4_096

/** No slot: the event is in the Map, if anywhere. */
const NO_SLOT = -1

export class LedgerEpoch {
  readonly capacity: number
  readonly keys: Uint32Array
  readonly hasEventId: Uint8Array
  readonly userId: Uint32Array
  readonly sensorId: Uint32Array
  readonly tieBreakNs: Uint32Array
  readonly measuredAtMs: Float64Array
  readonly tempCelsius: Float64Array
  count = 0
  // The high bits of a hash select the slot. It holds the record number + 1 in as many bits and,
  // above them, the low bits of the hash, so that other records are skipped without reading their
  // columns, which no cache holds. 0 is empty.
  readonly #slotBits: number
  readonly #slotMask: number
  readonly #byKey: Int32Array
  readonly #byTime: Int32Array
  // What the record displaced from its by-time slot, to be put back.
  readonly #displaced: Int32Array
  // Events without a slot; values as in the slots.
  readonly #byKeyBeside = new Map<string, number>()
  readonly #byTimeBeside = new Map<string, number>()
  // No event of a sensor is later. New events mostly are, and then need no look at the index.
  readonly #newestMs = new Float64Array(NEWEST_TIMES).fill(-Infinity)
  /** Made from everything that `fetch` has read; otherwise the optimizer would drop the reads. */
  fetched = 0

  /** @param capacity a power of two */
  constructor(capacity: number) {
    assert((capacity & (capacity - 1)) === 0, `epoch capacity ${capacity} is no power of two`)
    this.capacity = capacity
    this.keys = new Uint32Array(capacity * KEY_WORDS)
    this.hasEventId = new Uint8Array(capacity)
    this.userId = new Uint32Array(capacity)
    this.sensorId = new Uint32Array(capacity)
    this.tieBreakNs = new Uint32Array(capacity)
    this.measuredAtMs = new Float64Array(capacity)
    this.tempCelsius = new Float64Array(capacity)
    const slots = capacity * SLOTS_PER_RECORD
    this.#slotBits = Math.log2(slots)
    this.#slotMask = slots - 1
    this.#byKey = new Int32Array(slots)
    this.#byTime = new Int32Array(slots)
    this.#displaced = new Int32Array(capacity)
  }

  /**
   * Number of events without a slot in reach, in either index: a few in 100,000 unless the hash is
   * bad.
   */
  get crowded(): number {
    return this.#byKeyBeside.size + this.#byTimeBeside.size
  }

  /** The record of the event with this key, or −1. */
  find(words: Uint32Array, offset: number): number {
    const hash = hashKeyWords(words[offset + 2] ?? 0, words[offset + 3] ?? 0)
    const slot = this.#keySlot(hash, words, offset)
    const entry =
      slot === NO_SLOT ? this.#byKeyBeside.get(keyText(words, offset)) : this.#byKey[slot]
    return this.#recordIn(entry ?? 0)
  }

  /** The record of the sensor's last event at that time, or −1. */
  findLastAt(sensorId: number, measuredAtMs: number): number {
    if (measuredAtMs > (this.#newestMs[sensorId % NEWEST_TIMES] ?? 0)) return -1
    const hash = hashTime(sensorId, measuredAtMs)
    const slot = this.#timeSlot(hash, sensorId, measuredAtMs)
    const entry =
      slot === NO_SLOT
        ? this.#byTimeBeside.get(timeText(sensorId, measuredAtMs))
        : this.#byTime[slot]
    return this.#recordIn(entry ?? 0)
  }

  /** Adds an event; `words` holds its key at `offset`, if it has an event id. */
  add(event: NewEvent, words: Uint32Array, offset: number): void {
    const record = this.count++
    assert(record < this.capacity, `epoch of ${this.capacity} events is full`)
    this.userId[record] = event.userId
    this.sensorId[record] = event.sensorId
    this.tieBreakNs[record] = event.tieBreakNs
    this.measuredAtMs[record] = event.measuredAtMs
    this.tempCelsius[record] = event.tempCelsius
    const newestAt = event.sensorId % NEWEST_TIMES
    this.#newestMs[newestAt] = Math.max(this.#newestMs[newestAt] ?? 0, event.measuredAtMs)
    this.#addTime(record, event.sensorId, event.measuredAtMs)
    this.hasEventId[record] = event.hasEventId
    if (event.hasEventId === 0) return
    for (let word = 0; word < KEY_WORDS; word++) {
      this.keys[record * KEY_WORDS + word] = words[offset + word] ?? 0
    }
    this.#setKey(words, offset, record)
  }

  /** Prefetches the slots of the keys from `from` to `to`, all at once. */
  fetch(words: Uint32Array, from: number, to: number): void {
    let fetched = 0
    for (let at = from; at < to; at += KEY_WORDS) {
      const hash = hashKeyWords(words[at + 2] ?? 0, words[at + 3] ?? 0)
      fetched |= this.#byKey[this.#slotOf(hash)] ?? 0
    }
    this.fetched |= fetched
  }

  /** Takes back all but the first `count` events. */
  truncate(count: number): void {
    while (this.count > count) {
      const record = --this.count
      if (this.hasEventId[record] === 1) this.#forgetKey(record * KEY_WORDS)
      this.#forgetTime(record)
    }
  }

  /** Empties it for reuse. */
  clear(): void {
    this.count = 0
    this.#newestMs.fill(-Infinity)
    this.#byKey.fill(0)
    this.#byTime.fill(0)
    this.#byKeyBeside.clear()
    this.#byTimeBeside.clear()
  }

  #setKey(words: Uint32Array, offset: number, record: number): void {
    const hash = hashKeyWords(words[offset + 2] ?? 0, words[offset + 3] ?? 0)
    const slot = this.#keySlot(hash, words, offset)
    const entry = this.#entry(record, hash)
    if (slot === NO_SLOT) this.#byKeyBeside.set(keyText(words, offset), entry)
    else this.#byKey[slot] = entry
  }

  #forgetKey(offset: number): void {
    const { keys } = this
    const hash = hashKeyWords(keys[offset + 2] ?? 0, keys[offset + 3] ?? 0)
    const slot = this.#keySlot(hash, keys, offset)
    if (slot === NO_SLOT) this.#byKeyBeside.delete(keyText(keys, offset))
    else this.#byKey[slot] = 0
  }

  #addTime(record: number, sensorId: number, measuredAtMs: number): void {
    const hash = hashTime(sensorId, measuredAtMs)
    const slot = this.#timeSlot(hash, sensorId, measuredAtMs)
    const entry = this.#entry(record, hash)
    if (slot === NO_SLOT) {
      const text = timeText(sensorId, measuredAtMs)
      this.#displaced[record] = this.#byTimeBeside.get(text) ?? 0
      this.#byTimeBeside.set(text, entry)
      return
    }
    this.#displaced[record] = this.#byTime[slot] ?? 0
    this.#byTime[slot] = entry
  }

  #forgetTime(record: number): void {
    const sensorId = this.sensorId[record] ?? 0
    const measuredAtMs = this.measuredAtMs[record] ?? 0
    const displaced = this.#displaced[record] ?? 0
    const hash = hashTime(sensorId, measuredAtMs)
    const slot = this.#timeSlot(hash, sensorId, measuredAtMs)
    if (slot !== NO_SLOT) this.#byTime[slot] = displaced
    else if (displaced === 0) this.#byTimeBeside.delete(timeText(sensorId, measuredAtMs))
    else this.#byTimeBeside.set(timeText(sensorId, measuredAtMs), displaced)
  }

  #slotOf(hash: number): number {
    return hash >>> (32 - this.#slotBits)
  }

  #entry(record: number, hash: number): number {
    return (hash << this.#slotBits) | (record + 1)
  }

  #recordIn(entry: number): number {
    return (entry & this.#slotMask) - 1
  }

  /** Where the key is, or would be. */
  #keySlot(hash: number, words: Uint32Array, offset: number): number {
    const w0 = words[offset]
    const w1 = words[offset + 1]
    const w2 = words[offset + 2]
    const w3 = words[offset + 3]
    const tag = hash << this.#slotBits
    let slot = this.#slotOf(hash)
    for (let probes = 0; probes < PROBES_MAX; probes++) {
      const entry = this.#byKey[slot] ?? 0
      if (entry === 0) return slot
      if (((entry ^ tag) & ~this.#slotMask) === 0) {
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
    return NO_SLOT
  }

  #timeSlot(hash: number, sensorId: number, measuredAtMs: number): number {
    const tag = hash << this.#slotBits
    let slot = this.#slotOf(hash)
    for (let probes = 0; probes < PROBES_MAX; probes++) {
      const entry = this.#byTime[slot] ?? 0
      if (entry === 0) return slot
      if (((entry ^ tag) & ~this.#slotMask) === 0) {
        const record = this.#recordIn(entry)
        const isSame =
          this.measuredAtMs[record] === measuredAtMs && this.sensorId[record] === sensorId
        if (isSame) return slot
      }
      slot = (slot + 1) & this.#slotMask
    }
    return NO_SLOT
  }
}

function keyText(words: Uint32Array, offset: number): string {
  return words.subarray(offset, offset + KEY_WORDS).join(':')
}

function timeText(sensorId: number, measuredAtMs: number): string {
  return `${sensorId}:${measuredAtMs}`
}

export class HotLedger {
  readonly #epochCapacity: number
  // The last one takes new events; earlier ones are being sealed, oldest first.
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

  /** Epochs in memory: the current one and those being sealed. */
  get epochs(): number {
    return this.#epochs.length
  }

  /** Closes the current epoch and starts the next. */
  startEpoch(): void {
    this.#epochs.push(this.#spare.pop() ?? new LedgerEpoch(this.#epochCapacity))
  }

  /** Drops the oldest epoch, which has been sealed. */
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
  nextTieBreak(sensorId: number, measuredAtMs: number): number | undefined {
    for (let at = this.#epochs.length - 1; at >= 0; at--) {
      const epoch = this.#epochs[at]
      const record = epoch?.findLastAt(sensorId, measuredAtMs) ?? -1
      if (epoch !== undefined && record >= 0) return (epoch.tieBreakNs[record] ?? 0) + 1
    }
    return undefined
  }
}
