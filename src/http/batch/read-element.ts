// An element of a submission in JSON as a domain value. Only this code decides whether one is
// valid, so everything passed on really has its type.

import type { Measurement } from '../../../schemas/messages.d.ts'
import type { RequestFault } from '../../domain/errors.ts'
import { elementFaultsMax } from '../../domain/limits.ts'
import type { SubmittedMeasurement } from '../../domain/measurement.ts'
import { parseInstant } from '../../domain/time.ts'
import { faultsIn, isMeasurement } from '../body/validate.ts'
import type { ApiCall } from '../call/call.ts'
import { loneSurrogate, membersOf, notAnInstant, readValid } from '../routes/input.ts'
import type { ReadMeasurements } from './submission.ts'

/**
 * The body of a submission of one measurement.
 *
 * @throws ServiceError `validation_failed`
 */
export function readSingle(body: unknown, { query }: ApiCall): ReadMeasurements {
  return { measurements: readValid(body, query, readMeasurement) }
}

/** A valid measurement; faults are added to `faults`. */
export function readMeasurement(body: unknown, faults: RequestFault[]): SubmittedMeasurement[] {
  const read = readElement(body, '', faults)
  return read === undefined ? [] : [read]
}

/** The measurement in a value, `undefined` if it is not valid; faults are added. */
export function readElement(
  body: unknown,
  at: string,
  faults: RequestFault[],
): SubmittedMeasurement | undefined {
  const found = faultsIn(isMeasurement, body, at)
  const { event_id: eventId, timestamp } = membersOf(body)
  if (typeof eventId === 'string' && !eventId.isWellFormed()) {
    found.push(loneSurrogate(`${at}/event_id`))
  }
  const text = typeof timestamp === 'string' ? timestamp : undefined
  const measuredAtMs = text === undefined ? null : parseInstant(text)
  if (text !== undefined && measuredAtMs === undefined) {
    found.push(notAnInstant(`${at}/timestamp`, text))
  }
  if (found.length > 0) {
    faults.push(...found.slice(0, elementFaultsMax))
    return undefined
  }
  const element = body as Measurement
  return {
    eventId: element.event_id ?? null,
    serialNumber: element.sn,
    // −0 is 0.
    tempCelsius: element.temp + 0,
    measuredAtMs: measuredAtMs ?? null,
  }
}
