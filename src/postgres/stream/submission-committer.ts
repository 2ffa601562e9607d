// SubmissionCommitter on PostgreSQL: a group goes whole to one of the process's lanes.

import type {
  SubmissionCommitter,
  SubmissionGroup,
  SubmissionOutcome,
} from '../../ports/submissions.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { Receipt, ReceiptItem, ReceiptStatus } from '../../domain/measurement.ts'
import { Group, halvesOf } from './group.ts'
import type { Decided, ItemDraft } from './group-decider.ts'
import { SensorCache } from './group-view.ts'
import { Lane } from './lane.ts'
import type { LaneSettings } from './lane.ts'

export class PostgresSubmissionCommitter implements SubmissionCommitter {
  readonly #lanes: readonly Lane[]
  readonly #onJournalled: (measurements: number) => void

  /**
   * @param settings.lanes how many
   * @param onJournalled called with the number of new measurements, after a commit of any
   */
  constructor(
    settings: Omit<LaneSettings, 'sensors'> & { readonly lanes: number },
    onJournalled: (measurements: number) => void,
  ) {
    const ofAll = { ...settings, sensors: new SensorCache() }
    this.#lanes = Array.from({ length: settings.lanes }, () => new Lane(ofAll))
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
    const outcomes = (await commitApart(lane, group)).map(outcomeOf)
    const created = outcomes.map((one) => ('counts' in one ? one.counts.created : 0))
    const total = created.reduce((sum, count) => sum + count, 0)
    if (total > 0) this.#onJournalled(total)
    return outcomes
  }

  /** Gives up what is under way. */
  cut(): void {
    for (const lane of this.#lanes) lane.cut()
  }

  async close(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.close()))
  }
}

/** What was decided about each element of a submission, in order. */
class GroupReceipt implements Receipt {
  readonly counts: Readonly<Record<ReceiptStatus, number>>
  readonly #items: readonly ItemDraft[]

  constructor(items: readonly ItemDraft[]) {
    this.#items = items
    const counts = { created: 0, duplicate: 0, conflict: 0 }
    for (const { status } of items) counts[status]++
    this.counts = counts
  }

  get count(): number {
    return this.#items.length
  }

  at(index: number): ReceiptItem {
    const item = this.#items[index]
    if (item === undefined) throw new Error(`BUG: no item ${index}`)
    const { status, serialNumber, measuredAtMs, sensor, existing } = item
    const { id: sensorId } = sensor
    const plain = { status, sensorId, serialNumber, measuredAtMs }
    if (existing === undefined) return plain
    const { tempCelsius } = existing
    const stored = { serialNumber: sensor.serialNumber, sensorId, tempCelsius, measuredAtMs }
    return { ...plain, existing: stored }
  }
}

function outcomeOf(decided: Decided): SubmissionOutcome {
  return 'code' in decided ? decided : new GroupReceipt(decided)
}

/**
 * A bug of ours, or an error of a statement, refuses the submission that causes it. Nothing of the
 * group is stored then, so the other submissions are tried again, in halves.
 */
async function commitApart(lane: Lane, group: Group): Promise<readonly Decided[]> {
  try {
    return await lane.commit(group)
  } catch (error) {
    if (error instanceof ServiceError) throw error
    if (group.submissions === 1) {
      const cause = error instanceof Error ? error : new Error(String(error))
      return [{ code: 'internal_error', cause }]
    }
    const halves = halvesOf(group)
    const outcomes = await Promise.all(halves.map((half) => commitHalf(lane, half)))
    return outcomes.flat()
  }
}

/** The other half may be stored by now, so a failure concerns this half's submissions only. */
async function commitHalf(lane: Lane, half: Group): Promise<readonly Decided[]> {
  try {
    return await commitApart(lane, half)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { code, message: detail } = error
    return half.content.map(() => ({ code, detail }))
  }
}
