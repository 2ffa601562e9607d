// The generation of the young runs that a start finds: its filter is made again from what they
// hold, a few million events. What has gone from them to the run that they are being merged into
// belongs to it as well; nothing may be merged meanwhile.

import type { Connection } from '../database.ts'
import { addEventsToFilter, filterBytes, filterIn, filterWords } from './key-filter.ts'
import type { RunPlan, YoungRuns } from './ledger-run.ts'
import { RUN_STRIDE } from './run-block.ts'

const YOUNG = 'SELECT run_no AS runNo, events, blocks FROM runs WHERE state = 1 AND level = 0'
const MERGED_FROM_YOUNG = `
  SELECT run_no FROM merge_progress JOIN runs ON run_no = target_no WHERE level = 1`
const BLOCKS = 'SELECT entries FROM blocks WHERE id >= ? AND id < ?'

/** Those that are sealed later have generations with higher numbers. */
const GENERATION_NO = 0

export function readYoungRuns(db: Connection): YoungRuns {
  const runs = db.prepare<[], RunPlan>(YOUNG).all()
  const events = runs.reduce((sum, run) => sum + run.events, 0)
  const filter = filterIn(new SharedArrayBuffer(filterBytes(Math.max(16, filterWords(events)))))
  const blocks = db.prepare<[number, number], Buffer>(BLOCKS).pluck()
  const runNos = runs.map(({ runNo }) => runNo)
  const mergedNos = db.prepare<[], number>(MERGED_FROM_YOUNG).pluck().all()
  for (const runNo of [...runNos, ...mergedNos]) {
    for (const entries of blocks.iterate(runNo * RUN_STRIDE, (runNo + 1) * RUN_STRIDE)) {
      addEventsToFilter(filter, entries)
    }
  }
  return { generation: { no: GENERATION_NO, filter }, runNos }
}
