// Submitting measurements: into the journal, and out with the receipt. What the journal refuses is
// reported with pointers into the body.

import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'
import type {
  Receipt,
  ReceiptItem,
  SubmittedMeasurement,
  SubmittedMeasurements,
} from '../../domain/measurement.ts'
import { formatInstant } from '../../domain/time.ts'
import { commitValid } from '../../ingest/commit-valid.ts'
import type { Submissions } from '../../ingest/submissions.ts'
import type { RefusedWriter } from '../../ports/refused.ts'
import { keepRefused } from './keep-refused.ts'
import { answerJson } from '../answers/call.ts'
import type { ApiCall, CallState } from '../answers/call.ts'
import { BatchReceiptWriter, presentExisting } from '../batch/batch-receipt.ts'
import type { EventIdTexts } from '../batch/event-id-texts.ts'
import type { MeasurementResponse } from '../../../schemas/messages.d.ts'
import { BatchScanner, ScannedBatch } from '../batch/scan-batch.ts'
import type { BodyReader } from '../body/read-body.ts'
import { readJson } from '../body/read-json.ts'
import type { LetOthers } from '../body/read-json.ts'
import { chargeOf } from '../callers/rate-limit.ts'
import type { RateLimits } from '../callers/rate-limit.ts'
import { isBatchQuery } from '../body/validate.ts'
import { membersOf, readQuery, readWithFaults, sendingOf, throwFaults } from './input.ts'
import { PartialBatch } from './partial-batch.ts'
import { faultOfElement, readBatch, readMeasurement } from './read-measurements.ts'
import type { FitElements } from './read-measurements.ts'
import type { Input } from './input.ts'

/** The parts that a submission passes through. */
export interface Intake {
  readonly submissions: Submissions
  readonly refusedWriter: RefusedWriter
  readonly rateLimits: RateLimits
  readonly bodies: BodyReader
}

/** One measurement. */
export function measurement(intake: Intake): Input<SubmittedMeasurements> {
  const read = (call: ApiCall) =>
    readSubmission(intake, call, readJson, (body) => {
      const { value, faults } = readWithFaults(body, call.query, readMeasurement)
      throwFaults(faults)
      return value
    })
  return { place: 'body', schema: 'measurement', read }
}

/**
 * A batch of them. The everyday form is scanned as bytes, any other body is parsed as JSON.
 */
export function measurementBatch(intake: Intake): Input<SubmittedMeasurements | PartialBatch> {
  const scanner = new BatchScanner()
  const parse = (bytes: Buffer, letOthers: LetOthers) =>
    scanner.scan(bytes) ?? readJson(bytes, letOthers, 'measurements')
  const read = (call: ApiCall) =>
    readSubmission(intake, call, parse, async (body) => {
      const faults: RequestFault[] = []
      const parameters = readQuery(call.query, isBatchQuery, faults)
      const value = readBatch(body, faults)
      if (parameters.on_invalid === 'skip') return new PartialBatch(value, faults, body)
      if (faults.length === 0) return value.measurements
      const more = await findMore(intake.submissions, call, value)
      const serverTime = { server_time: formatInstant(call.receivedAtMs) }
      throwFaults([...faults, ...more], more.length > 0 ? serverTime : {})
      return value.measurements
    })
  return { place: 'body', schema: 'measurement-batch', querySchema: 'batch-query', read }
}

/**
 * Reads a submission; it is turned away before its body is read while submissions are refused, or
 * the token's allowance is spent. What cannot be read is charged like what is taken, and by its
 * bytes where they are many: they took the time to read.
 */
