// Decides a group of submissions against the ledger, in memory, one after the other in the order
// in which they came, by the rules of domain/acceptance.ts. A submission that is rejected is taken
// back whole, so that the next one sees a ledger without it. Nothing is durable until the group's
// transaction is through (group-transaction.ts); if that fails, the whole group is taken back.

import { isSameContent, SubmissionFaults, USER_GONE } from '../../domain/acceptance.ts'
import type { AcceptanceRules } from '../../domain/acceptance.ts'
import { serialNumberKey } from '../../domain/sensor.ts'
import type { DirectoryEntry, SensorDirectory } from './sensor-directory.ts'
import { DamagedData, isDamage } from '../database.ts'
import { KEY_WORDS } from '../event-key.ts'
import { LookUpLate } from '../ledger/event-look-up.ts'
import type { StoredEvent } from '../ledger/hot-ledger.ts'
import type { Ledger } from '../ledger/ledger.ts'
import {
  groupColumnsOver,
  SEALED_DAMAGED,
  SEALED_LATE,
  STATUS_CONFLICT,
  STATUS_CREATED,
  STATUS_DUPLICATE,
} from './group-frame.ts'
import type { GroupColumns, GroupConflict, GroupFrame, GroupRejection } from './group-frame.ts'

/** Elements whose places in memory are asked for at once; the processor's cache holds them all. */
const FETCHED_TOGETHER = 1_024

/** A group's outcome before its transaction, but for what is in its columns. */
export interface GroupDecision {
  /** The spelling of each serial number under which its sensor is known. */
  readonly keptSerialNumbers: string[]
  readonly rejections: GroupRejection[]
  readonly conflicts: GroupConflict[]
  /** By sensor, when the last new measurement of it was received. */
  readonly lastSeenAtMs: Map<number, number>
}

interface Group extends GroupColumns {
  readonly serialNumbers: readonly string[]
  readonly aliases: ReadonlyMap<number, string>
  readonly damage: string
  /** By place of the serial number: the sensor that its submission means by it, once looked up. */
  readonly sensors: (DirectoryEntry | undefined)[]
}

/** A submission, and from where to where its elements are. */
interface ElementsOf {
  readonly submission: number
  readonly start: number
  readonly end: number
}

export class GroupDecider {
  readonly #ledger: Ledger
  readonly #sensors: SensorDirectory
  readonly #rules: AcceptanceRules

  constructor(ledger: Ledger, sensors: SensorDirectory, rules: AcceptanceRules) {
    this.#ledger = ledger
    this.#sensors = sensors
    this.#rules = rules
  }

