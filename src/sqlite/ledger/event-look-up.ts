// Looking events up in the blocks of a run. Many keys are looked up by one statement, which takes
// less than half the time of one statement each.

import type { Connection } from '../database.ts'
import { KEY_WORDS } from '../event-key.ts'
import type { StoredEvent } from './hot-ledger.ts'
import type { Run } from './ledger-run.ts'
import { blockIdOf, EVENT_BYTES, unpackEvent } from './run-block.ts'

type Place = Pick<Run, 'runNo' | 'blocks'>

const KEY_BYTES = KEY_WORDS * 4

// SQLite finds the event in its block: copying all of that would take longer than the rest. What
// begins at 0, where the key is not there, is one byte shorter.
const EVENT = `SELECT substr(entries, instr(entries, ?), ${EVENT_BYTES}) FROM blocks WHERE id = ?`
// The events one after the other, in the order of the ids. Shorter where one is not there.
const EVENTS = `
  SELECT CAST(group_concat(substr(
    entries, instr(entries, substr(?, key * ${KEY_BYTES} + 1, ${KEY_BYTES})), ${EVENT_BYTES}
  ), '') AS BLOB)
  FROM json_each(?) LEFT JOIN blocks ON blocks.id = value`

/** Keys that one statement looks up at most, and at least: fewer are looked up one by one. */
const TOGETHER_MAX = 256
const TOGETHER_MIN = 8

export class EventLookUp {
  readonly #event
  readonly #events
  readonly #key = Buffer.alloc(KEY_BYTES)
  readonly #keys = Buffer.alloc(TOGETHER_MAX * KEY_BYTES)

  constructor(db: Connection) {
    this.#event = db.prepare<[Buffer, number], Buffer>(EVENT).pluck()
    this.#events = db.prepare<[Buffer, string], Buffer>(EVENTS).pluck()
  }

  /**
   * Finds the events of a run that have one of some keys.
   *
   * @param words four for each key
   * @param places of the keys that are looked up; those of one block best follow each other
   */
  findAll(
    run: Place,
    words: Uint32Array,
    places: readonly number[],
    found: { set(place: number, event: StoredEvent): void },
  ): void {
    for (let start = 0; start < places.length; start += TOGETHER_MAX) {
      const some = places.slice(start, start + TOGETHER_MAX)
      const left = some.length < TOGETHER_MIN ? some : this.#findTogether(run, words, some, found)
      for (const place of left) {
        const event = this.find(run, words, place * KEY_WORDS)
        if (event !== undefined) found.set(place, event)
      }
    }
  }

  /** @returns the places that are left to be looked up one by one: all, where one is missing */
  #findTogether(
    run: Place,
    words: Uint32Array,
    places: readonly number[],
    found: { set(place: number, event: StoredEvent): void },
  ): number[] {
    const ids = places.map((place, at) => {
      this.#writeKey(words, place * KEY_WORDS, this.#keys, at * KEY_BYTES)
      return blockIdOf(run, words[place * KEY_WORDS] ?? 0)
    })
    const events = this.#events.get(this.#keys, `[${ids.join(',')}]`)
    if (events?.length !== places.length * EVENT_BYTES) return [...places]
    return places.filter((place, at) => {
      const event = events.subarray(at * EVENT_BYTES, (at + 1) * EVENT_BYTES)
      const keyAt = at * KEY_BYTES
      const isIt = this.#keys.compare(event, 0, KEY_BYTES, keyAt, keyAt + KEY_BYTES) === 0
      if (isIt) found.set(place, unpackEvent(event))
      return !isIt
    })
  }

  /** The event of a run that has the key at `offset`, if there is one. */
  find(run: Place, words: Uint32Array, offset: number): StoredEvent | undefined {
    this.#writeKey(words, offset, this.#key, 0)
    const event = this.#event.get(this.#key, blockIdOf(run, words[offset] ?? 0))
    return event?.length === EVENT_BYTES ? unpackEvent(event) : undefined
  }

  #writeKey(words: Uint32Array, offset: number, key: Buffer, at: number): void {
    for (let word = 0; word < KEY_WORDS; word++) {
      key.writeUInt32LE(words[offset + word] ?? 0, at + word * 4)
    }
  }
}
