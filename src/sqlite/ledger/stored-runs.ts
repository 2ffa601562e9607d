// What a start finds of the sealed ledger. Filters of cohorts are stored; those of young runs are
// made again from their events, a few million.

import { giveBack } from '../../bytes/give-back.ts'
import { ifWhole } from '../database.ts'
import type { Connection } from '../database.ts'
import { BlockStore } from './block-store.ts'
import { CohortStore } from './cohort-store.ts'
import { fillSegment } from './key-filter.ts'
import { SEGMENTS } from './ledger-run.ts'
import type { NumberedSegment, StoredRuns, YoungRun } from './ledger-run.ts'
import { addEvents, newGeneration, newOwnFilter } from './run-generation.ts'

const YOUNG_RUNS = `
  SELECT young.run_no AS runNo, young.events, young.blocks,
    coalesce(target.segments_written, 0) AS movedBelow
  FROM runs AS young LEFT JOIN runs AS target ON target.run_no = young.merged_into
  WHERE young.merged_no IS NULL ORDER BY young.run_no DESC`

/** Runs that are sealed later have generations with higher numbers. */
const GENERATION_NO = 0

/** Newest first, without their filters. */
export function readYoungRuns(db: Connection): Omit<YoungRun, 'filter'>[] {
  return db.prepare<[], Omit<YoungRun, 'filter'>>(YOUNG_RUNS).all()
}

/** Nothing may be merged meanwhile. */
export function readStoredRuns(db: Connection): StoredRuns {
  const blocks = new BlockStore(db)
  const runs = readYoungRuns(db)
  const events = runs.reduce((sum, run) => sum + run.events, 0)
  const generation = newGeneration(GENERATION_NO, events)
  const young = runs.map((stored): YoungRun => {
    const run = { ...stored, filter: newOwnFilter(stored.events) }
    for (let segment = run.movedBelow; segment < SEGMENTS; segment++) {
      const entries = ifWhole(() => blocks.read(run, segment))
      if (entries === undefined) {
        // Every key of the segment is looked for there, and none is answered without.
        fillSegment(generation.filter, segment)
        run.filter.fill(0xffff_ffff)
        continue
      }
      addEvents(generation, run, entries)
      giveBack(entries)
    }
    return run
  })
  return { young, generation, cohorts: new CohortStore(db).cohorts() }
}

/** The filters of cohorts, most of the ledger's memory: to be transferred, not copied. */
export function filterBuffers({ cohorts }: StoredRuns): ArrayBuffer[] {
  return cohorts.flatMap(({ segments }) => segmentBuffers(segments))
}

export function segmentBuffers(segments: readonly NumberedSegment[]): ArrayBuffer[] {
  return segments.map(({ segment }) => segment.buffer)
}
