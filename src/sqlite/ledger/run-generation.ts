// The filter that a generation of young runs has in common, beside the one that each has of its
// own. Most of what is looked up is new: one filter instead of dozens then says so. It lies in
// memory that the seal thread, which adds to it, and the look-up thread, which asks it, both see;
// bits are only ever set, and those of a run are set before the run is made known.

import { filterBytes, filterIn, filterWords } from './key-filter.ts'

/** A part of the runs that are merged at first: the filter takes its memory with the first one. */
export const RUNS_PER_GENERATION = 32

export interface RunGeneration {
  readonly no: number
  /** Its lines come from the first words of keys. */
  readonly filter: Uint32Array<SharedArrayBuffer>
}

/** Says which generation the next run belongs to. */
export class Generations {
  readonly #eventsOfRunMax: number
  #current: RunGeneration | undefined
  #runs = 0

  constructor(eventsOfRunMax: number) {
    this.#eventsOfRunMax = eventsOfRunMax
  }

  next(): RunGeneration {
    if (this.#current === undefined || this.#runs === RUNS_PER_GENERATION) {
      const words = filterWords(RUNS_PER_GENERATION * this.#eventsOfRunMax)
      const filter = filterIn(new SharedArrayBuffer(filterBytes(words)))
      this.#current = { no: (this.#current?.no ?? 0) + 1, filter }
      this.#runs = 0
    }
    this.#runs++
    return this.#current
  }
}
