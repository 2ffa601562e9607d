// Submitting measurements: into the journal, and out with the receipt. What the journal refuses is
// told with pointers into the body that was sent.

import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'
import type {
  Receipt,
  ReceiptItem,
  SubmittedMeasurement,
  SubmittedMeasurements,
} from '../../domain/measurement.ts'
import { formatInstant } from '../../domain/time.ts'
import type { Acceptor } from '../../ingest/accept.ts'
import { answerJson } from '../call.ts'
import type { ApiCall } from '../call.ts'
import { BatchReceiptWriter } from '../batch-receipt.ts'
import type { EventIdTexts } from '../event-id-texts.ts'
import { presentExisting, presentMeasurement } from '../present.ts'
import type { RateLimits } from '../rate-limit.ts'

/** What a submission goes through. */
export interface Intake {
  readonly acceptor: Acceptor
  readonly rateLimits: RateLimits
}

export function postMeasurement(intake: Intake) {
  return (call: ApiCall, measurements: SubmittedMeasurements): Promise<void> => {
    const submitted = measurements.at(0)
    if (submitted === undefined) throw new Error('BUG: a submission of nothing')
    return answerMeasurement(call, submitted, submit(call, measurements, intake))
  }
}

export function postBatch(intake: Intake) {
  const receipts = new BatchReceiptWriter()
  return (call: ApiCall, measurements: SubmittedMeasurements): Promise<void> => {
    const eventIds = receipts.keepEventIds(measurements)
    return answerBatch(call, { receipts, eventIds }, submit(call, measurements, intake))
  }
}

function submit(
  { ctx, principal, receivedAtMs }: ApiCall,
  measurements: SubmittedMeasurements,
  { acceptor, rateLimits }: Intake,
): Promise<Receipt> {
  const { token, user } = principal
  const counted = rateLimits.countMeasurements(token.id, measurements.length, ctx.res)
  const submission = { userId: user.id, receivedAtMs, measurements }
  return counted.then(() => acceptor.accept(submission))
}

async function answerMeasurement(
  call: ApiCall,
  submitted: SubmittedMeasurement,
  accepted: Promise<Receipt>,
): Promise<void> {
  const item = (await receiptOf(call, accepted, asSingle)).at(0)
  if (item.status === 'conflict') throw conflictError(submitted, item)
  const text = JSON.stringify(presentMeasurement(submitted, item))
  answerJson(call, item.status === 'created' ? 201 : 200, text)
}

async function answerBatch(
  call: ApiCall,
  { receipts, eventIds }: { receipts: BatchReceiptWriter; eventIds: EventIdTexts },
  accepted: Promise<Receipt>,
): Promise<void> {
  const receipt = await receiptOf(call, accepted, (fault) => asElement(fault, eventIds))
  answerJson(call, receipt.counts.created > 0 ? 201 : 200, receipts.write(eventIds, receipt))
}

/** What was accepted; what the journal refuses is told with pointers into the body. */
async function receiptOf(
  { receivedAtMs }: ApiCall,
  accepted: Promise<Receipt>,
  place: (fault: RequestFault) => RequestFault,
): Promise<Receipt> {
  try {
    return await accepted
  } catch (error) {
    if (!(error instanceof ServiceError) || error.faults === undefined) throw error
    const serverTime = { server_time: formatInstant(receivedAtMs) }
    throw new ServiceError(error.code, {
      ...(error.detail !== undefined && { detail: error.detail }),
      faults: error.faults.map(place),
      members: error.code === 'validation_failed' ? serverTime : {},
      cause: error,
    })
  }
}

/** The journal points into the element; the one element is the whole body. */
function asSingle({ pointer, code, detail }: RequestFault): RequestFault {
  return { pointer, code, detail }
}

function asElement(fault: RequestFault, eventIds: EventIdTexts): RequestFault {
  const { index } = fault
  if (index === undefined) return fault
  const eventId = eventIds.at(index)
  return {
    ...fault,
    pointer: `/measurements/${index}${fault.pointer}`,
    ...(eventId !== null && { event_id: eventId }),
  }
}

function conflictError(submitted: SubmittedMeasurement, item: ReceiptItem): ServiceError {
  if (item.existing === undefined) throw new Error('BUG: a conflict without what it is with')
  const existing = presentExisting(submitted.eventId ?? '', item.existing)
  return new ServiceError('event_id_conflict', { members: { existing } })
}
