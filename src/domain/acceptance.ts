// What is taken and what is refused, and what a sender is told: the rules of acceptance. They are
// the same whatever the ledger and the journal are made of. Pure: what is known of an event, of a
// sensor or of a user comes from those who ask.

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

/** What two events have to agree in, beside their sensor, to be the same one. */
export interface EventContent {
  readonly tempCelsius: number
  /** NaN where a sender names no time. */
  readonly measuredAtMs: number
}

/** Whether a known event is only repeated. A repeat without a time is one at any time. */
export function isSameContent(known: EventContent, submitted: EventContent): boolean {
  const { measuredAtMs } = submitted
  const isSameTime = Number.isNaN(measuredAtMs) || measuredAtMs === known.measuredAtMs
  return isSameTime && submitted.tempCelsius === known.tempCelsius
}

/** What is wrong with the time of a measurement that is not known yet. */
export function judgeTime(
  measuredAtMs: number,
  measuredAtMsMin: number,
  measuredAtMsMax: number,
): TimeFault | undefined {
  if (measuredAtMs > measuredAtMsMax) return 'timestamp_in_future'
  return measuredAtMs < measuredAtMsMin ? 'timestamp_too_old' : undefined
}

/** What is wrong with the time of a new measurement, said to its sender. */
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
 * What keeps a sensor that is not known from being registered.
 *
 * @param sensorCount sensors that the user has
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
  const detail = `sensor ${serialNumber} would be one too many`
  return { pointer, code: 'sensor_quota', detail }
}

/** @param tieBreakNs the digits below the millisecond that are free next at that time */
export function tieBreakFault(tieBreakNs: number): RequestFault | undefined {
  if (tieBreakNs < measurementsAtOneTimeMax) return undefined
  const detail = `the sensor has ${measurementsAtOneTimeMax} measurements at this millisecond`
  return { pointer: '/timestamp', code: 'too_many_at_one_time', detail }
}

/** The faults of a submission, as they are found. */
export interface SubmissionFaults {
  /** What is wrong with measurements. */
  readonly invalid: RequestFault[]
  /** What is wrong with sensors. */
  readonly forbidden: RequestFault[]
}

/** Why nothing of a submission is stored. */
export interface SubmissionRefusal {
  readonly code: ErrorCode
  readonly detail: string
  readonly faults: readonly RequestFault[]
}

/** What a submission is refused with; measurements that can never be stored come before sensors. */
export function refusalFor({
  invalid,
  forbidden,
}: SubmissionFaults): SubmissionRefusal | undefined {
  if (invalid.length > 0) return invalidTimes(invalid)
  const [first] = forbidden
  if (first === undefined) return undefined
  if (first.code === 'sensor_quota') {
    const detail = 'The user has as many sensors as are allowed.'
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
