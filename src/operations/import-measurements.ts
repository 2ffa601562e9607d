// Imports measurements that a command has read from a file: like all submissions they pass through
// the journal, in parts of the size that a request may have.

import { ServiceError } from '../domain/errors.ts'
import type { RequestFault } from '../domain/errors.ts'
import { submissionMeasurementsMax } from '../domain/limits.ts'
import type { Receipt, SubmittedMeasurement } from '../domain/measurement.ts'
import type { Submissions } from '../ingest/submissions.ts'
import { formFault } from './check-measurement.ts'
import { importMeasurementsMax, OperationError, usage } from './operations.ts'
import type { ImportReceipt } from './operations.ts'

/** Commits an import's submissions concurrently, so that one group commit takes them together. */
export async function importMeasurements(
  submissions: Pick<Submissions, 'submit'>,
  of: { readonly userId: number; readonly receivedAtMs: number },
  measurements: readonly SubmittedMeasurement[],
): Promise<ImportReceipt> {
  checkForm(measurements)
  const parts = cut(measurements)
  const results = await Promise.allSettled(
    parts.map((part) => submissions.submit({ ...of, measurements: part })),
  )
  const receipts: Receipt[] = []
  const failures: unknown[] = []
  for (const [part, result] of results.entries()) {
    if (result.status === 'fulfilled') receipts.push(result.value)
    else failures.push(inWhole(result.reason, part * submissionMeasurementsMax))
  }
  if (failures.length > 0) throw worst(failures)
  return summarise(receipts)
}

function checkForm(measurements: unknown): void {
  if (!Array.isArray(measurements) || measurements.length > importMeasurementsMax) {
    throw usage(`an import takes at most ${importMeasurementsMax} measurements at a time`)
  }
  for (const [index, measurement] of (measurements as unknown[]).entries()) {
    const isObject = typeof measurement === 'object' && measurement !== null
    const fault = isObject ? formFault({ ...measurement }) : 'no measurement'
    if (fault !== undefined) throw usage(`measurement ${index}: ${fault}`)
  }
}

function cut<T>(list: readonly T[]): T[][] {
  const count = Math.ceil(list.length / submissionMeasurementsMax)
  return Array.from({ length: count }, (_, part) =>
    list.slice(part * submissionMeasurementsMax, (part + 1) * submissionMeasurementsMax),
  )
}

/** Turns the failure of one submission into one of the whole import. */
function inWhole(error: unknown, startIndex: number): unknown {
  if (!(error instanceof ServiceError) || error.faults === undefined) return error
  const faults = error.faults.map((fault): RequestFault =>
    fault.index === undefined ? fault : { ...fault, index: fault.index + startIndex },
  )
  return new OperationError({ kind: 'failed', message: error.message, faults }, { cause: error })
}

/** Errors worth retrying may hide permanent ones, so faults of measurements are reported first. */
function worst(failures: readonly unknown[]): unknown {
  const faulty = failures.filter((error) => error instanceof OperationError)
  const [first] = faulty
  if (first === undefined) return failures[0]
  const faults = faulty.flatMap(({ failure }) => failure.faults ?? [])
  return new OperationError({ ...first.failure, faults }, { cause: first })
}

function summarise(receipts: readonly Receipt[]): ImportReceipt {
  const total = { created: 0, duplicates: 0 }
  const conflicts: number[] = []
  let start = 0
  for (const receipt of receipts) {
    total.created += receipt.counts.created
    total.duplicates += receipt.counts.duplicate
    for (let at = 0; at < receipt.count && receipt.counts.conflict > 0; at++) {
      if (receipt.at(at).status === 'conflict') conflicts.push(start + at)
    }
    start += receipt.count
  }
  return { ...total, conflicts }
}
