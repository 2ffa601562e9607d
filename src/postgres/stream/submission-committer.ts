// SubmissionCommitter on PostgreSQL: a group goes whole to one of the process's lanes.

import type {
  SubmissionCommitter,
  SubmissionGroup,
  SubmissionOutcome,
} from '../../ports/submissions.ts'
import { Group } from './group.ts'
import type { Decided } from './group-decider.ts'
import { GroupReceipt } from './group-receipt.ts'
import { Lane } from './lane.ts'
import type { LaneSettings } from './lane.ts'
import { SensorCache } from './sensor-cache.ts'

export class PostgresSubmissionCommitter implements SubmissionCommitter {
  readonly #lanes: readonly Lane[]
  readonly #onJournalled: (measurements: number) => void

  /** @param onJournalled told of new journal rows, with how many measurements they have */
  constructor(
    settings: Omit<LaneSettings, 'sensors'> & { readonly lanes: number },
    onJournalled: (measurements: number) => void,
  ) {
    const sensors = new SensorCache()
    this.#lanes = Array.from({ length: settings.lanes }, () => new Lane({ ...settings, sensors }))
    this.#onJournalled = onJournalled
  }

  beginGroup(): Group {
    return new Group()
  }

  async commit(group: SubmissionGroup): Promise<readonly SubmissionOutcome[]> {
    if (!(group instanceof Group)) throw new Error('BUG: a group of another journal')
    const [first, ...others] = this.#lanes
    if (first === undefined) throw new Error('BUG: there is no lane')
    const lane = others.reduce((best, one) => (one.waiting < best.waiting ? one : best), first)
    const outcomes = (await lane.commit(group)).map(outcomeOf)
    const created = outcomes.map((one) => ('counts' in one ? one.counts.created : 0))
    const total = created.reduce((sum, count) => sum + count, 0)
    if (total > 0) this.#onJournalled(total)
    return outcomes
  }

  async close(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.close()))
  }
}

function outcomeOf(decided: Decided): SubmissionOutcome {
  return 'code' in decided ? decided : new GroupReceipt(decided)
}
