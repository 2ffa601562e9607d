// What a start finds of the sealed ledger: its runs with their filters, and a generation for the
// young ones. The filter of that is made again from what they hold, a few million events. What has
// gone from them to the run that they are being merged into belongs to it as well, where the filter
// of its cohort does not know it yet; nothing may be merged meanwhile.

import { giveBack } from '../../domain/give-back.ts'
import type { Connection } from '../database.ts'
import { BLOCKS_PER_STRETCH, BlockReader } from './block-reader.ts'
import { addEventsToFilter, copyFilter, filterBytes, filterIn, filterWords } from './key-filter.ts'
import { CohortStore } from './cohort-store.ts'
import type {
  CohortRun,
  LedgerRun,
  MergeProgress,
  RunPlan,
  StoredCohort,
  StoredRuns,
} from './ledger-run.ts'
import { blockOf } from './run-block.ts'
import { cutBelow, hasQuotientFilter } from './run-filter.ts'
import type { RunGeneration } from './run-generation.ts'

const RUNS = `
  SELECT run_no AS runNo, events, blocks, filter, filter_word AS filterWord, level
  FROM runs WHERE state = 1 AND run_no NOT IN (SELECT run_no FROM cohort_runs)
  ORDER BY run_no DESC`
const COHORT_RUNS = `
  SELECT run_no AS runNo, events, blocks, filter_word AS filterWord, cohort_no AS cohortNo, slot
  FROM cohort_runs JOIN runs USING (run_no) ORDER BY cohort_no DESC, slot`

interface RunRow extends Omit<LedgerRun, 'filter'> {
  readonly filter: Buffer
  readonly level: number
}

/** Those that are sealed later have generations with higher numbers. */
const GENERATION_NO = 0

/** @param merging merges that were stopped on their way */
export function readStoredRuns(db: Connection, merging: readonly MergeProgress[]): StoredRuns {
  const young: LedgerRun[] = []
  const old: LedgerRun[] = []
  // One by one: the filters of all are most of what the ledger takes.
  for (const { level, ...row } of db.prepare<[], RunRow>(RUNS).iterate()) {
    const runs = level === 0 ? young : old
    const merge = merging.find(({ sourceNos }) => sourceNos.includes(row.runNo))
    runs.push(toRun(row, merge?.belowWord ?? 0))
  }
  const generation = readGeneration(db, young, merging)
  return { young, generation, cohorts: readCohorts(db), old, merging }
}

function readCohorts(db: Connection): StoredCohort[] {
  const store = new CohortStore(db)
  const rows = db.prepare<[], CohortRun>(COHORT_RUNS).all()
  return [...new Set(rows.map(({ cohortNo }) => cohortNo))].map((cohortNo) => ({
    cohortNo,
    runs: rows.filter((run) => run.cohortNo === cohortNo),
    segments: store.segments(cohortNo),
  }))
}

/** @param belowWord keys with a lower first word are not asked for in the run */
function toRun({ filter, ...row }: Omit<RunRow, 'level'>, belowWord: number): LedgerRun {
  const words = new Uint32Array(filter.buffer, filter.byteOffset, filter.byteLength / 4)
  const stored = { ...row, filter: words, firstLine: 0 }
  const run = hasQuotientFilter(row)
    ? cutBelow(stored, belowWord)
    : { ...stored, filter: copyFilter(words) }
  // Else all filters would be in memory twice until the collector comes.
  giveBack(filter)
  return run
}

function readGeneration(
  db: Connection,
  young: readonly RunPlan[],
  merging: readonly MergeProgress[],
): RunGeneration {
  const merge = merging.find(({ run }) => 'slot' in run)
  const shareLeft = 1 - (merge?.belowWord ?? 0) / 2 ** 32
  const eventsLeft = young.reduce((sum, { runNo, events }) => {
    const isMerging = merge?.sourceNos.includes(runNo) === true
    return sum + Math.ceil(events * (isMerging ? shareLeft : 1))
  }, 0)
  const filter = filterIn(new SharedArrayBuffer(filterBytes(Math.max(16, filterWords(eventsLeft)))))
  const reader = new BlockReader(db)
  const add = ({ runNo, blocks }: RunPlan, firstBlock: number) => {
    for (let from = firstBlock; from < blocks; from += BLOCKS_PER_STRETCH) {
      const entries = reader.read(runNo, from, from + BLOCKS_PER_STRETCH)
      addEventsToFilter(filter, entries)
      giveBack(entries)
    }
  }
  for (const run of young) add(run, 0)
  if (merge !== undefined) add(merge.run, blockOf(merge.belowWord, merge.run.blocks))
  return { no: GENERATION_NO, filter }
}
