// The transaction of a group. If all its sensors are known and all its events new, it takes two
// round trips: locks and events in the first, the rest and the COMMIT in the second. Otherwise it
// looks up what is known first. Either way it commits only if it inserted every event that it
// answers `created`.

import { randomUUID } from 'node:crypto'
import { judgeTime } from '../../domain/acceptance.ts'
import type { AcceptanceRules } from '../../domain/acceptance.ts'
import type { Group } from './group.ts'
import { GroupDecider } from './group-decider.ts'
import type { Decided, NewEvent, NewSensor } from './group-decider.ts'
import { GroupView } from './group-view.ts'
import type { SensorCache } from './group-view.ts'
import * as writes from './group-writes.ts'
import type { LedgerRow } from './group-writes.ts'
import * as sql from './lane-statements.ts'
import { CommitCheck, CommitUnknown } from './session.ts'
import type { CheckSettings, Session } from './session.ts'

/** A stream that a lane holds; every new owner raises the fence. */
export interface HeldStream {
  readonly stream: number
  readonly fence: number
}

/** Another process has taken the stream. */
export class Fenced extends Error {}

/** A group that was, or may have been, committed: which row to look for, and what to answer. */
export interface Attempt {
  readonly stream: number
  readonly seq: number
  /** Random, for this attempt only: after a restore, seq and fence repeat. */
  readonly groupId: string
  readonly decided: readonly Decided[]
}

/** The COMMIT was sent; its outcome is unknown. */
export class OutcomeUnknown extends Error {
  readonly attempt: Attempt

  constructor(attempt: Attempt, cause: unknown) {
    super('the outcome of a commit is not known', { cause })
    this.attempt = attempt
  }
}

export interface TransactionSettings extends CheckSettings {
  readonly rules: AcceptanceRules
  readonly sensors: SensorCache
}

export class GroupTransaction {
  readonly #session: Session
  readonly #held: HeldStream
  readonly #group: Group
  readonly #with: TransactionSettings
  readonly #view: GroupView
  readonly #check: CommitCheck

  constructor(session: Session, held: HeldStream, group: Group, settings: TransactionSettings) {
    this.#session = session
    this.#held = held
    this.#group = group
    this.#with = settings
    this.#view = new GroupView(session, group, settings.sensors)
    this.#check = new CommitCheck(session, settings)
  }

