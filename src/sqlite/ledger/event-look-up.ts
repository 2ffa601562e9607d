// Looking an event up in a run: one block, or two where the run is being merged and what was in the
// block has moved on. Which of them it is has to be seen in one view of the file, so a look-up is
// done inside a transaction. What has moved never comes back, so how far that is known to have gone
// is kept, and the block that is not there any more is not looked for again.
//
// Many keys are looked up by one statement: that takes less than half of what one for each takes.

import type { Connection } from '../database.ts'
import type { StoredEvent } from './hot-ledger.ts'
import { KEY_WORDS } from '../event-key.ts'
import { blockOf, EVENT_BYTES, firstWordOf, RUN_STRIDE, unpackEvent } from './run-block.ts'
import type { RunPlan } from './ledger-run.ts'

type Place = Pick<RunPlan, 'runNo' | 'blocks'>

const KEY_BYTES = KEY_WORDS * 4

// SQLite finds the event in its block: to have all of that copied would take longer than the rest.
// What begins at 0, where it is not there, is one byte shorter.
const EVENT = `SELECT substr(entries, instr(entries, ?), ${EVENT_BYTES}) FROM blocks WHERE id = ?`
// The events one after the other, in the order of the ids. Shorter where one is not there.
const EVENTS = `
  SELECT CAST(group_concat(substr(
    entries, instr(entries, substr(?, key * ${KEY_BYTES} + 1, ${KEY_BYTES})), ${EVENT_BYTES}
  ), '') AS BLOB)
  FROM json_each(?) LEFT JOIN blocks ON blocks.id = value`
const MERGED_INTO = `
  SELECT run_no AS runNo, blocks, ifnull(next_block, blocks) AS nextBlock
  FROM merges JOIN runs ON run_no = merges.target_no
  LEFT JOIN merge_progress ON merge_progress.target_no = run_no
  WHERE source_no = ?`

/** Where the events of a run are that is being merged. */
interface Moved {
  readonly to: Place
  /** Those whose keys have a lower first word are there. */
  readonly belowWord: number
}

/** So many keys are looked up by one statement at most, and at least: else each by its own. */
const TOGETHER_MAX = 256
const TOGETHER_MIN = 8

/** More runs than are ever being merged at a time. */
const MOVED_MAX = 256

export class EventLookUp {
  readonly #event
  readonly #events
  readonly #mergedInto
  readonly #key = Buffer.alloc(KEY_BYTES)
  readonly #keys = Buffer.alloc(TOGETHER_MAX * KEY_BYTES)
  readonly #moved = new Map<number, Moved>()

  constructor(db: Connection) {
    this.#event = db.prepare<[Buffer, number], Buffer>(EVENT).pluck()
    this.#events = db.prepare<[Buffer, string], Buffer>(EVENTS).pluck()
    this.#mergedInto = db.prepare<[number], Place & { nextBlock: number }>(MERGED_INTO)
  }

  /**
   * The events with some of the keys, of those that are in the run or in what that is merged into.
   *
   * @param words four for each key
   * @param places of the keys that are looked up
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
    { runNo, blocks }: Place,
    words: Uint32Array,
    places: readonly number[],
    found: { set(place: number, event: StoredEvent): void },
  ): number[] {
    const ids = places.map((place, at) => {
      this.#writeKey(words, place * KEY_WORDS, this.#keys, at * KEY_BYTES)
      return runNo * RUN_STRIDE + blockOf(words[place * KEY_WORDS] ?? 0, blocks)
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

  /** The event with the key at `offset`, if it is in the run or in what that is merged into. */
  find(run: Place, words: Uint32Array, offset: number): StoredEvent | undefined {
    const firstWord = words[offset] ?? 0
    this.#writeKey(words, offset, this.#key, 0)
    let place: Place | undefined = run
    while (place !== undefined) {
      const moved = this.#moved.get(place.runNo)
      const hasMoved = moved !== undefined && firstWord < moved.belowWord
      const id = place.runNo * RUN_STRIDE + blockOf(firstWord, place.blocks)
      const event = hasMoved ? undefined : this.#event.get(this.#key, id)
      if (event !== undefined) {
        return event.length === EVENT_BYTES ? unpackEvent(event) : undefined
      }
      place = hasMoved ? moved.to : this.#readMoved(place)
    }
    return undefined
  }

  #writeKey(words: Uint32Array, offset: number, key: Buffer, at: number): void {
    for (let word = 0; word < KEY_WORDS; word++) {
      key.writeUInt32LE(words[offset + word] ?? 0, at + word * 4)
    }
  }

  /** What a run is merged into, if it is. */
  #readMoved({ runNo }: Place): Place | undefined {
    const target = this.#mergedInto.get(runNo)
    if (target === undefined) return undefined
    if (this.#moved.size >= MOVED_MAX) this.#moved.clear()
    const belowWord = firstWordOf(target.nextBlock, target.blocks)
    this.#moved.set(runNo, { to: target, belowWord })
    return target
  }
}
