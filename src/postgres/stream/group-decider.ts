// Decides a group's submissions in the order of their arrival, by the rules of
// domain/acceptance.ts. A rejected submission has no effect on the next one. Pure: whatever the
// database knows of events, sensors and times was looked up before.

import { isSameContent, SubmissionFaults, USER_GONE } from '../../domain/acceptance.ts'
import type { AcceptanceRules } from '../../domain/acceptance.ts'
import { isCovered } from '../../domain/time-spans.ts'
import type { ReceiptItem } from '../../domain/measurement.ts'
import type { RejectedSubmission } from '../../ports/submissions.ts'
import type { GroupedSubmission, GroupElement, NamedSensor } from './group.ts'

/** A registered sensor, or one without an id that the group registers. */
export interface KnownSensor {
  /** 0 until it is registered. */
  id: number
  readonly serialNumber: string
  readonly serialNumberKey: string
}

export interface NewSensor extends KnownSensor, NamedSensor {
  readonly createdAtMs: number
}

/** An event that is stored already, or will be with this group. */
export interface KnownEvent {
  readonly sensor: KnownSensor
  readonly measuredAtMs: number
  readonly tempCelsius: number
}

export interface NewEvent extends KnownEvent {
  readonly eventKey: string | undefined
  readonly userId: number
  readonly tieBreakNs: number
  readonly receivedAtMs: number
}

/** What the database knows, under the locks of the transaction. */
export interface GroupKnowledge {
  /** The user's live sensor of that name. */
  findSensor(named: NamedSensor): KnownSensor | undefined
  /** Whether a user whose sensors are to be registered was deleted. */
  isGone(userId: number): boolean
  /** How many live sensors a user has. */
  sensorCount(userId: number): number
  findEvent(eventKey: string): KnownEvent | undefined
  /** Where the measurements of a sensor lie. */
  spansOf(sensor: KnownSensor): ArrayLike<number>
  /** The next free tie-break, if the time lies within these spans. */
  nextTieBreak(sensor: KnownSensor, atMs: number): number
}

/** The outcome of a submission before its transaction: items, or why nothing is stored. */
export type Decided = readonly ItemDraft[] | RejectedSubmission

/** An item; a new sensor gets its id later. */
export interface ItemDraft extends Pick<ReceiptItem, 'status' | 'measuredAtMs' | 'serialNumber'> {
  readonly sensor: KnownSensor
  /** Only for a conflict. */
  readonly existing?: KnownEvent
}

/** The next free tie-break of a sensor's millisecond. */
export interface TieBreak {
  readonly sensor: KnownSensor
  readonly atMs: number
  readonly next: number
}

/** What a submission adds to the group unless it is rejected. */
class Additions {
  readonly events: NewEvent[] = []
  readonly byKey = new Map<string, NewEvent>()
  readonly sensors = new Map<string, NewSensor>()
  /** The next free ones, by sensor and time. */
  readonly tieBreaks = new Map<KnownSensor, Map<number, number>>()

  noteTieBreak(sensor: KnownSensor, atMs: number, next: number): void {
    const ofSensor = this.tieBreaks.get(sensor)
    if (ofSensor === undefined) this.tieBreaks.set(sensor, new Map([[atMs, next]]))
    else ofSensor.set(atMs, next)
  }

  addAll({ events, byKey, sensors, tieBreaks }: Additions): void {
    this.events.push(...events)
    for (const [key, event] of byKey) this.byKey.set(key, event)
    for (const [key, sensor] of sensors) this.sensors.set(key, sensor)
    for (const [sensor, times] of tieBreaks) {
      if (!this.tieBreaks.has(sensor)) this.tieBreaks.set(sensor, times)
      else for (const [atMs, next] of times) this.noteTieBreak(sensor, atMs, next)
    }
  }
}

export class GroupDecider {
  readonly #knows: GroupKnowledge
  readonly #rules: AcceptanceRules
  readonly #group = new Additions()
  /** How many sensors the group registers, by user. */
  readonly #registered = new Map<number, number>()
  #own = new Additions()

  constructor(knowledge: GroupKnowledge, rules: AcceptanceRules) {
    this.#knows = knowledge
    this.#rules = rules
  }

  get events(): readonly NewEvent[] {
    return this.#group.events
  }