async function readSubmission<T>(
  { submissions, rateLimits, bodies }: Intake,
  call: ApiCall,
  parse: (bytes: Buffer, letOthers: LetOthers) => unknown,
  read: (body: unknown) => T | Promise<T>,
): Promise<T> {
  const { ctx, principal } = call
  const refusal = submissions.refusal(principal.user.id)
  if (refusal !== undefined) throw submissions.refused(refusal)
  const { spent } = ctx.state as CallState
  if (spent !== undefined) throw spent
  let bytesRead = 0
  let body: unknown
  try {
    body = await bodies.read(sendingOf(call), (bytes, letOthers) => {
      bytesRead = bytes.length
      return parse(bytes, letOthers)
    })
    return await read(body)
  } catch (error) {
    const count = Math.max(elementsOf(body), chargeOf(bytesRead))
    await rateLimits.chargeRefused(principal.token.id, count, ctx.res)
    throw error
  }
}

/** How many measurements a body has, or would have if it were valid. */
function elementsOf(body: unknown): number {
  if (body instanceof ScannedBatch) return body.length
  const { measurements } = membersOf(body)
  return Array.isArray(measurements) ? measurements.length : 1
}

/**
 * What is wrong with the times of the elements whose form is right: every fault is to be told at
 * once, and which events are known already, so that their times do not matter, the ledger knows.
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

export function postMeasurement(intake: Intake) {
  return (call: ApiCall, measurements: SubmittedMeasurements): Promise<void> => {
    const submitted = measurements.at(0)
    if (submitted === undefined) throw new Error('BUG: a submission of nothing')
    return answerMeasurement(call, submitted, submit(call, measurements, intake))
  }
}

export function postBatch(intake: Intake) {
  const receipts = new BatchReceiptWriter()
  return (call: ApiCall, measurements: SubmittedMeasurements | PartialBatch): Promise<void> => {
    if (measurements instanceof PartialBatch) return postPartialBatch(call, measurements, intake)
    const eventIds = receipts.keepEventIds(measurements)
    return answerBatch(call, { receipts, eventIds }, submit(call, measurements, intake))
  }
}

async function postPartialBatch(
  call: ApiCall,
  batch: PartialBatch,
  { submissions, rateLimits, refusedWriter }: Intake,
): Promise<void> {
  const { ctx, principal, receivedAtMs } = call
  const { measurements, count } = batch
  const { token, user } = principal
  await rateLimits.countMeasurements(token.id, { receivedAtMs, measurements, count }, ctx.res)
  const submission = { userId: user.id, receivedAtMs, measurements }
  const committed = await commitValid(submissions, submission)
  await keepRefused(refusedWriter, call, batch.refusals(committed, receivedAtMs))
  const receipt = batch.receipt(committed)
  answerJson(call, receipt.data.created > 0 ? 201 : 200, JSON.stringify(receipt))
}

function submit(
  { ctx, principal, receivedAtMs }: ApiCall,
  measurements: SubmittedMeasurements,
  { submissions, rateLimits }: Intake,
): Promise<Receipt> {
  const { token, user } = principal
  const submission = { userId: user.id, receivedAtMs, measurements }
  const counted = rateLimits.countMeasurements(token.id, submission, ctx.res)
  return counted.then(() => submissions.commit(submission))
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

/** The receipt of a submission of one. */
function presentMeasurement(
  submitted: SubmittedMeasurement,
  item: ReceiptItem,
): MeasurementResponse {
  return {
    data: {
      event_id: submitted.eventId,
      sn: item.serialNumber,
      sensor_id: item.sensorId,
      temp: submitted.tempCelsius,
      timestamp: formatInstant(item.measuredAtMs),
      status: item.status,
    },
  }
}

/** What was accepted; what the journal refuses is reported with pointers into the body. */
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
  return index === undefined ? fault : faultOfElement(fault, index, eventIds.at(index))
}

function conflictError(submitted: SubmittedMeasurement, item: ReceiptItem): ServiceError {
  if (item.existing === undefined) throw new Error('BUG: a conflict without what it is with')
  const existing = presentExisting(submitted.eventId ?? '', item.existing)
  return new ServiceError('event_id_conflict', { members: { existing } })
}
