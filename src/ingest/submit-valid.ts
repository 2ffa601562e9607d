// A submission for senders that cannot take one apart: submits the valid elements in one
// transaction and reports the others. Rejected elements take no event id and register no sensor,
// because the submission is made without them.

import { ServiceError } from '../domain/errors.ts'
import type { ErrorCode, RequestFault } from '../domain/errors.ts'
import type { Receipt, SubmittedMeasurement } from '../domain/measurement.ts'
import type { Submissions } from './submissions.ts'

/** Failures that say which elements are wrong, and why. */
const OF_ELEMENTS: ReadonlySet<ErrorCode> = new Set([
  'validation_failed',
  'unknown_sensor',
  'sensor_quota',
])

export interface DivisibleSubmission {
  readonly userId: number
  readonly receivedAtMs: number
  readonly measurements: readonly SubmittedMeasurement[]
}

/**
 * Notes why some elements of a submission are not stored; `index` is the index in it. Awaited
 * before the others are submitted: elements without an event id are stored again when a sender is
 * told of a failure, so nothing may fail once they are stored.
 */
export type NoteFaults = (faults: readonly RequestFault[]) => Promise<void>

export interface PartialReceipt {
  /** `undefined`: no element is valid. */
  readonly receipt: Receipt | undefined
  /** Each receipt item's index in the submission. */
  readonly places: readonly number[]
  /** What is wrong with the others; `index` is the index in the submission. */
  readonly faults: readonly RequestFault[]
}

/**
 * Submits the valid elements of a submission.
 *
 * @throws ServiceError as `Submissions.submit`, except for faults of elements
 * @throws what `noteFaults` throws; nothing is stored then
 */
export async function submitValid(
  submissions: Pick<Submissions, 'submit'>,
  { userId, receivedAtMs, measurements: all }: DivisibleSubmission,
  noteFaults: NoteFaults,
): Promise<PartialReceipt> {
  const faults: RequestFault[] = []
  let places = [...all.keys()]
  while (places.length > 0) {
    const isWhole = places.length === all.length
    const measurements = isWhole ? all : places.flatMap((place) => all[place] ?? [])
    try {
      const receipt = await submissions.submit({ userId, receivedAtMs, measurements })
      return { receipt, places, faults }
    } catch (error) {
      // Times are refused before sensors, so this takes at most three rounds, plus one each time
      // another submission takes the user's last free sensor.
      const found = faultsOf(error)
      const rejected = new Set(found.map(({ index }) => index))
      const ofAll = found.map((fault) => ({ ...fault, index: places[fault.index] ?? 0 }))
      places = places.filter((_, at) => !rejected.has(at))
      faults.push(...ofAll)
      await noteFaults(ofAll)
    }
  }
  return { receipt: undefined, places, faults }
}

/** @throws the error itself unless it reports elements and nothing else */
function faultsOf(error: unknown): (RequestFault & { readonly index: number })[] {
  const isOfElements = error instanceof ServiceError && OF_ELEMENTS.has(error.code)
  const faults = isOfElements ? (error.faults ?? []) : []
  const ofElements = faults.flatMap((fault) =>
    fault.index === undefined ? [] : [{ ...fault, index: fault.index }],
  )
  if (ofElements.length === 0 || ofElements.length < faults.length) throw error
  return ofElements
}
