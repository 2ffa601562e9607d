// The filter shared by a generation of young runs, in addition to each run's own. Most events
// looked up are new, and this single filter says so instead of dozens. It is in memory shared by
// the seal thread, which adds to it, and the look-up thread, which asks it. Bits are only ever set,
// and those of a run are set before the run is announced.

import { addToFilter, newFilter } from './key-filter.ts'
import { EVENT_BYTES } from './ledger-run.ts'
import type { RunGeneration, YoungRun } from './ledger-run.ts'

/** Half of the young runs merged at a time: a filter takes all its memory with its first run. */
export const RUNS_PER_GENERATION = 32

const BITS_PER_KEY = 10
/** Asked only if the filter of a generation lets a key pass, out of dozens of runs. */
const OWN_BITS_PER_KEY = 16

/** Which word of a key selects its cache line: a different one in a run's own filter. */
export const GENERATION_CACHE_LINE_WORD = 0
export const OWN_CACHE_LINE_WORD = 3

export function newGeneration(no: number, events: number): RunGeneration {
  return { no, filter: newFilter(events, BITS_PER_KEY) }
}

/** The filter of one young run. */
export function newOwnFilter(events: number): Uint32Array<SharedArrayBuffer> {
  return newFilter(events, OWN_BITS_PER_KEY)
}

/** Has the filters of a run and its generation know packed events. */
export function addEvents(
  generation: RunGeneration,
  { filter }: Pick<YoungRun, 'filter'>,
  entries: Buffer,
): void {
  addEventsToFilter(generation.filter, GENERATION_CACHE_LINE_WORD, entries)
  addEventsToFilter(filter, OWN_CACHE_LINE_WORD, entries)
}

/** @param cacheLineWord which word selects the cache line */
function addEventsToFilter(filter: Uint32Array, cacheLineWord: number, entries: Buffer): void {
  for (let at = 0; at < entries.length; at += EVENT_BYTES) {
    const word = entries.readUInt32LE(at + cacheLineWord * 4)
    addToFilter(filter, word, entries.readUInt32LE(at + 4), entries.readUInt32LE(at + 8))
  }
}

/** Decides which generation the next run belongs to. */
export class Generations {
  readonly #eventsOfRunMax: number
  #current: RunGeneration | undefined
  #runs = 0

  constructor(eventsOfRunMax: number) {
    this.#eventsOfRunMax = eventsOfRunMax
  }

  next(): RunGeneration {
    if (this.#current === undefined || this.#runs === RUNS_PER_GENERATION) {
      const no = (this.#current?.no ?? 0) + 1
      this.#current = newGeneration(no, RUNS_PER_GENERATION * this.#eventsOfRunMax)
      this.#runs = 0
    }
    this.#runs++
    return this.#current
  }
}
