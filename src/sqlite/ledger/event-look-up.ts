// Looking an event up in a run: one block, or two where the run is being merged and what was in the
// block has moved on. Which of them it is has to be seen in one view of the file, so a look-up is
// done inside a transaction.

import type { Connection } from '../database.ts'
import type { StoredEvent } from './hot-ledger.ts'
import { blockOf, findInBlock, RUN_STRIDE } from './run-block.ts'
import type { RunPlan } from './ledger-run.ts'

type Place = Pick<RunPlan, 'runNo' | 'blocks'>

const BLOCK = 'SELECT entries FROM blocks WHERE id = ?'
const MERGED_INTO = `
  SELECT run_no AS runNo, blocks FROM merges JOIN runs ON run_no = target_no
  WHERE source_no = ?`

export class EventLookUp {
  readonly #block
  readonly #mergedInto

  constructor(db: Connection) {
    this.#block = db.prepare<[number], Buffer>(BLOCK).pluck()
    this.#mergedInto = db.prepare<[number], Place>(MERGED_INTO)
  }

  /** The event with the key at `offset`, if it is in the run or in what that is merged into. */
  find(run: Place, words: Uint32Array, offset: number): StoredEvent | undefined {
    let place: Place | undefined = run
    while (place !== undefined) {
      const block = this.#block.get(
        place.runNo * RUN_STRIDE + blockOf(words[offset] ?? 0, place.blocks),
      )
      if (block !== undefined) return findInBlock(block, words, offset)
      place = this.#mergedInto.get(place.runNo)
    }
    return undefined
  }
}
