// The rules of acceptance: what is accepted, what is refused, and what the sender is told. They are
// the same for every ledger and journal. Pure: callers supply what is known of an event, a sensor
// or a user.

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

/** Describes the fault in the time of a new measurement to its sender. */
export function timeFault(
  measuredAtMs: number,
  receivedAtMs: number,
  { futureMsMax, measuredAtMsMin }: AcceptanceRules,
): RequestFault | undefined {
  const code = judgeTime(measuredAtMs, measuredAtMsMin, receivedAtMs + futureMsMax)
  if (code === undefined) return undefined
  const time = formatInstant(measuredAtMs)
  const detail =
    code === 'timestamp_in_future'
      ? `${time} is ahead of the server's clock`
      : `${time} is before ${formatInstant(measuredAtMsMin)}`
  return { pointer: '/timestamp', code, detail }
}

/**
 * Why an unknown sensor cannot be registered.
 *
 * @param sensorCount how many sensors the user has
 */
export function registrationFault(
  serialNumber: string,
  sensorCount: number,
  { mayRegisterSensors, sensorsPerUserMax }: AcceptanceRules,
): RequestFault | undefined {
  const pointer = '/sn'
  if (!mayRegisterSensors) {
    return { pointer, code: 'unknown_sensor', detail: `sensor ${serialNumber} is not registered` }
  }
  if (sensorCount < sensorsPerUserMax) return undefined
  const detail = `sensor ${serialNumber} would exceed the limit`
  return { pointer, code: 'sensor_quota', detail }
}

/** @param tieBreakNs the next free digits below the millisecond at that time */
export function tieBreakFault(tieBreakNs: number): RequestFault | undefined {
  if (tieBreakNs < measurementsAtOneTimeMax) return undefined
  const detail = `the sensor has ${measurementsAtOneTimeMax} measurements at this millisecond`
  return { pointer: '/timestamp', code: 'too_many_at_one_time', detail }
}

/** The faults of a submission, as they are found. */
export interface SubmissionFaults {
  /** Faults of measurements. */
  readonly invalid: RequestFault[]
  /** Faults of sensors. */
  readonly forbidden: RequestFault[]
}

/** Why nothing of a submission is stored. */
export interface SubmissionRefusal {
  readonly code: ErrorCode
  readonly detail: string
  readonly faults: readonly RequestFault[]
}

/** The refusal of a submission; measurements that can never be stored come before sensors. */
export function refusalFor({
  invalid,
  forbidden,
}: SubmissionFaults): SubmissionRefusal | undefined {
  if (invalid.length > 0) return invalidTimes(invalid)
  const [first] = forbidden
  if (first === undefined) return undefined
  if (first.code === 'sensor_quota') {
    const detail = 'The user has reached the limit of sensors.'
    return { code: 'sensor_quota', detail, faults: forbidden }
  }
  const detail = 'Automatic registration is off: an operator must create the sensor first.'
  return { code: 'unknown_sensor', detail, faults: forbidden }
}

/** The refusal of measurements whose times cannot be accepted. */
export function invalidTimes(faults: readonly RequestFault[]): SubmissionRefusal {
  const detail = 'The times of some measurements cannot be accepted.'
  return { code: 'validation_failed', detail, faults }
}
