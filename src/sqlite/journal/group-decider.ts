// Decides a group of submissions against the ledger, in memory, one after the other in the order
// in which they came. A submission that is refused is taken back whole, so that the next one sees
// a ledger without it. Nothing is durable until the group's transaction is through
// (group-transaction.ts); if that fails, the whole group is taken back.

import { measurementsAtOneTimeMax } from '../../domain/limits.ts'
import type { RequestFault } from '../../domain/errors.ts'
import { formatInstant } from '../../domain/time.ts'
import type { DurationMs, EpochMs } from '../../domain/time.ts'
import { serialNumberKey } from '../../domain/sensor.ts'
import type { SensorId, UserId } from '../../domain/sensor.ts'
import type { DirectoryEntry, SensorDirectory } from '../control/sensor-directory.ts'
import { KEY_WORDS } from '../ledger/event-key.ts'
import { hasKey } from '../ledger/hot-ledger.ts'
import type { HotLedger, StoredEvent } from '../ledger/hot-ledger.ts'
import type { SealedTimes } from '../ledger/sealed-times.ts'
import {
  groupColumnsOver,
  sealedEventOf,
  STATUS_CONFLICT,
  STATUS_CREATED,
  STATUS_DUPLICATE,
} from './group-frame.ts'
import type { GroupColumns, GroupConflict, GroupFrame, GroupRefusal } from './group-frame.ts'

/** Elements whose places in memory are asked for at once; the processor's cache holds them all. */
const FETCHED_TOGETHER = 1_024

export interface DeciderSettings {
  readonly mayRegisterSensors: boolean
  readonly sensorsPerUserMax: number
  readonly futureMsMax: DurationMs
  readonly measuredAtMsMin: EpochMs
}

/** A group's outcome before its transaction, but for what is in its columns. */
export interface GroupDecision {
  readonly refusals: GroupRefusal[]
  readonly conflicts: GroupConflict[]
  /** By sensor, when the last new measurement of it was received. */
  readonly lastSeenAtMs: Map<SensorId, EpochMs>
}

interface Group extends GroupColumns {
  readonly serialNumbers: readonly string[]
  /** By place of the serial number: the sensor that its submission means by it, once looked up. */
  readonly sensors: (DirectoryEntry | undefined)[]
}

interface SubmissionFaults {
  readonly invalid: RequestFault[]
  readonly forbidden: RequestFault[]
}

export class GroupDecider {
  readonly #hot: HotLedger
  readonly #sealedTimes: SealedTimes
  readonly #sensors: SensorDirectory
  readonly #settings: DeciderSettings

  constructor(
    ledger: { hot: HotLedger; sealedTimes: SealedTimes },
    sensors: SensorDirectory,
    settings: DeciderSettings,
  ) {
    this.#hot = ledger.hot
    this.#sealedTimes = ledger.sealedTimes
    this.#sensors = sensors
    this.#settings = settings
  }

