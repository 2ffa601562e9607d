// Cohorts (cohort-segment.ts) in ledger.db: which runs they have, by their slots, and the segments
// of their filters.

import { giveBack } from '../../domain/give-back.ts'
import type { Connection } from '../database.ts'
import { EMPTY_SEGMENT, SEGMENTS, SLOTS } from './cohort-segment.ts'
import { isOfVersionBefore, toPresentForm } from './cohort-segment-before.ts'
import type { Segment } from './cohort-segment.ts'
import { deleteFineFilter } from './fine-filter.ts'
import type { CohortRun, NumberedSegment, RunPlan } from './ledger-run.ts'

export type CohortPlace = Pick<CohortRun, 'cohortNo' | 'slot'>

// A cohort of which a run is being merged takes no more: all of it is going.
const OPEN_COHORT = `
  SELECT cohort_no AS cohortNo, max(slot) + 1 AS slot FROM cohort_runs GROUP BY cohort_no
  HAVING max(slot) + 1 < ${SLOTS} AND total(run_no IN (SELECT source_no FROM merges)) = 0
  ORDER BY cohort_no DESC LIMIT 1`
const INSERT_RUN = 'INSERT INTO cohort_runs (run_no, cohort_no, slot) VALUES (?, ?, ?)'
const PLACE = 'SELECT cohort_no AS cohortNo, slot FROM cohort_runs WHERE run_no = ?'
const SEGMENT = 'SELECT filter FROM cohort_segments WHERE id = ?'
const SET_SEGMENT = 'INSERT OR REPLACE INTO cohort_segments (id, filter) VALUES (?, ?)'
const SEGMENTS_OF = `
  SELECT id - :cohortNo * ${SEGMENTS} AS segmentNo, filter FROM cohort_segments
  WHERE id >= :cohortNo * ${SEGMENTS} AND id < (:cohortNo + 1) * ${SEGMENTS} ORDER BY id`
// Those of which all runs go into that one.
const GOING = `
  SELECT cohort_no AS cohortNo, json_group_array(run_no) AS runNos
  FROM cohort_runs LEFT JOIN merges ON source_no = run_no
  GROUP BY cohort_no HAVING count(*) = total(target_no = ?)`
const DELETE_SEGMENTS = 'DELETE FROM cohort_segments WHERE id >= ? AND id < ?'
const DELETE_RUNS = `
  DELETE FROM cohort_runs WHERE run_no IN (SELECT source_no FROM merges WHERE target_no = ?)`

export class CohortStore {
  readonly #db: Connection
  readonly #segment
  readonly #setSegment

  constructor(db: Connection) {
    this.#db = db
    this.#segment = db.prepare<[number], Buffer>(SEGMENT).pluck()
    this.#setSegment = db.prepare<[number, Buffer]>(SET_SEGMENT)
  }

  /** Where a run is, if it is in a cohort. */
  placeOf(runNo: number): CohortPlace | undefined {
    return this.#db.prepare<[number], CohortPlace>(PLACE).get(runNo)
  }

  /** Takes a run into the newest cohort, or into one of its own where that is full. */
  join(plan: RunPlan): CohortRun {
    const { runNo } = plan
    const open = this.#db.prepare<[], CohortPlace>(OPEN_COHORT).get()
    const place = open ?? { cohortNo: runNo, slot: 0 }
    this.#db.prepare(INSERT_RUN).run(runNo, place.cohortNo, place.slot)
    return { ...plan, ...place }
  }

  /** A segment; one that knows nothing where there is none yet. */
  segment(cohortNo: number, segmentNo: number): Segment {
    const filter = this.#segment.get(cohortNo * SEGMENTS + segmentNo)
    return filter === undefined ? EMPTY_SEGMENT : segmentIn(filter)
  }

  setSegment(cohortNo: number, { segmentNo, segment }: NumberedSegment): void {
    const { buffer, byteOffset, byteLength } = segment
    const bytes = Buffer.from(buffer, byteOffset, byteLength)
    this.#setSegment.run(cohortNo * SEGMENTS + segmentNo, bytes)
  }

  /** All segments that there are. */
  segments(cohortNo: number): NumberedSegment[] {
    const rows = this.#db.prepare<[{ cohortNo: number }], SegmentRow>(SEGMENTS_OF)
    // One by one: the filters of all cohorts are most of what the ledger takes.
    return Array.from(rows.iterate({ cohortNo }), ({ segmentNo, filter }) => {
      return { segmentNo, segment: segmentIn(filter) }
    })
  }

  /**
   * Lets go of the segments with lower numbers of cohorts that are merged into a run, and of what
   * the fine filters of their runs have of them.
   */
  deleteSegments(targetNo: number, stopSegment: number): void {
    const remove = this.#db.prepare<[number, number]>(DELETE_SEGMENTS)
    const going = this.#db.prepare<[number], { cohortNo: number; runNos: string }>(GOING)
    for (const { cohortNo, runNos } of going.all(targetNo)) {
      remove.run(cohortNo * SEGMENTS, cohortNo * SEGMENTS + stopSegment)
      for (const runNo of JSON.parse(runNos) as number[]) {
        deleteFineFilter(this.#db, runNo, stopSegment)
      }
    }
  }

  /** Forgets the runs that are merged into one. */
  deleteRuns(targetNo: number): void {
    this.#db.prepare<[number]>(DELETE_RUNS).run(targetNo)
  }
}

interface SegmentRow {
  readonly segmentNo: number
  readonly filter: Buffer
}

/** A copy in memory of its own, in place of what was read. */
function segmentIn(filter: Buffer): Segment {
  const segment = new Uint32Array(Math.max(EMPTY_SEGMENT.length, Math.floor(filter.length / 4)))
  filter.copy(Buffer.from(segment.buffer))
  giveBack(filter)
  if (!isOfVersionBefore(segment)) return segment
  const present = toPresentForm(segment)
  giveBack(Buffer.from(segment.buffer))
  return present
}
