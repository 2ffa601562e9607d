// What lies, on disk only, between the filter of a cohort and the blocks of its runs. Of the new
// keys one in some hundred passes the filter that is in memory, and to look for it in its block
// takes a page from the disk that nobody has read for long, if the ledger is large. A run's fine
// filter is a fortieth of its blocks: the pages that are asked again and again the system has.
//
// It is a Bloom filter of six bits a key, in parts, by the first bits of keys: a part fits a page
// five times. It is made of what the filter in memory does not have of a key: line and bits come
// from the last three words. Of the keys that are not there one in thirteen passes.

import type { Connection } from '../database.ts'
import { SEGMENTS } from './cohort-segment.ts'
import { KEY_WORDS } from '../event-key.ts'
import { wordsIn } from './filter-bits.ts'
import { addToFilter, LINE_WORDS, lineNoOf, mayContain } from './key-filter.ts'
import type { RunPlan } from './ledger-run.ts'

const PARTS_PER_SEGMENT = 8
const PARTS = SEGMENTS * PARTS_PER_SEGMENT
const PART_BITS = Math.log2(PARTS)
const BITS_PER_KEY = 6
const LINE_BYTES = LINE_WORDS * 4

const SET_PART = 'INSERT OR REPLACE INTO fine_filters (id, filter) VALUES (?, ?)'
const PART = 'SELECT filter FROM fine_filters WHERE id = ?'
const LINE = `SELECT substr(filter, ?, ${LINE_BYTES}) FROM fine_filters WHERE id = ?`
const DELETE_PARTS = 'DELETE FROM fine_filters WHERE id >= ? AND id < ?'

type FilteredRun = Pick<RunPlan, 'runNo' | 'events'>

export class FineFilterWriter {
  readonly #run: FilteredRun
  readonly #parts = new Map<number, Uint32Array>()
  readonly #setPart

  constructor(db: Connection, run: FilteredRun) {
    this.#run = run
    this.#setPart = db.prepare<[number, Buffer]>(SET_PART)
  }

  /** Adds a key, which these are the words of. */
  know(w0: number, w1: number, w2: number, w3: number): void {
    const partNo = partOf(w0)
    let part = this.#parts.get(partNo)
    if (part === undefined) {
      part = new Uint32Array(linesOfPart(this.#run) * LINE_WORDS)
      this.#parts.set(partNo, part)
    }
    addToFilter(part, w3, w1, w2)
  }

  /** Stores the parts of segments before that one: all their keys are known. */
  storeBefore(segmentNo: number): void {
    for (const [partNo, { buffer }] of this.#parts) {
      if (partNo >= segmentNo * PARTS_PER_SEGMENT) continue
      this.#setPart.run(partId(this.#run, partNo), Buffer.from(buffer))
      this.#parts.delete(partNo)
    }
  }
}

export class FineFilters {
  readonly #line

  constructor(db: Connection) {
    this.#line = db.prepare<[number, number], Buffer>(LINE).pluck()
  }

  /** Whether the key at `offset` may be in a run: never false for one that is. */
  mayBeIn(run: FilteredRun, keys: Uint32Array, offset: number): boolean {
    const [w0 = 0, w1 = 0, w2 = 0, w3 = 0] = keys.subarray(offset, offset + KEY_WORDS)
    const lineNo = lineNoOf(linesOfPart(run), w3)
    const line = this.#line.get(lineNo * LINE_BYTES + 1, partId(run, partOf(w0)))
    // Runs of before version 6 have none.
    if (line?.length !== LINE_BYTES) return true
    return mayContain(wordsIn(line), w3, w1, w2)
  }
}

/** The fine filter of one run, of which all keys are asked about in their order. */
export class FineFilterInOrder {
  readonly #run: FilteredRun
  readonly #part
  #partNo = -1
  #words: Uint32Array | undefined

  constructor(db: Connection, run: FilteredRun) {
    this.#run = run
    this.#part = db.prepare<[number], Buffer>(PART).pluck()
  }

  mayBeIn(keys: Uint32Array, offset: number): boolean {
    const [w0 = 0, w1 = 0, w2 = 0, w3 = 0] = keys.subarray(offset, offset + KEY_WORDS)
    if (partOf(w0) !== this.#partNo) {
      this.#partNo = partOf(w0)
      const part = this.#part.get(partId(this.#run, this.#partNo))
      this.#words = part && wordsIn(part)
    }
    return this.#words === undefined || mayContain(this.#words, w3, w1, w2)
  }
}

/** Lets go of the parts of segments before that one. */
export function deleteFineFilter(db: Connection, runNo: number, segmentNo: number): void {
  const first = runNo * PARTS
  db.prepare<[number, number]>(DELETE_PARTS).run(first, first + segmentNo * PARTS_PER_SEGMENT)
}

function linesOfPart({ events }: FilteredRun): number {
  return Math.ceil((events * BITS_PER_KEY) / (PARTS * LINE_BYTES * 8))
}

function partOf(w0: number): number {
  return w0 >>> (32 - PART_BITS)
}

function partId({ runNo }: FilteredRun, partNo: number): number {
  return runNo * PARTS + partNo
}
