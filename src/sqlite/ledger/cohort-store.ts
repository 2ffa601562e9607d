// The filters of cohorts in ledger.db, by segments.

import { giveBack } from '../../bytes/give-back.ts'
import { ifWhole, LEDGER_FILE, orDamaged } from '../database.ts'
import type { Connection } from '../database.ts'
import { BlockStore } from './block-store.ts'
import { EMPTY_SEGMENT, positionOf, SLOTS } from './cohort-segment.ts'
import type { Segment } from './cohort-segment.ts'
import { SegmentMerger } from './cohort-segment-merger.ts'
import { EVENT_BYTES, SEGMENTS } from './ledger-run.ts'
import type { MergedRun, NumberedSegment, StoredCohort } from './ledger-run.ts'

const SEGMENT = 'SELECT filter FROM cohort_segments WHERE id = ?'
const SET_SEGMENT = 'INSERT OR REPLACE INTO cohort_segments (id, filter) VALUES (?, ?)'
const MERGED_RUNS = `
  SELECT run_no AS runNo, events, blocks, merged_no / ${SLOTS} AS cohortNo,
    merged_no % ${SLOTS} AS slot, segments_written AS segmentsWritten
  FROM runs WHERE merged_no IS NOT NULL`
/** Where the runs that are being merged go; none: NULL. */
const LAST_TARGET = 'SELECT max(merged_into) FROM runs'

export class CohortStore {
  readonly #segment
  readonly #setSegment
  readonly #runs
  readonly #unfinished
  readonly #merger = new SegmentMerger()
  readonly #blocks: BlockStore

  constructor(db: Connection) {
    this.#blocks = new BlockStore(db)
    this.#segment = db.prepare<[number], Buffer>(SEGMENT).pluck()
    this.#setSegment = db.prepare<[number, Buffer]>(SET_SEGMENT)
    this.#runs = db.prepare<[], WrittenRun>(`${MERGED_RUNS} ORDER BY merged_no`)
    this.#unfinished = db.prepare<[], WrittenRun>(`${MERGED_RUNS} AND run_no = (${LAST_TARGET})`)
  }

  /** All merged runs, oldest first. */
  runs(): WrittenRun[] {
    return this.#runs.all()
  }

  /** The one that others are being merged into. */
  unfinishedRun(): WrittenRun | undefined {
    return this.#unfinished.get()
  }

  /** All cohorts, the oldest first, repaired where they are damaged. @throws DamagedData */
  cohorts(): StoredCohort[] {
    const cohorts = Map.groupBy(this.runs(), ({ cohortNo }) => cohortNo)
    return Array.from(cohorts, ([cohortNo, runs]) => {
      const segments = this.segments(cohortNo)
      return { runs, segments: [...segments, ...this.#repair(runs, segments)] }
    })
  }

  /** The segments that exist and are whole. */
  segments(cohortNo: number): NumberedSegment[] {
    const segments: NumberedSegment[] = []
    // One by one: the filters of all cohorts are most of the ledger's memory.
    for (let segmentNo = 0; segmentNo < SEGMENTS; segmentNo++) {
      const segment = ifWhole(() => this.#read(cohortNo * SEGMENTS + segmentNo))
      if (segment !== undefined) segments.push({ segmentNo, segment })
    }
    return segments
  }

  /**
   * Rebuilds missing or damaged segments of a cohort from the blocks of its runs, in memory: a
   * damaged page cannot be overwritten either.
   *
   * @throws DamagedData when these are damaged too
   */
  #repair(runs: readonly WrittenRun[], segments: readonly NumberedSegment[]): NumberedSegment[] {
    const whole = new Set(segments.map(({ segmentNo }) => segmentNo))
    const written = Math.max(...runs.map(({ segmentsWritten }) => segmentsWritten))
    const repaired: NumberedSegment[] = []
    for (let segmentNo = 0; segmentNo < written; segmentNo++) {
      if (whole.has(segmentNo)) continue
      let segment = EMPTY_SEGMENT
      for (const run of runs.filter(({ segmentsWritten }) => segmentNo < segmentsWritten)) {
        const entries = this.#blocks.read(run, segmentNo)
        segment = this.#merger.merge(segment, positionsOf(entries), run.slot)
      }
      repaired.push({ segmentNo, segment })
    }
    return repaired
  }

  /** Rebuilds a segment with the events that a run has there, packed. @throws DamagedData */
  addToSegment(run: MergedRun, segmentNo: number, entries: Buffer): NumberedSegment {
    const id = run.cohortNo * SEGMENTS + segmentNo
    const before = this.#read(id) ?? EMPTY_SEGMENT
    const segment = this.#merger.merge(before, positionsOf(entries), run.slot)
    if (before !== EMPTY_SEGMENT) giveBack(Buffer.from(before.buffer))
    this.#setSegment.run(id, Buffer.from(segment.buffer))
    return { segmentNo, segment }
  }

  #read(id: number): Segment | undefined {
    const problem = `segment ${id} of a filter in ${LEDGER_FILE} is damaged`
    const filter = orDamaged(problem, () => this.#segment.get(id))
    return filter && segmentIn(filter)
  }
}

/** A merged run, and how much of it is written. */
export interface WrittenRun extends MergedRun {
  readonly segmentsWritten: number
}

function positionsOf(entries: Buffer): Int32Array {
  const positions = new Int32Array(entries.length / EVENT_BYTES)
  for (let event = 0; event < positions.length; event++) {
    const at = event * EVENT_BYTES
    positions[event] = positionOf(entries.readUInt32LE(at), entries.readUInt32LE(at + 4))
  }
  return positions
}

/** Copies the segment to memory of its own, which is aligned. */
function segmentIn(filter: Buffer): Segment {
  const segment = new Uint32Array(filter.length / 4)
  filter.copy(Buffer.from(segment.buffer))
  giveBack(filter)
  return segment
}