  /**
   * @param frame looked up in the sealed ledger, see `lookUpGroup`; the caller has made sure that
   *   the current epoch has room for all of its elements
   */
  decide(frame: GroupFrame): GroupDecision {
    const { serialNumbers } = frame
    const columns = groupColumnsOver(frame.buffer)
    const decision: GroupDecision = {
      refusals: [],
      conflicts: [],
      lastSeenAtMs: new Map(),
    }
    this.#sealedTimes.inOneView(() => {
      const group: Group = { ...columns, serialNumbers, sensors: [] }
      let start = 0
      let fetched = 0
      for (let submission = 0; submission < frame.submissionCount; submission++) {
        const end = group.elementsEnd[submission] ?? 0
        if (end > fetched) {
          fetched = Math.min(Math.max(end, start + FETCHED_TOGETHER), frame.elementCount)
          this.#hot.fetch(group.keys, start * KEY_WORDS, fetched * KEY_WORDS)
        }
        this.#decideSubmission(group, decision, { submission, start, end })
        start = end
      }
    })
    return decision
  }

  #decideSubmission(
    group: Group,
    decision: GroupDecision,
    at: { submission: number; start: number; end: number },
  ): void {
    const eventsBefore = this.#hot.current.count
    const sensorsBefore = this.#sensors.pending.length
    const conflictsBefore = decision.conflicts.length
    const faults: SubmissionFaults = { invalid: [], forbidden: [] }
    for (let element = at.start; element < at.end; element++) {
      this.#decideElement(group, decision, { ...at, element }, faults)
    }
    const isOnlyChecked = group.isOnlyChecked[at.submission] === 1
    const refusal = isOnlyChecked
      ? invalid(faults, at.submission)
      : refusalOf(faults, at.submission)
    if (refusal === undefined) {
      this.#noteLastSeen(group, decision, at)
      return
    }
    this.#hot.current.truncate(eventsBefore)
    this.#sensors.truncatePending(sensorsBefore)
    decision.conflicts.length = conflictsBefore
    decision.refusals.push(refusal)
  }

  #noteLastSeen(
    group: Group,
    decision: GroupDecision,
    at: { submission: number; start: number; end: number },
  ): void {
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
    const timeFault = this.#timeFault(measuredAtMs, receivedAtMs, index)
    if (timeFault !== undefined) faults.invalid.push(timeFault)
    const userId = group.userId[at.submission] ?? 0
    const sensor =
      this.#sensorOf(group, userId, element) ??
      this.#register(group, { userId, receivedAtMs, element, index, faults })
    if (sensor === undefined || timeFault !== undefined) return
    const tieBreakNs =
      this.#hot.nextTieBreak(sensor.id, measuredAtMs) ??
      this.#sealedTimes.nextTieBreak(sensor.id, measuredAtMs)
    if (tieBreakNs >= measurementsAtOneTimeMax) {
      faults.invalid.push(tooManyFault(index))
      return
    }
    const tempCelsius = group.tempCelsius[element] ?? 0
    const event = { userId, sensorId: sensor.id, measuredAtMs, tieBreakNs, tempCelsius }
    this.#hot.current.add(event, group.keys, keyAt)
    group.status[element] = STATUS_CREATED
    group.sensorId[element] = sensor.id
    group.measuredAtMs[element] = measuredAtMs
  }

  #find(group: Group, element: number): StoredEvent | undefined {
    const keyAt = element * KEY_WORDS
    if (!hasKey(group.keys, keyAt)) return undefined
    return this.#hot.find(group.keys, keyAt) ?? sealedEventOf(group, element)
  }

  #answerKnown(
    group: Group,
    decision: GroupDecision,
    { submission, element }: { submission: number; element: number },
    known: StoredEvent,
  ): void {
    const submitted = group.serialNumbers[group.serialNumberAt[element] ?? 0] ?? ''
    const measuredAtMs = group.measuredAtMs[element] ?? NaN
    const live = this.#sensorOf(group, group.userId[submission] ?? 0, element)
    const sensor = live?.id === known.sensorId ? live : this.#sensors.byId(known.sensorId)
    const isSame =
      known.tempCelsius === group.tempCelsius[element] &&
      (Number.isNaN(measuredAtMs) || measuredAtMs === known.measuredAtMs) &&
      (sensor === live || sensor?.serialNumberKey === serialNumberKey(submitted))
    group.status[element] = isSame ? STATUS_DUPLICATE : STATUS_CONFLICT
    group.sensorId[element] = known.sensorId
    group.measuredAtMs[element] = known.measuredAtMs
    if (isSame) return
    const { sensorId, tempCelsius } = known
    const serialNumber = sensor?.serialNumber ?? submitted
    const existing = { serialNumber, sensorId, tempCelsius, measuredAtMs: known.measuredAtMs }
    decision.conflicts.push({ element, ...existing })
  }

  /** The sensor that the element is of, `undefined` when there is none yet. */
  #sensorOf(group: Group, userId: UserId, element: number): DirectoryEntry | undefined {
    const place = group.serialNumberAt[element] ?? 0
    const known = group.sensors[place]
    if (known !== undefined) return known
    const sensor = this.#sensors.find(userId, group.serialNumbers[place] ?? '')
    group.sensors[place] = sensor
    return sensor
  }

  #timeFault(
    measuredAtMs: EpochMs,
    receivedAtMs: EpochMs,
    index: number,
  ): RequestFault | undefined {
    const pointer = '/timestamp'
    if (measuredAtMs > receivedAtMs + this.#settings.futureMsMax) {
      const ahead = `${formatInstant(measuredAtMs)} is ahead of the server's clock`
      return { pointer, code: 'timestamp_in_future', detail: ahead, index }
    }
    if (measuredAtMs < this.#settings.measuredAtMsMin) {
      const oldest = formatInstant(this.#settings.measuredAtMsMin)
      const detail = `${formatInstant(measuredAtMs)} is before ${oldest}`
      return { pointer, code: 'timestamp_too_old', detail, index }
    }
    return undefined
  }

  #register(
    group: Group,
    at: {
      userId: UserId
      receivedAtMs: EpochMs
      element: number
      index: number
      faults: SubmissionFaults
    },
  ): DirectoryEntry | undefined {
    const { userId, receivedAtMs } = at
    const serialNumber = group.serialNumbers[group.serialNumberAt[at.element] ?? 0] ?? ''
    const pointer = '/sn'
    if (!this.#settings.mayRegisterSensors) {
      const detail = `sensor ${serialNumber} is not registered`
      at.faults.forbidden.push({ pointer, code: 'unknown_sensor', detail, index: at.index })
      return undefined
    }
    if (this.#sensors.count(userId) >= this.#settings.sensorsPerUserMax) {
      const detail = `sensor ${serialNumber} would be one too many`
      at.faults.forbidden.push({ pointer, code: 'sensor_quota', detail, index: at.index })
      return undefined
    }
    return this.#sensors.addPending(userId, serialNumber, receivedAtMs)
  }
}

function tooManyFault(index: number): RequestFault {
  const detail = `the sensor has ${measurementsAtOneTimeMax} measurements at this millisecond`
  return { pointer: '/timestamp', code: 'too_many_at_one_time', detail, index }
}

function invalid(faults: SubmissionFaults, submission: number): GroupRefusal {
  const detail = 'The times of some measurements cannot be accepted.'
  return { submission, code: 'validation_failed', detail, faults: faults.invalid }
}

function refusalOf(faults: SubmissionFaults, submission: number): GroupRefusal | undefined {
  if (faults.invalid.length > 0) return invalid(faults, submission)
  const first = faults.forbidden[0]
  if (first === undefined) return undefined
  const code = first.code === 'sensor_quota' ? 'sensor_quota' : 'unknown_sensor'
  const detail =
    code === 'sensor_quota'
      ? 'The user has as many sensors as are allowed.'
      : 'Sensors are registered by an operator here, and some of these are not.'
  return { submission, code, detail, faults: faults.forbidden }
}
