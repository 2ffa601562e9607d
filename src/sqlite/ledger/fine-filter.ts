// The second filter of a merged run, on disk only. About one new key in a hundred passes the
// cohort's filter in memory; looking for it in its block would, in a large ledger, mean reading a
// page that nothing has used for long. A run's fine filter is a fortieth of the size of its blocks,
// so its pages are read often enough to stay in the system's cache.
//
// It is a Bloom filter of six bits per key, in parts by the first bits of keys; a page holds five
// parts. It uses what the cohort's filter does not: the last three words of a key select cache
// line and bits. One unknown key in thirteen passes.

import { DamagedData, LEDGER_FILE, orDamaged } from '../database.ts'
import type { Connection } from '../database.ts'
import { KEY_WORDS } from '../event-key.ts'
import { wordsIn } from './filter-bits.ts'
import { addToFilter, CACHE_LINE_WORDS, mayContain } from './key-filter.ts'
import { EVENT_BYTES, SEGMENTS } from './ledger-run.ts'
import type { Run } from './ledger-run.ts'

const PARTS_PER_SEGMENT = 8
const PARTS = SEGMENTS * PARTS_PER_SEGMENT
const PART_BITS = Math.log2(PARTS)
const BITS_PER_KEY = 6
const CACHE_LINE_BYTES = CACHE_LINE_WORDS * 4

const SET_PART = 'INSERT OR REPLACE INTO fine_filters (id, filter) VALUES (?, ?)'
const PART = 'SELECT filter FROM fine_filters WHERE id = ?'

type FilteredRun = Pick<Run, 'runNo' | 'events'>

export class FineFilterWriter {
  readonly #setPart

  constructor(db: Connection) {
    this.#setPart = db.prepare<[number, Buffer]>(SET_PART)
  }

  /** Writes the parts for a segment of a run. @param entries all its events, packed */
  write(run: FilteredRun, segmentNo: number, entries: Buffer): void {
    const firstPart = segmentNo * PARTS_PER_SEGMENT
    const words = cacheLinesOfPart(run) * CACHE_LINE_WORDS
    const parts = Array.from({ length: PARTS_PER_SEGMENT }, () => new Uint32Array(words))
    for (let at = 0; at < entries.length; at += EVENT_BYTES) {
      const part = parts[partOf(entries.readUInt32LE(at)) - firstPart] as Uint32Array
      const w3 = entries.readUInt32LE(at + 12)
      addToFilter(part, w3, entries.readUInt32LE(at + 4), entries.readUInt32LE(at + 8))
    }
    parts.forEach(({ buffer }, at) => {
      this.#setPart.run(partId(run, firstPart + at), Buffer.from(buffer))
    })
  }
}

export class FineFilters {
  readonly #part
  // The part used last: ask about keys in their order.
  #partId = -1
  #words: Uint32Array = new Uint32Array(0)

  constructor(db: Connection) {
    this.#part = db.prepare<[number], Buffer>(PART).pluck()
  }

  /**
   * Whether the key at `offset` may be in a run: never false for one that is.
   *
   * @throws DamagedData
   */
  mayBeIn(run: FilteredRun, keys: Uint32Array, offset: number): boolean {
    const [w0 = 0, w1 = 0, w2 = 0, w3 = 0] = keys.subarray(offset, offset + KEY_WORDS)
    this.#read(partId(run, partOf(w0)))
    return mayContain(this.#words, w3, w1, w2)
  }

  #read(id: number): void {
    if (id === this.#partId) return
    const problem = `part ${id} of a fine filter in ${LEDGER_FILE} is damaged`
    const filter = orDamaged(problem, () => this.#part.get(id))
    if (filter === undefined) throw new DamagedData(problem)
    this.#partId = id
    this.#words = wordsIn(filter)
  }
}

function cacheLinesOfPart({ events }: FilteredRun): number {
  return Math.ceil((events * BITS_PER_KEY) / (PARTS * CACHE_LINE_BYTES * 8))
}

function partOf(w0: number): number {
  return w0 >>> (32 - PART_BITS)
}

function partId({ runNo }: FilteredRun, partNo: number): number {
  return runNo * PARTS + partNo
}
