// Looking events up in the blocks of a run. Many are looked up by one statement, which takes less
// than half the time of one statement each. A block is checked whole before anything is read in it:
// a key that is not found there is not there.

import type { Connection } from '../database.ts'
import { KEY_WORDS } from '../event-key.ts'
import { checkBlocks, damagedBlock } from './block-store.ts'
import type { BlockRows } from './block-store.ts'
import type { StoredEvent } from './hot-ledger.ts'
import type { Run } from './ledger-run.ts'
import { blockIdOf, EVENT_BYTES, unpackEvent } from './run-block.ts'

type Place = Pick<Run, 'runNo' | 'blocks'>

const KEY_BYTES = KEY_WORDS * 4

// In the order of the ids.
const BLOCKS = `
  SELECT CAST(group_concat(entries, '') AS BLOB) AS entries,
    json_group_array(length(entries)) AS lengths, json_group_array(checksum) AS checksums
  FROM json_each(?) LEFT JOIN blocks ON blocks.id = value`

/** Keys that one statement looks up at most: their blocks are some hundred kilobytes. */
const TOGETHER_MAX = 256

export class EventLookUp {
  readonly #blocks
  readonly #key = Buffer.alloc(KEY_BYTES)

  constructor(db: Connection) {
    this.#blocks = db.prepare<[string], BlockRows>(BLOCKS)
  }

  /**
   * Finds the events of a run that have one of some keys.
   *
   * @param words four for each key
   * @param places of the keys that are looked up; those of one block best follow each other
   * @throws DamagedData when a block is missing or not what was written
   */
  findAll(
    run: Place,
    words: Uint32Array,
    places: readonly number[],
    found: { set(place: number, event: StoredEvent): void },
  ): void {
    for (let start = 0; start < places.length; start += TOGETHER_MAX) {
      this.#findTogether(run, words, places.slice(start, start + TOGETHER_MAX), found)
    }
  }

  #findTogether(
    run: Place,
    words: Uint32Array,
    places: readonly number[],
    found: { set(place: number, event: StoredEvent): void },
  ): void {
    const ids = places.map((place) => blockIdOf(run, words[place * KEY_WORDS] ?? 0))
    const rows = this.#blocks.get(`[${ids.join(',')}]`)
    const idAt = (at: number) => ids[at] ?? 0
    if (rows?.entries === undefined || rows.entries === null) throw damagedBlock(idAt(0))
    const { entries } = rows
    checkBlocks(entries, rows, idAt, (at, start, end) => {
      const place = places[at] ?? 0
      this.#writeKey(words, place * KEY_WORDS)
      const event = eventIn(entries.subarray(start, end), this.#key)
      if (event !== undefined) found.set(place, event)
    })
  }

  /** The event of a run that has the key at `offset`, if there is one. */
  find(run: Place, words: Uint32Array, offset: number): StoredEvent | undefined {
    let event: StoredEvent | undefined
    this.findAll(run, words, [offset / KEY_WORDS], { set: (_, found) => (event = found) })
    return event
  }

  #writeKey(words: Uint32Array, offset: number): void {
    for (let word = 0; word < KEY_WORDS; word++) {
      this.#key.writeUInt32LE(words[offset + word] ?? 0, word * 4)
    }
  }
}

function eventIn(block: Buffer, key: Buffer): StoredEvent | undefined {
  for (let at = block.indexOf(key); at !== -1; at = block.indexOf(key, at + 1)) {
    if (at % EVENT_BYTES === 0) return unpackEvent(block.subarray(at, at + EVENT_BYTES))
  }
  return undefined
}
