// SensorDeletionJobs on SQLite: read by the forwarder, written by the commit thread.

import type { SensorDeletion, SensorDeletionJobs } from '../../ports/store-upkeep.ts'
import type { SensorDeletionRows } from './sensor-deletion-rows.ts'

export interface DeletionPass {
  readonly sensorId: number
  /** When it is due again; `undefined`: never. */
  readonly dueAtMs: number | undefined
}

interface Collaborators {
  readonly rows: SensorDeletionRows
  /** Journal rows up to this one are in the store for good. */
  readonly settledSeq: () => number
  /** Notifies the main thread. */
  readonly tell: (news: { readonly deletionPass: DeletionPass }) => void
}

export class SqliteSensorDeletionJobs implements SensorDeletionJobs {
  readonly #with: Collaborators

  constructor(collaborators: Collaborators) {
    this.#with = collaborators
  }

  async due(nowMs: number): Promise<readonly SensorDeletion[]> {
    return this.#with.rows.due(this.#with.settledSeq(), nowMs)
  }

  async notePass({ sensorId }: SensorDeletion, dueAtMs: number | undefined): Promise<void> {
    this.#with.tell({ deletionPass: { sensorId, dueAtMs } })
  }
}
