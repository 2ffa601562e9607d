// Goal: what the fine filter of a run lets pass is nearly all in the run, and all that is passes.

import { randomFillSync } from 'node:crypto'
import { expect } from 'chai'
import Database from 'better-sqlite3'
import { KEY_WORDS } from '../../../src/sqlite/event-key.ts'
import { FineFilters, FineFilterWriter } from '../../../src/sqlite/ledger/fine-filter.ts'
import { EVENT_BYTES, segmentOf } from '../../../src/sqlite/ledger/ledger-run.ts'
import { LEDGER_MIGRATIONS } from '../../../src/sqlite/ledger/schema.ts'

/** As many as give a cache line of each part as many keys as a run of eight million has. */
const EVENTS = 174_000
const OTHERS = 20_000

describe('the fine filter of a run', () => {
  const run = { runNo: 3, events: EVENTS }
  const keys = randomKeys(EVENTS)
  const others = randomKeys(OTHERS)
  const db = new Database(':memory:')
  for (const { sql } of LEDGER_MIGRATIONS) db.exec(sql)
  const writer = new FineFilterWriter(db)
  const bySegment = Map.groupBy(placesOf(keys), (at) => segmentOf(keys[at] ?? 0))
  for (const [segment, places] of bySegment) writer.write(run, segment, packed(keys, places))
  const filters = new FineFilters(db)

  it('lets every key of the run pass', () => {
    for (let at = 0; at < keys.length; at += KEY_WORDS * 5) {
      expect(filters.mayBeIn(run, keys, at)).to.equal(true)
    }
  })

  it('lets fewer than one in ten other keys pass', () => {
    const passed = placesOf(others).filter((at) => filters.mayBeIn(run, others, at))
    expect(passed.length).to.be.lessThan(OTHERS / 10)
  })

  it('is refused when it is missing', () => {
    db.exec('DELETE FROM fine_filters')
    expect(() => new FineFilters(db).mayBeIn(run, keys, 0)).to.throw(/is damaged/)
  })
})

function placesOf(keys: Uint32Array): number[] {
  return Array.from({ length: keys.length / KEY_WORDS }, (_, key) => key * KEY_WORDS)
}

function packed(keys: Uint32Array, places: readonly number[]): Buffer {
  const entries = Buffer.alloc(places.length * EVENT_BYTES)
  places.forEach((at, event) => {
    const words = new Uint32Array(keys.subarray(at, at + KEY_WORDS))
    entries.set(Buffer.from(words.buffer), event * EVENT_BYTES)
  })
  return entries
}

function randomKeys(count: number): Uint32Array {
  return randomFillSync(new Uint32Array(count * KEY_WORDS))
}
