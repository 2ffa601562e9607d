// Submitting a batch of measurements, whole or, with `on_invalid=skip`, only its valid elements.

import type { RequestFault } from '../../domain/errors.ts'
import type { Receipt } from '../../domain/measurement.ts'
import { formatInstant } from '../../domain/time.ts'
import { submitValid } from '../../ingest/submit-valid.ts'
import type { Submissions } from '../../ingest/submissions.ts'
import type { RefusedWriter } from '../../ports/refused.ts'
import type { LongAnswers } from '../answers/long-answers.ts'
import { answerJson } from '../call/call.ts'
import type { ApiCall } from '../call/call.ts'
import { batchBody } from '../body/gate.ts'
import { BatchReceiptWriter } from './batch-receipt.ts'
import type { EventIdTexts } from './event-id-texts.ts'
import { BatchScanner } from './scan-batch.ts'
import { readJson } from '../body/read-json.ts'
import type { LetOthers } from '../answers/turns.ts'
import { readQuery, throwFaults } from '../routes/input.ts'
import type { Input } from '../routes/input.ts'
import { keepRefused } from './keep-refused.ts'
import { readSubmission, receiptOf } from './submission.ts'
import type { Intake } from './submission.ts'
import { PartialBatch } from './partial-batch.ts'
import { faultOfElement, readBatch } from './read-batch.ts'
import type { FitElements } from './read-batch.ts'

export interface BatchIntake extends Intake {
  readonly refusedWriter: RefusedWriter
  /** Batches with faults, until they are answered. */
  readonly faultyBatches: LongAnswers
}

/**
 * A batch of measurements. The everyday form is scanned as bytes, any other body is parsed as JSON.
 */
export function measurementBatch(intake: BatchIntake): Input<FitElements | PartialBatch> {
  const scanner = new BatchScanner()
  const reading = {
    parse: (bytes: Buffer, letOthers: LetOthers) =>
      scanner.scan(bytes) ?? readJson(bytes, letOthers, 'measurements'),
    read: (body: unknown, call: ApiCall) => readFit(intake, call, body),
  }
  const read = (call: ApiCall) => readSubmission(intake, call, reading)
  return {
    bounds: batchBody,
    schema: 'measurement-batch',
    querySchema: 'batch-query',
    read,
  }
}

/** What to store of a batch: all of it, or only its valid elements if the caller asked for that. */
async function readFit(
  { submissions, faultyBatches }: BatchIntake,
  call: ApiCall,
  body: unknown,
): Promise<FitElements | PartialBatch> {
  const faults: RequestFault[] = []
  let value = readBatch(body, faults, 0)
  if (faults.length > 0) {
    // All its faults can take a hundred times the body, and ten times its processor time.
    const place = await faultyBatches.begin(call.principal.user.id)
    call.ctx.state['place'] = place
    await place.turn()
    faults.length = 0
    value = readBatch(body, faults)
  }
  const parameters = readQuery(call.query, 'batch-query', faults)
  if (parameters.on_invalid === 'skip') return new PartialBatch(value, faults, body)
  if (faults.length === 0) return value
  const more = await findMore(submissions, call, value)
  const serverTime = { server_time: formatInstant(call.receivedAtMs) }
  throwFaults([...faults, ...more], more.length > 0 ? serverTime : {})
  return value
}

/**
 * The faults in the times of elements that are otherwise valid. All faults must be reported at
 * once, and the ledger is needed for them: it knows which events are repeats, whose times do not
 * matter.
 */
async function findMore(
  submissions: Submissions,
  { principal, receivedAtMs }: ApiCall,
  { measurements, places }: FitElements,
): Promise<RequestFault[]> {
  if (measurements.length === 0) return []
  const userId = principal.user.id
  const found = await submissions.check({ userId, receivedAtMs, measurements })
  return found.map((fault) => {
    const at = fault.index ?? 0
    const index = places?.[at] ?? at
    return faultOfElement(fault, index, measurements.at(at)?.eventId ?? null)
  })
}

export function postBatch(intake: BatchIntake) {
  const receipts = new BatchReceiptWriter()
  return (call: ApiCall, batch: FitElements | PartialBatch): Promise<void> => {
    if (batch instanceof PartialBatch) return postPartialBatch(call, batch, intake)
    const { principal, receivedAtMs } = call
    const { measurements } = batch
    const submission = { userId: principal.user.id, receivedAtMs, measurements }
    const eventIds = receipts.keepEventIds(measurements)
    return answerBatch(call, { receipts, eventIds }, intake.submissions.submit(submission))
  }
}

async function postPartialBatch(
  call: ApiCall,
  batch: PartialBatch,
  { submissions, refusedWriter }: BatchIntake,
): Promise<void> {
  const { principal, receivedAtMs } = call
  const { measurements } = batch
  const submission = { userId: principal.user.id, receivedAtMs, measurements }
  // Nothing may fail once elements without an event id are stored: they would be sent again.
  await keepRefused(refusedWriter, call, batch.unreadable())
  const committed = await submitValid(submissions, submission, (faults) =>
    keepRefused(refusedWriter, call, batch.refusals(faults)),
  )
  const receipt = batch.receipt(committed)
  answerJson(call, receipt.data.created > 0 ? 201 : 200, JSON.stringify(receipt))
}

async function answerBatch(
  call: ApiCall,
  { receipts, eventIds }: { receipts: BatchReceiptWriter; eventIds: EventIdTexts },
  accepted: Promise<Receipt>,
): Promise<void> {
  const receipt = await receiptOf(call, accepted, (fault) => asElement(fault, eventIds))
  answerJson(call, receipt.counts.created > 0 ? 201 : 200, receipts.write(eventIds, receipt))
}

function asElement(fault: RequestFault, eventIds: EventIdTexts): RequestFault {
  const { index } = fault
  return index === undefined ? fault : faultOfElement(fault, index, eventIds.at(index))
}
