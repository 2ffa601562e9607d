// Goal: what the fine filter of a run lets pass is nearly all in the run, and all that is passes.

import { randomFillSync } from 'node:crypto'
import { expect } from 'chai'
import Database from 'better-sqlite3'
import { KEY_WORDS } from '../../../src/sqlite/event-key.ts'
import {
  FineFilterInOrder,
  FineFilters,
  FineFilterWriter,
} from '../../../src/sqlite/ledger/fine-filter.ts'
import { LEDGER_MIGRATIONS } from '../../../src/sqlite/ledger/schema.ts'

/** As many as give a line of each part as many keys as a run of eight million has. */
const EVENTS = 174_000
const OTHERS = 20_000
/** Half of the segments that there are. */
const SEGMENTS_STORED = 128

describe('the fine filter of a run', () => {
  const run = { runNo: 3, events: EVENTS }
  const keys = randomKeys(EVENTS)
  const others = randomKeys(OTHERS)
  const db = new Database(':memory:')
  for (const { sql } of LEDGER_MIGRATIONS) db.exec(sql)
  const writer = new FineFilterWriter(db, run)
  for (let at = 0; at < keys.length; at += KEY_WORDS) {
    const [w0 = 0, w1 = 0, w2 = 0, w3 = 0] = keys.subarray(at, at + KEY_WORDS)
    writer.know(w0, w1, w2, w3)
  }
  writer.storeBefore(SEGMENTS_STORED)
  const filters = new FineFilters(db)
  const isStored = (at: number, of = keys) => (of[at] ?? 0) >>> 24 < SEGMENTS_STORED

  it('lets every key of the run pass', () => {
    for (let at = 0; at < keys.length; at += KEY_WORDS * 5) {
      expect(filters.mayBeIn(run, keys, at)).to.equal(true)
    }
  })

  it('lets fewer than one in ten other keys pass, of segments that are stored', () => {
    const passed = countOf(others, (at) => filters.mayBeIn(run, others, at))
    const stored = countOf(others, (at) => isStored(at, others))
    expect(passed - (OTHERS - stored)).to.be.within(0, stored / 10)
  })

  it('lets keys of runs pass that have none', () => {
    expect(filters.mayBeIn({ ...run, runNo: 4 }, others, 0)).to.equal(true)
  })

  it('says the same of all keys in their order', () => {
    const inOrder = new FineFilterInOrder(db, run)
    for (const asked of [keys, others]) {
      const places = Array.from({ length: 5_000 }, (_, at) => at * KEY_WORDS)
      for (const at of places.sort((one, other) => (asked[one] ?? 0) - (asked[other] ?? 0))) {
        expect(inOrder.mayBeIn(asked, at)).to.equal(filters.mayBeIn(run, asked, at))
      }
    }
  })
})

function countOf(keys: Uint32Array, isCounted: (at: number) => boolean): number {
  let count = 0
  for (let at = 0; at < keys.length; at += KEY_WORDS) count += Number(isCounted(at))
  return count
}

function randomKeys(count: number): Uint32Array {
  return randomFillSync(new Uint32Array(count * KEY_WORDS))
}
