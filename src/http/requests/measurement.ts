// Submitting a measurement: from its JSON into the journal, and back with the receipt. Only the
// code that reads it decides whether it is valid, so everything passed on really has its type.
// Refusals by the journal are reported with pointers into the body.

import type { Measurement, MeasurementResponse } from '../../../schemas/messages.d.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'
import { elementFaultsMax } from '../../domain/limits.ts'
import type {
  Receipt,
  ReceiptItem,
  SubmittedMeasurement,
  SubmittedMeasurements,
} from '../../domain/measurement.ts'
import { formatInstant, parseInstant } from '../../domain/time.ts'
import type { Submissions } from '../../ingest/submissions.ts'
import { answerJson } from '../answers/call.ts'
import type { ApiCall, CallState } from '../answers/call.ts'
import { jsonBody } from '../body/bounds.ts'
import { presentExisting } from '../batch/batch-receipt.ts'
import type { BodyGate } from '../body/gate.ts'
import { readJson } from '../body/read-json.ts'
import type { LetOthers } from '../body/read-json.ts'
import { faultsIn, isMeasurement } from '../body/validate.ts'
import { chargeOf } from '../callers/rate-limit.ts'
import type { RateLimits } from '../callers/rate-limit.ts'
import {
  loneSurrogate,
  membersOf,
  notAnInstant,
  readWithFaults,
  sendingOf,
  throwFaults,
} from './input.ts'
import type { Input } from './input.ts'

/** What a submission passes through. */
export interface Intake {
  readonly submissions: Submissions
  readonly rateLimits: RateLimits
  readonly bodies: BodyGate
}

/** One measurement. */
export function measurement(intake: Intake): Input<SubmittedMeasurements> {
  const reading: SubmissionReading<SubmittedMeasurements> = {
    parse: readJson,
    read: (body, call) => {
      const { value, faults } = readWithFaults(body, call.query, readMeasurement)
      throwFaults(faults)
      return value
    },
    elementsOf,
  }
  const read = (call: ApiCall) => readSubmission(intake, call, reading)
  return { bounds: jsonBody, schema: 'measurement', read }
}

/** How to read the body of a submission. */
export interface SubmissionReading<T> {
  readonly parse: (bytes: Buffer, letOthers: LetOthers) => unknown
  readonly read: (body: unknown, call: ApiCall) => T | Promise<T>
  /** How many measurements a body contains, or would contain if it were valid. */
  readonly elementsOf: (body: unknown) => number
}

/**
 * Reads a submission; rejects it before reading the body while submissions are refused or the
 * token's allowance is used up. Unreadable bodies are charged like accepted ones, and large ones by
 * their bytes, because reading them took time.
 */
export async function readSubmission<T>(
  { submissions, rateLimits, bodies }: Intake,
  call: ApiCall,
  reading: SubmissionReading<T>,
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
      return reading.parse(bytes, letOthers)
    })
    return await reading.read(body, call)
  } catch (error) {
    const count = Math.max(reading.elementsOf(body), chargeOf(bytesRead))
    await rateLimits.charge(principal.token, count, ctx.res)
    throw error
  }
}

/** How many measurements a JSON body contains, or would contain if it were valid. */
export function elementsOf(body: unknown): number {
  const { measurements } = membersOf(body)
  return Array.isArray(measurements) ? measurements.length : 1
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
  const measuredAtMs = typeof timestamp === 'string' ? parseInstant(timestamp) : null
  if (measuredAtMs === undefined) found.push(notAnInstant(`${at}/timestamp`))
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

export function postMeasurement(intake: Intake) {
  return (call: ApiCall, measurements: SubmittedMeasurements): Promise<void> => {
    const submitted = measurements.at(0)
    if (submitted === undefined) throw new Error('BUG: a submission of nothing')
    return answerMeasurement(call, submitted, submit(call, measurements, intake))
  }
}

export function submit(
  { ctx, principal, receivedAtMs }: ApiCall,
  measurements: SubmittedMeasurements,
  { submissions, rateLimits }: Intake,
): Promise<Receipt> {
  const { token, user } = principal
  const submission = { userId: user.id, receivedAtMs, measurements }
  const counted = rateLimits.countMeasurements(token, submission, ctx.res)
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

/** The receipt of a single submission. */
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

/** What was accepted; refusals by the journal are reported with pointers into the body. */
export async function receiptOf(
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

/** The journal's pointers start at the element, which is the whole body here. */
function asSingle({ pointer, code, detail }: RequestFault): RequestFault {
  return { pointer, code, detail }
}

function conflictError(submitted: SubmittedMeasurement, item: ReceiptItem): ServiceError {
  if (item.existing === undefined) throw new Error('BUG: a conflict without what it is with')
  const existing = presentExisting(submitted.eventId ?? '', item.existing)
  return new ServiceError('event_id_conflict', { members: { existing } })
}
