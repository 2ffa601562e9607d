// The rules of acceptance: what is accepted, what is rejected, and what the sender is told. They
// are the same for every ledger and journal. Pure: callers supply what is known of an event, a
// sensor or a user.

import type { ErrorCode, RequestFault } from './errors.ts'
import { measurementsAtOneTimeMax } from './limits.ts'
import { formatInstant } from './time.ts'

/** The rules that an operator can set. */
export interface AcceptanceRules {
  readonly mayRegisterSensors: boolean
  readonly sensorsPerUserMax: number
  /** How far ahead of its receipt a measurement may be. */
  readonly futureMsMax: number
  readonly measuredAtMsMin: number
}

export type TimeFault = 'timestamp_in_future' | 'timestamp_too_old'

/** What two events of a sensor must agree in to be the same. */
export interface EventContent {
  readonly tempCelsius: number
  /** NaN if the sender gave no time. */
  readonly measuredAtMs: number
}

/** Whether a known event is only repeated. A repeat without a time matches any time. */
export function isSameContent(known: EventContent, submitted: EventContent): boolean {
  const { measuredAtMs } = submitted
  const isSameTime = Number.isNaN(measuredAtMs) || measuredAtMs === known.measuredAtMs
  return isSameTime && submitted.tempCelsius === known.tempCelsius
}

/** The fault in the time of a new measurement. */
export function judgeTime(
  measuredAtMs: number,
  measuredAtMsMin: number,
  measuredAtMsMax: number,
): TimeFault | undefined {
  if (measuredAtMs > measuredAtMsMax) return 'timestamp_in_future'
  return measuredAtMs < measuredAtMsMin ? 'timestamp_too_old' : undefined
}

/** Why nothing of a submission is stored. */
export interface SubmissionRejection {
  readonly code: ErrorCode
  readonly detail: string
  readonly faults: readonly RequestFault[]
}

/**
 * For a submission of a user who was deleted while it was under way: from then on their tokens are
 * unknown, whatever it contains.
 */
export const USER_GONE = { code: 'invalid_token' } as const

/** The faults of a submission. A check notes what is wrong with the element at `index`. */
export class SubmissionFaults {
  readonly #rules: AcceptanceRules
  /** Of measurements. */
  readonly #invalid: RequestFault[] = []
  /** Of sensors. */
  readonly #forbidden: RequestFault[] = []

  constructor(rules: AcceptanceRules) {
    this.#rules = rules
  }

  /** @returns whether a new measurement may have this time */
  checkTime(index: number, measuredAtMs: number, receivedAtMs: number): boolean {
    const { futureMsMax, measuredAtMsMin } = this.#rules
    const code = judgeTime(measuredAtMs, measuredAtMsMin, receivedAtMs + futureMsMax)
    if (code === undefined) return true
    const time = formatInstant(measuredAtMs)
    const detail =
      code === 'timestamp_in_future'
        ? `${time} is ahead of the server's clock`
        : `${time} is before ${formatInstant(measuredAtMsMin)}`
    this.#invalid.push({ pointer: '/timestamp', code, detail, index })
    return false
  }

  /**
   * @param sensorCount how many sensors the user has
   * @returns whether an unknown sensor can be registered
   */
  checkRegistration(index: number, serialNumber: string, sensorCount: number): boolean {
    const { mayRegisterSensors, sensorsPerUserMax } = this.#rules
    if (mayRegisterSensors && sensorCount < sensorsPerUserMax) return true
    const code = mayRegisterSensors ? 'sensor_quota' : 'unknown_sensor'
    const why = mayRegisterSensors ? 'would exceed the limit' : 'is not registered'
    this.#forbidden.push({ pointer: '/sn', code, detail: `sensor ${serialNumber} ${why}`, index })
    return false
  }

  /**
   * @param tieBreakNs the next free digits below the millisecond at that time
   * @returns whether there are any left
   */
  checkTieBreak(index: number, tieBreakNs: number): boolean {
    if (tieBreakNs < measurementsAtOneTimeMax) return true
    const detail = `the sensor has ${measurementsAtOneTimeMax} measurements at this millisecond`
    this.#invalid.push({ pointer: '/timestamp', code: 'too_many_at_one_time', detail, index })
    return false
  }

  /**
   * Measurements that can never be stored come before sensors.
   *
   * @param isOnlyChecked nothing is to be stored anyway
   * @returns `undefined` if there are no faults
   */
  rejection(isOnlyChecked: boolean): SubmissionRejection | undefined {
    if (isOnlyChecked || this.#invalid.length > 0) {
      const detail = 'The times of some measurements cannot be accepted.'
      return { code: 'validation_failed', detail, faults: this.#invalid }
    }
    const faults = this.#forbidden
    if (faults.length === 0) return undefined
    if (this.#rules.mayRegisterSensors) {
      const detail = 'The user has reached the limit of sensors.'
      return { code: 'sensor_quota', detail, faults }
    }
    const detail = 'Automatic registration is off: an operator must create the sensor first.'
    return { code: 'unknown_sensor', detail, faults }
  }
}