  get newSensors(): readonly NewSensor[] {
    return [...this.#group.sensors.values()]
  }

  /** For times with several measurements, and times within a sensor's spans. */
  get tieBreaks(): readonly TieBreak[] {
    const kept: TieBreak[] = []
    for (const [sensor, times] of this.#group.tieBreaks) {
      const spans = this.#knows.spansOf(sensor)
      for (const [atMs, next] of times) {
        if (next > 1 || isCovered(spans, atMs)) kept.push({ sensor, atMs, next })
      }
    }
    return kept
  }

  decide(submission: GroupedSubmission): Decided {
    if (this.#knows.isGone(submission.userId)) return USER_GONE
    this.#own = new Additions()
    const faults = new SubmissionFaults(this.#rules)
    const items = submission.elements.map((element, index) =>
      this.#decideElement(submission, element, { index, faults }),
    )
    const rejection = faults.rejection(submission.isOnlyChecked)
    if (rejection !== undefined) return rejection
    this.#group.addAll(this.#own)
    const { userId } = submission
    this.#registered.set(userId, (this.#registered.get(userId) ?? 0) + this.#own.sensors.size)
    return items.filter((item) => item !== undefined)
  }

  /** @returns `undefined` if it has a fault */
  #decideElement(
    submission: GroupedSubmission,
    element: GroupElement,
    { index, faults }: { readonly index: number; readonly faults: SubmissionFaults },
  ): ItemDraft | undefined {
    const { eventKey } = element
    const { receivedAtMs } = submission
    const known = eventKey === undefined ? undefined : this.#findEvent(eventKey)
    if (known !== undefined) return this.#answerKnown(element, known)
    const isTimed = !Number.isNaN(element.measuredAtMs)
    const measuredAtMs = isTimed ? element.measuredAtMs : receivedAtMs
    const isTimely = faults.checkTime(index, measuredAtMs, receivedAtMs)
    const sensor =
      this.#findSensor(element.sensor) ??
      this.#register(submission, element.sensor, { index, faults })
    if (sensor === undefined || !isTimely) return undefined
    const tieBreakNs = this.#nextTieBreak(sensor, measuredAtMs)
    if (!faults.checkTieBreak(index, tieBreakNs)) return undefined
    this.#add(submission, element, { sensor, measuredAtMs, tieBreakNs })
    return { status: 'created', sensor, serialNumber: sensor.serialNumber, measuredAtMs }
  }

  #add(
    { userId, receivedAtMs }: GroupedSubmission,
    { eventKey, tempCelsius }: GroupElement,
    at: Pick<NewEvent, 'sensor' | 'measuredAtMs' | 'tieBreakNs'>,
  ): void {
    const { sensor, measuredAtMs, tieBreakNs } = at
    const place = { sensor, measuredAtMs, tieBreakNs, userId }
    const event = { ...place, eventKey, tempCelsius, receivedAtMs }
    this.#own.events.push(event)
    if (eventKey !== undefined) this.#own.byKey.set(eventKey, event)
    this.#own.noteTieBreak(sensor, measuredAtMs, tieBreakNs + 1)
  }

  #findEvent(eventKey: string): KnownEvent | undefined {
    const added = this.#own.byKey.get(eventKey) ?? this.#group.byKey.get(eventKey)
    return added ?? this.#knows.findEvent(eventKey)
  }

  #answerKnown(element: GroupElement, known: KnownEvent): ItemDraft {
    const { sensor, measuredAtMs } = known
    const { serialNumber } = sensor
    // A deleted sensor's events stay known, also when its serial number is registered again.
    const isSameSensor = sensor.serialNumberKey === element.sensor.serialNumberKey
    const isSame = isSameSensor && isSameContent(known, element)
    if (isSame) return { status: 'duplicate', sensor, serialNumber, measuredAtMs }
    const named = this.#findSensor(element.sensor) ?? element.sensor
    const item = { status: 'conflict', sensor, measuredAtMs, existing: known } as const
    return { ...item, serialNumber: named.serialNumber }
  }

  #findSensor(named: NamedSensor): KnownSensor | undefined {
    const { key } = named
    const added = this.#own.sensors.get(key) ?? this.#group.sensors.get(key)
    return added ?? this.#knows.findSensor(named)
  }

  #register(
    { userId, receivedAtMs }: GroupedSubmission,
    named: NamedSensor,
    { index, faults }: { readonly index: number; readonly faults: SubmissionFaults },
  ): NewSensor | undefined {
    const added = (this.#registered.get(userId) ?? 0) + this.#own.sensors.size
    const count = this.#knows.sensorCount(userId) + added
    if (!faults.checkRegistration(index, named.serialNumber, count)) return undefined
    const sensor = { ...named, id: 0, createdAtMs: receivedAtMs }
    this.#own.sensors.set(named.key, sensor)
    return sensor
  }

  #nextTieBreak(sensor: KnownSensor, atMs: number): number {
    const own = this.#own.tieBreaks.get(sensor)?.get(atMs)
    const given = own ?? this.#group.tieBreaks.get(sensor)?.get(atMs)
    if (given !== undefined) return given
    return isCovered(this.#knows.spansOf(sensor), atMs) ? this.#knows.nextTieBreak(sensor, atMs) : 0
  }
}
