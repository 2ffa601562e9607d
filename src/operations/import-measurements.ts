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
import { OperationError, usage } from './failure.ts'
import { importMeasurementsMax } from './import-order.ts'
import type { ImportOrder, ImportReceipt } from './import-order.ts'

interface Importing extends StoredSources {
  readonly submissions: Pick<Submissions, 'submit'>
  readonly clock: Clock
}

/** What became of the submissions of an import. */
interface Outcome {
  created: number
  duplicates: number
  readonly conflicts: number[]
  readonly repeated: { readonly index: number; readonly sensorId: number }[]
}

/** Commits submissions concurrently where it may, so that one group commit takes them together. */
export async function importMeasurements(
  sources: Importing,
  userId: number,
  order: Omit<ImportOrder, 'user'>,
): Promise<ImportReceipt> {
  checkForm(order)
  const { measurements, isInOrder } = order
  const stored = await findStored(sources, userId, order)
  const parts = cut([...measurements.keys()].filter((index) => !stored.has(index)))
  const outcome: Outcome = { created: 0, duplicates: stored.size, conflicts: [], repeated: [] }
  const of = { userId, receivedAtMs: sources.clock.nowMs() }
  for (const together of isInOrder ? parts.map((part) => [part]) : [parts]) {
    const results = await Promise.allSettled(
      together.map((part) => {
        const submitted = part.flatMap((index) => measurements[index] ?? [])
        return sources.submissions.submit({ ...of, measurements: submitted })
      }),
    )
    const failures: unknown[] = []
    for (const [at, part] of together.entries()) {
      const result = results[at]
      if (result?.status === 'fulfilled') add(outcome, result.value, part)
      else failures.push(inWhole(result?.reason, part))
    }
    if (failures.length > 0) throw worst(failures)
  }
  const { repeated, ...receipt } = outcome
  return { ...receipt, deleted: await ofDeletedSensors(sources, userId, order, repeated) }
}

async function ofDeletedSensors(
  { control }: Importing,
  userId: number,
  { measurements }: Pick<ImportOrder, 'measurements'>,
  repeated: Outcome['repeated'],
): Promise<ImportReceipt['deleted']> {
  if (repeated.length === 0) return []
  const names = new Set(repeated.flatMap(({ index }) => measurements[index]?.serialNumber ?? []))
  const sensors = await control.findSensors(userId, [...names])
  const ids = new Set(sensors.map(({ id }) => id))
  return repeated.filter(({ sensorId }) => !ids.has(sensorId))
}

function checkForm(order: Readonly<Record<string, unknown>>): void {
  const { measurements, equalsBefore, isInOrder } = order
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
  if (typeof isInOrder !== 'boolean') throw usage('an import says whether it is in order')
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

function add(outcome: Outcome, receipt: Receipt, part: readonly number[]): void {
  const { created, duplicate, conflict } = receipt.counts
  outcome.created += created
  outcome.duplicates += duplicate
  if (duplicate + conflict === 0) return
  for (const [at, index] of part.entries()) {
    const { status, sensorId } = receipt.at(at)
    if (status === 'conflict') outcome.conflicts.push(index)
    if (status === 'duplicate') outcome.repeated.push({ index, sensorId })
  }
}
