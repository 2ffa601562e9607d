// Imports measurements that a command has read from a file: like all submissions they pass through
// the journal, in parts of the size that a request may have. What is stored already does not.

import { ServiceError } from '../domain/errors.ts'
import type { RequestFault } from '../domain/errors.ts'
import { submissionMeasurementsMax } from '../domain/limits.ts'
import type { Receipt } from '../domain/measurement.ts'
import type { Submissions } from '../ingest/submissions.ts'
import type { Clock } from '../ports/system.ts'
import { formFault } from './check-measurement.ts'
import { findStored } from './equal-measurements.ts'
import type { StoredSources } from './equal-measurements.ts'
import { importMeasurementsMax, OperationError, usage } from './operations.ts'
import type { ImportOrder, ImportReceipt } from './operations.ts'

interface Importing extends StoredSources {
  readonly submissions: Pick<Submissions, 'submit'>
  readonly clock: Clock
}

/** Commits an import's submissions concurrently, so that one group commit takes them together. */
export async function importMeasurements(
  sources: Importing,
  userId: number,
  order: Pick<ImportOrder, 'measurements' | 'equalsBefore'>,
): Promise<ImportReceipt> {
  checkForm(order)
  const { measurements } = order
  const stored = await findStored(sources, userId, order)
  const parts = cut([...measurements.keys()].filter((index) => !stored.has(index)))
  const of = { userId, receivedAtMs: sources.clock.nowMs() }
  const results = await Promise.allSettled(
    parts.map((part) => {
      const submitted = part.flatMap((index) => measurements[index] ?? [])
      return sources.submissions.submit({ ...of, measurements: submitted })
    }),
  )
  const receipt = { created: 0, duplicates: stored.size, conflicts: [] as number[] }
  const failures: unknown[] = []
  for (const [at, part] of parts.entries()) {
    const result = results[at]
    if (result?.status === 'fulfilled') add(receipt, result.value, part)
    else failures.push(inWhole(result?.reason, part))
  }
  if (failures.length > 0) throw worst(failures)
  return receipt
}

function checkForm({ measurements, equalsBefore }: Readonly<Record<string, unknown>>): void {
  if (!Array.isArray(measurements) || measurements.length > importMeasurementsMax) {
    throw usage(`an import takes at most ${importMeasurementsMax} measurements at a time`)
  }
  for (const [index, measurement] of (measurements as unknown[]).entries()) {
    const isObject = typeof measurement === 'object' && measurement !== null
    const fault = isObject ? formFault({ ...measurement }) : 'no measurement'
    if (fault !== undefined) throw usage(`measurement ${index}: ${fault}`)
  }
  if (
    !Array.isArray(equalsBefore) ||
    equalsBefore.length !== measurements.length ||
    !equalsBefore.every(isCountOrNull)
  ) {
    throw usage('an import says of each measurement how many equal ones were before it, or null')
  }
}

function isCountOrNull(value: unknown): boolean {
  return value === null || (Number.isSafeInteger(value) && Number(value) >= 0)
}

function cut(indexes: readonly number[]): number[][] {
  const count = Math.ceil(indexes.length / submissionMeasurementsMax)
  return Array.from({ length: count }, (_, part) =>
    indexes.slice(part * submissionMeasurementsMax, (part + 1) * submissionMeasurementsMax),
  )
}

/** Turns the failure of one submission into one of the whole import. */
function inWhole(error: unknown, part: readonly number[]): unknown {
  if (!(error instanceof ServiceError) || error.faults === undefined) return error
  const faults = error.faults.map((fault): RequestFault => {
    const index = part[fault.index ?? -1]
    return index === undefined ? fault : { ...fault, index }
  })
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

function add(
  total: { created: number; duplicates: number; readonly conflicts: number[] },
  receipt: Receipt,
  part: readonly number[],
): void {
  total.created += receipt.counts.created
  total.duplicates += receipt.counts.duplicate
  if (receipt.counts.conflict === 0) return
  total.conflicts.push(...part.filter((_, at) => receipt.at(at).status === 'conflict'))
}
