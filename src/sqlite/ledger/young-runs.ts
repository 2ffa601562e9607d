// The generation of the young runs that a start finds: its filter is made again from what they
// hold, a few million events. Nothing may be merged meanwhile, and what is being merged is left
// out: an event that has gone to another run would be missing, and be taken for a new one.

import type { Connection } from '../database.ts'
import { addEventsToFilter, filterWords } from './key-filter.ts'
import type { RunPlan, YoungRuns } from './ledger-run.ts'
import { RUN_STRIDE } from './run-block.ts'

const YOUNG = `
  SELECT run_no AS runNo, events, blocks FROM runs
  WHERE state = 1 AND level = 0 AND run_no NOT IN (SELECT source_no FROM merges)`
const BLOCKS = 'SELECT entries FROM blocks WHERE id >= ? AND id < ?'

/** Those that are sealed later have generations with higher numbers. */
const GENERATION_NO = 0

export function readYoungRuns(db: Connection): YoungRuns {
  const runs = db.prepare<[], RunPlan>(YOUNG).all()
  const events = runs.reduce((sum, run) => sum + run.events, 0)
  const memory = new SharedArrayBuffer(Math.max(1, filterWords(events)) * 4)
  const filter = new Uint32Array(memory)
  const blocks = db.prepare<[number, number], Buffer>(BLOCKS).pluck()
  for (const { runNo } of runs) {
    for (const entries of blocks.iterate(runNo * RUN_STRIDE, (runNo + 1) * RUN_STRIDE)) {
      addEventsToFilter(filter, entries)
    }
  }
  return { generation: { no: GENERATION_NO, filter }, runNos: runs.map(({ runNo }) => runNo) }
}
