// The filters of cohorts in ledger.db, by segments.

import { giveBack } from '../../domain/give-back.ts'
import type { Connection } from '../database.ts'
import { EMPTY_SEGMENT, positionOf, SLOTS } from './cohort-segment.ts'
import type { Segment } from './cohort-segment.ts'
import { SegmentMerger } from './cohort-segment-merger.ts'
import type { MergedRun, NumberedSegment, StoredCohort } from './ledger-run.ts'
import { EVENT_BYTES, SEGMENTS } from './run-block.ts'

const SEGMENT = 'SELECT filter FROM cohort_segments WHERE id = ?'
const SET_SEGMENT = 'INSERT OR REPLACE INTO cohort_segments (id, filter) VALUES (?, ?)'
const SEGMENTS_OF = `
  SELECT id - :cohortNo * ${SEGMENTS} AS segmentNo, filter FROM cohort_segments
  WHERE id >= :cohortNo * ${SEGMENTS} AND id < (:cohortNo + 1) * ${SEGMENTS} ORDER BY id`
const MERGED_RUNS = `
  SELECT run_no AS runNo, events, blocks, merged_no / ${SLOTS} AS cohortNo,
    merged_no % ${SLOTS} AS slot
  FROM runs WHERE merged_no IS NOT NULL ORDER BY merged_no`

export class CohortStore {
  readonly #segment
  readonly #setSegment
  readonly #segmentsOf
  readonly #runs
  readonly #merger = new SegmentMerger()

  constructor(db: Connection) {
    this.#segment = db.prepare<[number], Buffer>(SEGMENT).pluck()
    this.#setSegment = db.prepare<[number, Buffer]>(SET_SEGMENT)
    this.#segmentsOf = db.prepare<[{ cohortNo: number }], SegmentRow>(SEGMENTS_OF)
    this.#runs = db.prepare<[], MergedRun>(MERGED_RUNS)
  }

  /** All merged runs, the oldest first. */
  runs(): MergedRun[] {
    return this.#runs.all()
  }

  /** All cohorts, the oldest first. */
  cohorts(): StoredCohort[] {
    const cohorts = Map.groupBy(this.runs(), ({ cohortNo }) => cohortNo)
    return Array.from(cohorts, ([cohortNo, runs]) => ({ runs, segments: this.segments(cohortNo) }))
  }

  /** All segments that there are. */
  segments(cohortNo: number): NumberedSegment[] {
    // One by one: the filters of all cohorts are most of the ledger's memory.
    return Array.from(this.#segmentsOf.iterate({ cohortNo }), ({ segmentNo, filter }) => {
      return { segmentNo, segment: segmentIn(filter) }
    })
  }

  /** Rebuilds a segment with the events that a run has there, packed. */
  addToSegment(run: MergedRun, segmentNo: number, entries: Buffer): NumberedSegment {
    const id = run.cohortNo * SEGMENTS + segmentNo
    const stored = this.#segment.get(id)
    const before = stored === undefined ? EMPTY_SEGMENT : segmentIn(stored)
    const segment = this.#merger.merge(before, positionsOf(entries), run.slot)
    if (before !== EMPTY_SEGMENT) giveBack(Buffer.from(before.buffer))
    this.#setSegment.run(id, Buffer.from(segment.buffer))
    return { segmentNo, segment }
  }
}

interface SegmentRow {
  readonly segmentNo: number
  readonly filter: Buffer
}

function positionsOf(entries: Buffer): Int32Array {
  const positions = new Int32Array(entries.length / EVENT_BYTES)
  for (let event = 0; event < positions.length; event++) {
    const at = event * EVENT_BYTES
    positions[event] = positionOf(entries.readUInt32LE(at), entries.readUInt32LE(at + 4))
  }
  return positions
}

/** A copy in memory of its own, which is aligned. */
function segmentIn(filter: Buffer): Segment {
  const segment = new Uint32Array(filter.length / 4)
  filter.copy(Buffer.from(segment.buffer))
  giveBack(filter)
  return segment
}
