// Submitted measurements as domain values. Whether an element is fit is decided here alone, by the
// code that reads it: what is handed on has the types that it says it has.

import type { RequestFault } from '../../domain/errors.ts'
import { ServiceError } from '../../domain/errors.ts'
import { elementFaultsMax } from '../../domain/limits.ts'
import type { SubmittedMeasurement, SubmittedMeasurements } from '../../domain/measurement.ts'
import { formatInstant, parseInstant } from '../../domain/time.ts'
import { batchElementsMax, faultsIn, isBatchFrame, isMeasurement } from '../body/validate.ts'
import { hasAtMost, loneSurrogate, membersOf, notAnInstant } from './input.ts'
import { ScannedBatch } from '../batch/scan-batch.ts'
import type { MeasurementRequest } from '../../../schemas/messages.d.ts'

const EVENT_ID_CODE_POINTS_MAX = 128

/** What of a batch is fit to be stored. */
export interface FitElements {
  readonly measurements: SubmittedMeasurements
  /** Where each of them stands in the batch; `undefined`: all of the batch are fit. */
  readonly places: readonly number[] | undefined
  /** Elements of the batch. */
  readonly count: number
}

/** A valid measurement; faults are added to `faults`. */
export function readMeasurement(body: unknown, faults: RequestFault[]): SubmittedMeasurement[] {
  const read = readElement(body, '', faults)
  return read === undefined ? [] : [read]
}

/**
 * The fit measurements of a batch; faults of the others and of the batch are added to `faults`.
 *
 * @param body what its JSON says, or a batch that was scanned and has no faults
 * @throws ServiceError `batch_too_large`
 */
export function readBatch(body: unknown, faults: RequestFault[]): FitElements {
  if (body instanceof ScannedBatch) {
    return { measurements: body, places: undefined, count: body.length }
  }
  const { measurements: list } = membersOf(body)
  const elements: readonly unknown[] = Array.isArray(list) ? list : []
  if (elements.length > batchElementsMax) {
    throw new ServiceError('batch_too_large', { members: { limit: batchElementsMax } })
  }
  faults.push(...faultsIn(isBatchFrame, body))
  const measurements: SubmittedMeasurement[] = []
  const places: number[] = []
  elements.forEach((element, index) => {
    const found: RequestFault[] = []
    const read = readElement(element, `/measurements/${index}`, found)
    for (const fault of found) faults.push(ofElement(fault, element, index))
    if (read !== undefined) places.push(measurements.push(read) && index)
  })
  return { measurements, places, count: elements.length }
}

/** The measurement that a value is, `undefined` when it is none; what is wrong is added. */
function readElement(
  body: unknown,
  at: string,
  faults: RequestFault[],
): SubmittedMeasurement | undefined {
  const found = faultsIn(isMeasurement, body, at)
  const { event_id: eventId, timestamp } = membersOf(body)
  if (typeof eventId === 'string' && !eventId.isWellFormed()) {
    found.push(loneSurrogate(`${at}/event_id`))
  }
  const measuredAtMs = typeof timestamp === 'string' ? parseInstant(timestamp) : null
  if (measuredAtMs === undefined) found.push(notAnInstant(`${at}/timestamp`))
  if (found.length > 0) {
    faults.push(...found.slice(0, elementFaultsMax))
    return undefined
  }
  const element = body as MeasurementRequest
  return {
    eventId: element.event_id ?? null,
    serialNumber: element.sn,
    // −0 is 0.
    tempCelsius: element.temp + 0,
    measuredAtMs: measuredAtMs ?? null,
  }
}

/** The text of an element that is read as a measurement. */
export function elementOf({
  eventId,
  serialNumber,
  tempCelsius,
  measuredAtMs,
}: SubmittedMeasurement): string {
  return JSON.stringify({
    ...(eventId !== null && { event_id: eventId }),
    sn: serialNumber,
    temp: tempCelsius,
    ...(measuredAtMs !== null && { timestamp: formatInstant(measuredAtMs) }),
  })
}

/** A fault of a batch says which element it is of, and that one's event id where it is readable. */
function ofElement(fault: RequestFault, element: unknown, index: number): RequestFault {
  const { event_id: eventId } = membersOf(element)
  return { ...fault, index, ...(isReadableEventId(eventId) && { event_id: eventId }) }
}

function isReadableEventId(value: unknown): value is string {
  const isText = typeof value === 'string' && value !== '' && value.isWellFormed()
  return isText && hasAtMost(EVENT_ID_CODE_POINTS_MAX, value)
}

/** A fault of a measurement as one of an element of the batch that was sent. */
export function faultOfElement(
  fault: RequestFault,
  index: number,
  eventId: string | null,
): RequestFault {
  const pointer = `/measurements/${index}${fault.pointer}`
  return { ...fault, index, pointer, ...(eventId !== null && { event_id: eventId }) }
}
