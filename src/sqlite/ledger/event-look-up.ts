// Looking an event up in a run: one block, or two where the run is being merged and what was in the
// block has moved on. Which of them it is has to be seen in one view of the file, so a look-up is
// done inside a transaction. What has moved never comes back, so how far that is known to have gone
// is kept, and the block that is not there any more is not looked for again.

import type { Connection } from '../database.ts'
import type { StoredEvent } from './hot-ledger.ts'
import { KEY_WORDS } from './event-key.ts'
import { blockOf, EVENT_BYTES, firstWordOf, RUN_STRIDE, unpackEvent } from './run-block.ts'
import type { RunPlan } from './ledger-run.ts'

type Place = Pick<RunPlan, 'runNo' | 'blocks'>

// SQLite finds the event in its block: to have all of that copied would take longer than the rest.
// What begins at 0, where it is not there, is one byte shorter.
const EVENT = `SELECT substr(entries, instr(entries, ?), ${EVENT_BYTES}) FROM blocks WHERE id = ?`
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

/** More runs than are ever being merged at a time. */
const MOVED_MAX = 64

export class EventLookUp {
  readonly #event
  readonly #mergedInto
  readonly #key = Buffer.alloc(KEY_WORDS * 4)
  readonly #moved = new Map<number, Moved>()

  constructor(db: Connection) {
    this.#event = db.prepare<[Buffer, number], Buffer>(EVENT).pluck()
    this.#mergedInto = db.prepare<[number], Place & { nextBlock: number }>(MERGED_INTO)
  }

  /** The event with the key at `offset`, if it is in the run or in what that is merged into. */
  find(run: Place, words: Uint32Array, offset: number): StoredEvent | undefined {
    const firstWord = words[offset] ?? 0
    for (let word = 0; word < KEY_WORDS; word++) {
      this.#key.writeUInt32LE(words[offset + word] ?? 0, word * 4)
    }
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