  /**
   * @param frame looked up in the sealed ledger, see `lookUpGroup`; the caller has made sure that
   *   the current epoch has room for all of its elements
   */
  decide(frame: GroupFrame): GroupDecision {
    const { serialNumbers, aliases, damage = '' } = frame
    const columns = groupColumnsOver(frame.buffer)
    const decision: GroupDecision = {
      keptSerialNumbers: [...serialNumbers],
      rejections: [],
      conflicts: [],
      lastSeenAtMs: new Map(),
    }
    this.#ledger.sealedTimes.inOneView(() => {
      const group: Group = { ...columns, serialNumbers, aliases, damage, sensors: [] }
      let start = 0
      let fetched = 0
      for (let submission = 0; submission < frame.submissionCount; submission++) {
        const end = group.elementsEnd[submission] ?? 0
        if (end > fetched) {
          fetched = Math.min(Math.max(end, start + FETCHED_TOGETHER), frame.elementCount)
          this.#ledger.hot.fetch(group.keys, start * KEY_WORDS, fetched * KEY_WORDS)
        }
        this.#decideSubmission(group, decision, { submission, start, end })
        start = end
      }
    })
    return decision
  }

  #decideSubmission(group: Group, decision: GroupDecision, at: ElementsOf): void {
    const eventsBefore = this.#ledger.hot.current.count
    const sensorsBefore = this.#sensors.pending.length
    const conflictsBefore = decision.conflicts.length
    const rejection = this.#rejectionOf(group, decision, at)
    if (rejection === undefined) {
      this.#noteLastSeen(group, decision, at)
      return
    }
    this.#ledger.hot.current.truncate(eventsBefore)
    this.#sensors.truncatePending(sensorsBefore)
    decision.conflicts.length = conflictsBefore
    decision.rejections.push(rejection)
  }

  /**
   * Decides each element. An error of ours, or of what had to be read, is this submission's alone:
   * nothing is written yet, and the others of its group have nothing to do with it.
   */
  #rejectionOf(group: Group, decision: GroupDecision, at: ElementsOf): GroupRejection | undefined {
    if (this.#sensors.isClosed(group.userId[at.submission] ?? 0)) {
      return { submission: at.submission, ...USER_GONE }
    }
    const faults = new SubmissionFaults(this.#rules)
    try {
      for (let element = at.start; element < at.end; element++) {
        this.#decideElement(group, decision, { ...at, element }, faults)
      }
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error))
      return { submission: at.submission, code: rejectionCodeOf(error), cause }
    }
    const rejection = faults.rejection(group.isOnlyChecked[at.submission] === 1)
    return rejection && { submission: at.submission, ...rejection }
  }

  #noteLastSeen(group: Group, decision: GroupDecision, at: ElementsOf): void {
    const receivedAtMs = group.receivedAtMs[at.submission] ?? 0
    let previousId = 0
    for (let element = at.start; element < at.end; element++) {
      const sensorId = group.sensorId[element] ?? 0
      if (group.status[element] !== STATUS_CREATED || sensorId === previousId) continue
      decision.lastSeenAtMs.set(sensorId, receivedAtMs)
      previousId = sensorId
    }
  }

  #decideElement(
    group: Group,
    decision: GroupDecision,
    at: { submission: number; start: number; element: number },
    faults: SubmissionFaults,
  ): void {
    const { element } = at
    const keyAt = element * KEY_WORDS
    const known = this.#find(group, element)
    if (known !== undefined) {
      this.#answerKnown(group, decision, at, known)
      return
    }
    const submittedAtMs = group.measuredAtMs[element] ?? NaN
    const receivedAtMs = group.receivedAtMs[at.submission] ?? 0
    const measuredAtMs = Number.isNaN(submittedAtMs) ? receivedAtMs : submittedAtMs
    const index = element - at.start
    const isTimely = faults.checkTime(index, measuredAtMs, receivedAtMs)
    const userId = group.userId[at.submission] ?? 0
    const sensor =
      this.#sensorOf(group, userId, element) ??
      this.#register(group, { userId, receivedAtMs, element, index, faults })
    if (sensor === undefined || !isTimely) return
    const tieBreakNs =
      this.#ledger.hot.nextTieBreak(sensor.id, measuredAtMs) ??
      this.#ledger.sealedTimes.nextTieBreak(sensor.id, measuredAtMs)
    if (!faults.checkTieBreak(index, tieBreakNs)) return
    const tempCelsius = group.tempCelsius[element] ?? 0
    const hasEventId = group.hasEventId[element] ?? 0
    const event = { userId, sensorId: sensor.id, measuredAtMs, tieBreakNs, tempCelsius, hasEventId }
    this.#ledger.hot.current.add(event, group.keys, keyAt)
    decision.keptSerialNumbers[group.serialNumberAt[element] ?? 0] = sensor.serialNumber
    group.status[element] = STATUS_CREATED
    group.sensorId[element] = sensor.id
    group.measuredAtMs[element] = measuredAtMs
  }

  #find(group: Group, element: number): StoredEvent | undefined {
    const keyAt = element * KEY_WORDS
    if (group.hasEventId[element] === 0) return undefined
    return this.#ledger.hot.find(group.keys, keyAt) ?? sealedEventOf(group, element)
  }

  #answerKnown(
    group: Group,
    decision: GroupDecision,
    { submission, element }: { submission: number; element: number },
    known: StoredEvent,
  ): void {
    const place = group.serialNumberAt[element] ?? 0
    const submitted = group.serialNumbers[place] ?? ''
    const measuredAtMs = group.measuredAtMs[element] ?? NaN
    const live = this.#sensorOf(group, group.userId[submission] ?? 0, element)
    const sensor = live?.id === known.sensorId ? live : this.#sensors.byId(known.sensorId)
    const tempCelsius = group.tempCelsius[element] ?? 0
    const isSame =
      isSameContent(known, { tempCelsius, measuredAtMs }) &&
      (sensor === live || sensor?.serialNumberKey === serialNumberKey(submitted))
    group.status[element] = isSame ? STATUS_DUPLICATE : STATUS_CONFLICT
    group.sensorId[element] = known.sensorId
    group.measuredAtMs[element] = known.measuredAtMs
    const serialNumber = sensor?.serialNumber ?? submitted
    if (isSame) {
      decision.keptSerialNumbers[place] = serialNumber
      return
    }
    const { sensorId } = known
    const existing = { sensorId, tempCelsius: known.tempCelsius, measuredAtMs: known.measuredAtMs }
    decision.conflicts.push({ element, serialNumber, ...existing })
  }

  /** The sensor that the element is of, `undefined` when there is none yet. */
  #sensorOf(group: Group, userId: number, element: number): DirectoryEntry | undefined {
    const place = group.serialNumberAt[element] ?? 0
    const known = group.sensors[place]
    if (known !== undefined) return known
    const sensor = this.#sensors.find(userId, group.serialNumbers[place] ?? '')
    group.sensors[place] = sensor
    return sensor
  }

  #register(
    group: Group,
    at: {
      userId: number
      receivedAtMs: number
      element: number
      index: number
      faults: SubmissionFaults
    },
  ): DirectoryEntry | undefined {
    const { userId, receivedAtMs } = at
    const place = group.serialNumberAt[at.element] ?? 0
    const serialNumber = group.serialNumbers[place] ?? ''
    const count = this.#sensors.count(userId)
    if (!at.faults.checkRegistration(at.index, serialNumber, count)) return undefined
    const alias = group.aliases.get(place) ?? serialNumber
    return this.#sensors.addPending(userId, serialNumber, { alias, createdAtMs: receivedAtMs })
  }
}

/**
 * The sealed event with the key of an element.
 *
 * @throws DamagedData when what is stored under it is damaged
 * @throws LookUpLate when it was not looked up in time
 */
function sealedEventOf(group: Group, element: number): StoredEvent | undefined {
  const sensorId = group.sealedSensorId[element] ?? 0
  if (sensorId === 0) return undefined
  if (sensorId === SEALED_DAMAGED) throw new DamagedData(group.damage)
  if (sensorId === SEALED_LATE) throw new LookUpLate()
  return {
    sensorId,
    measuredAtMs: group.sealedMeasuredAtMs[element] ?? 0,
    tempCelsius: group.sealedTempCelsius[element] ?? 0,
  }
}

/** What a submission is rejected with when an element of it cannot be decided. */
function rejectionCodeOf(error: unknown): GroupRejection['code'] {
  if (error instanceof LookUpLate) return 'overloaded'
  return error instanceof DamagedData || isDamage(error) ? 'data_damaged' : 'internal_error'
}
