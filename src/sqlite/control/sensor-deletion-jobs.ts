// SensorDeletionJobs on SQLite: read by the forwarder, written by the commit thread.

import { listDueDeletions } from '../../control/sensor-deletions.ts'
import type { SensorDeletion, SensorDeletionJobs } from '../../ports/store-upkeep.ts'
import type { Connection } from '../database.ts'
import { FlowRunner } from '../run-flow.ts'

export interface DeletionPass {
  readonly sensorId: number
  /** When it is due again; `undefined`: never. */
  readonly dueAtMs: number | undefined
}

interface Collaborators {
  readonly control: Connection
  /** Journal rows up to this one are in the store for good. */
  readonly settledSeq: () => number
  /** Notifies the main thread. */
  readonly tell: (news: { readonly deletionPass: DeletionPass }) => void
}

const IS_FORWARDED = 'after_seq <= $2 ORDER BY sensor_id'

export function createDeletionJobs(of: Collaborators): SensorDeletionJobs {
  const flows = new FlowRunner(of.control)
  return {
    due: async (nowMs) => flows.run(listDueDeletions(IS_FORWARDED, nowMs, of.settledSeq())),
    notePass: async ({ sensorId }: SensorDeletion, dueAtMs) =>
      of.tell({ deletionPass: { sensorId, dueAtMs } }),
  }
}