  /**
   * @param isCareful look up what is known first: an earlier attempt found some events known
   * @returns what was decided, once it is durable; `undefined`: nothing is stored, try carefully
   * @throws Fenced, ServiceError, pg.DatabaseError, ConnectionLost: nothing is stored
   * @throws OutcomeUnknown
   */
  async run(isCareful: boolean): Promise<readonly Decided[] | undefined> {
    if (!isCareful) await this.#view.findSensors()
    const isPlain = !isCareful && this.#isPlain()
    try {
      return isPlain ? await this.#runPlain() : await this.#runCarefully()
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) this.#rollBack()
      throw error
    }
  }

  /** Whether all of it can be inserted at once, provided that its events are new. */
  #isPlain(): boolean {
    const { futureMsMax, measuredAtMsMin } = this.#with.rules
    return this.#group.content.every(({ receivedAtMs, isOnlyChecked, elements }) => {
      if (isOnlyChecked) return false
      const latestMs = receivedAtMs + futureMsMax
      return elements.every(({ sensor, measuredAtMs }) => {
        const atMs = Number.isNaN(measuredAtMs) ? receivedAtMs : measuredAtMs
        const isTimely = judgeTime(atMs, measuredAtMsMin, latestMs) === undefined
        return isTimely && this.#view.findSensor(sensor) !== undefined
      })
    })
  }

  async #runPlain(): Promise<readonly Decided[] | undefined> {
    const [head, hasAllSensors, isAllNew] = await Promise.all([
      this.#holdStream(),
      this.#view.lockSensors(),
      writes.insertEvents(this.#session, this.#namedEvents()),
    ])
    if (!hasAllSensors || !isAllNew) return this.#rollBack()
    await this.#view.findTieBreaks()
    const decider = new GroupDecider(this.#view, this.#with.rules)
    const decided = this.#group.content.map((submission) => decider.decide(submission))
    // Refused after all: too many measurements of one millisecond.
    if (decided.some((one) => 'code' in one)) return this.#rollBack()
    return this.#commit(head + 1, decider, decided)
  }

  async #runCarefully(): Promise<readonly Decided[] | undefined> {
    const [head] = await Promise.all([this.#holdStream(), this.#view.findSensors()])
    if (this.#view.unknownSensors.length > 0) {
      await Promise.all([this.#view.lockUsers(), this.#view.findSensors()])
    }
    const [hasAllSensors] = await Promise.all([this.#view.lockSensors(), this.#view.findKnown()])
    if (!hasAllSensors) return this.#rollBack()
    await this.#view.findTieBreaks()
    const decider = new GroupDecider(this.#view, this.#with.rules)
    const decided = this.#group.content.map((submission) => decider.decide(submission))
    await this.#registerSensors(decider.newSensors)
    const named = decider.events.filter((event): event is NewEvent & { eventKey: string } => {
      return event.eventKey !== undefined
    })
    const isAllNew = await writes.insertEvents(this.#session, named)
    if (!isAllNew) return this.#rollBack()
    return this.#commit(head + 1, decider, decided)
  }

  async #registerSensors(sensors: readonly NewSensor[]): Promise<void> {
    if (sensors.length === 0) return
    const order = [sensors.length]
    const { rows } = await this.#session.send<{ id: number }>(sql.TAKE_SENSOR_IDS, order)
    sensors.forEach((sensor, at) => (sensor.id = rows[at]?.id ?? 0))
    await writes.registerSensors(this.#session, sensors)
  }

  /** Locks the stream until the transaction ends. @returns its head */
  async #holdStream(): Promise<number> {
    const { stream, fence } = this.#held
    const begun = this.#check.begin()
    const holding = this.#session.send<{ head: number }>(sql.HOLD_STREAM, [stream, fence])
    const [, { rows }] = await Promise.all([begun, holding, this.#view.readForwarded()])
    const [row] = rows
    if (row === undefined) throw new Fenced(`stream ${stream} has another owner`)
    return row.head
  }

  /** The rows for the ledger, of repeated event ids the first, with the stored sensor and time. */
  #namedEvents(): LedgerRow[] {
    const rows = new Map<string, LedgerRow>()
    for (const { userId, receivedAtMs, elements } of this.#group.content) {
      for (const { eventKey, sensor: named, tempCelsius, measuredAtMs } of elements) {
        if (eventKey === undefined || rows.has(eventKey)) continue
        const sensor = this.#view.findSensor(named)
        if (sensor === undefined) throw new Error('BUG: a sensor that nobody has looked up')
        const atMs = Number.isNaN(measuredAtMs) ? receivedAtMs : measuredAtMs
        rows.set(eventKey, { eventKey, userId, sensor, measuredAtMs: atMs, tempCelsius })
      }
    }
    return [...rows.values()]
  }

  async #commit(
    seq: number,
    { events, newSensors, tieBreaks }: GroupDecider,
    decided: readonly Decided[],
  ): Promise<readonly Decided[]> {
    const session = this.#session
    const place = { stream: this.#held.stream, seq }
    const attempt = { ...place, groupId: randomUUID(), decided }
    if (events.length > 0) {
      await this.#commitAs(attempt, [
        writes.keepHistoryRevisions(session, events, this.#view),
        writes.updateSensors(session, events, { view: this.#view, place }, this.#with.rules),
        writes.noteTieBreaks(session, tieBreaks),
        writes.countDays(session, events),
        writes.insertRow(session, place, attempt.groupId, events),
        session.send(sql.ADVANCE_STREAM, [place.stream, seq]),
      ])
    } else if (this.#with.durability === 'replicated') {
      // What a duplicate repeats must be on the standby too: this commit waits for that.
      const advanced = session.send(sql.ADVANCE_STREAM, [place.stream, seq - 1])
      await this.#commitAs(attempt, [advanced])
    } else this.#rollBack()
    for (const sensor of newSensors) this.#with.sensors.add(sensor.key, sensor)
    return decided
  }

  async #commitAs(attempt: Attempt, sent: readonly Promise<unknown>[]): Promise<void> {
    try {
      await this.#check.commit(sent)
    } catch (error) {
      throw error instanceof CommitUnknown ? new OutcomeUnknown(attempt, error) : error
    }
  }

  #rollBack(): undefined {
    void this.#session.send('ROLLBACK')
  }
}
