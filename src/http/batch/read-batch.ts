// The elements of a batch as domain values, and the faults of each.

import common from '../../../schemas/common.json' with { type: 'json' }
import type { RequestFault } from '../../domain/errors.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { SubmittedMeasurement, SubmittedMeasurements } from '../../domain/measurement.ts'
import { hasAtMost } from '../../domain/names.ts'
import { formatInstant } from '../../domain/time.ts'
import { ScannedBatch } from './scan-batch.ts'
import { batchElementsMax, faultsIn, isBatchFrame } from '../body/validate.ts'
import { membersOf } from '../routes/input.ts'
import { readElement } from './read-element.ts'

const EVENT_ID_CODE_POINTS_MAX = common.$defs.eventId.maxLength

/** The valid part of a batch. */
export interface FitElements {
  readonly measurements: SubmittedMeasurements
  /** Each measurement's index in the batch; `undefined`: the whole batch is valid. */
  readonly places: readonly number[] | undefined
  /** Elements of the batch. */
  readonly count: number
}

/**
 * The valid measurements of a batch; all faults are added to `faults`.
 *
 * @param body the parsed JSON, or a scanned batch, which has no faults
 * @param faultsMax of more than these, no further element is read
 * @throws ServiceError `batch_too_large`
 */
export function readBatch(
  body: unknown,
  faults: RequestFault[],
  faultsMax = Infinity,
): FitElements {
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
  for (const [index, element] of elements.entries()) {
    if (faults.length > faultsMax) break
    const found: RequestFault[] = []
    const read = readElement(element, `/measurements/${index}`, found)
    for (const fault of found) faults.push(ofElement(fault, element, index))
    if (read !== undefined) places.push(measurements.push(read) && index)
  }
  return { measurements, places, count: elements.length }
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

/** Adds the element's index and, if readable, its event id to a fault of a batch. */
function ofElement(fault: RequestFault, element: unknown, index: number): RequestFault {
  const { event_id: eventId } = membersOf(element)
  return { ...fault, index, ...(isReadableEventId(eventId) && { event_id: eventId }) }
}

function isReadableEventId(value: unknown): value is string {
  const isText = typeof value === 'string' && value !== '' && value.isWellFormed()
  return isText && hasAtMost(EVENT_ID_CODE_POINTS_MAX, value)
}

/** Turns a fault of a measurement into one of an element of the submitted batch. */
export function faultOfElement(
  fault: RequestFault,
  index: number,
  eventId: string | null,
): RequestFault {
  const pointer = `/measurements/${index}${fault.pointer}`
  return { ...fault, index, pointer, ...(eventId !== null && { event_id: eventId }) }
}
