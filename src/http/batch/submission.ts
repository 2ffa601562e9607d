// What every submission in JSON passes through: it is turned away early, read, counted, and its
// receipt awaited.

import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'
import type { Receipt, SubmittedMeasurements } from '../../domain/measurement.ts'
import { formatInstant } from '../../domain/time.ts'
import type { Submissions } from '../../ingest/submissions.ts'
import type { ApiCall, CallState } from '../call/call.ts'
import { sendingOf } from '../body/gate.ts'
import type { BodyGate } from '../body/gate.ts'
import type { LetOthers } from '../answers/turns.ts'
import { chargeOf } from '../callers/rate-limit.ts'
import type { RateLimits } from '../callers/rate-limit.ts'
import { membersOf } from '../routes/input.ts'
import { ScannedBatch } from './scan-batch.ts'

/** What a submission passes through. */
export interface Intake {
  readonly submissions: Submissions
  readonly rateLimits: RateLimits
  readonly bodies: BodyGate
}

/** The measurements of a submission that can be stored. */
export interface ReadMeasurements {
  readonly measurements: SubmittedMeasurements
  /** How many were sent, if the others are to be refused one by one. */
  readonly count?: number
}

/** How to read the body of a submission. */
interface SubmissionReading<T> {
  readonly parse: (bytes: Buffer, letOthers: LetOthers) => unknown
  readonly read: (body: unknown, call: ApiCall) => T | Promise<T>
}

/**
 * Reads a submission and takes the token's allowance for it; rejects it before reading the body
 * while submissions are refused or the allowance is used up. What cannot be stored is charged like
 * what can, and where it is large by the bytes of the body, because reading them took time.
 */
export async function readSubmission<T extends ReadMeasurements>(
  { submissions, rateLimits, bodies }: Intake,
  call: ApiCall,
  reading: SubmissionReading<T>,
): Promise<T> {
  const { ctx, principal, receivedAtMs } = call
  const { token, user } = principal
  submissions.admit(user.id)
  const { spent } = ctx.state as CallState
  if (spent !== undefined) throw spent
  let bytesRead = 0
  let body: unknown
  let value: T
  try {
    body = await bodies.read(sendingOf(call), (bytes, letOthers) => {
      bytesRead = bytes.length
      return reading.parse(bytes, letOthers)
    })
    value = await reading.read(body, call)
  } catch (error) {
    const count = Math.max(elementsOf(body), chargeOf(bytesRead))
    await rateLimits.charge(token, count, ctx.res)
    throw error
  }
  const { measurements, count = measurements.length } = value
  await rateLimits.countMeasurements(token, { receivedAtMs, measurements, count }, ctx.res)
  const unread = chargeOf(bytesRead) - count
  const isCharged = count > measurements.length && unread > 0
  if (isCharged) await rateLimits.charge(token, unread, ctx.res)
  return value
}

/** How many measurements a body contains, or would contain if it were valid. */
function elementsOf(body: unknown): number {
  if (body instanceof ScannedBatch) return body.length
  const { measurements } = membersOf(body)
  return Array.isArray(measurements) ? measurements.length : 1
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
