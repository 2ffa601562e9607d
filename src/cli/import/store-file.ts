// The two passes over a file: the first checks every line and stores nothing, the second stores.
// With a file for rejects, one pass does both.
//
// An interrupted import can be run again: what was stored is then a duplicate.

import { setTimeout as sleep } from 'node:timers/promises'
import { RuleCheck } from '../../operations/check-measurement.ts'
import type { Operations } from '../../commands/operations.ts'
import { OperationError, failureOf } from '../../operations/failure.ts'
import { importMeasurementsMax } from '../../operations/import-order.ts'
import type { ImportOrder, ImportReceipt, ImportRules } from '../../operations/import-order.ts'
import type { Progress } from '../terminal/progress.ts'
import { EventNames, FILE_CHANGED, MeasurementReader } from './read-measurements.ts'
import type { NamedMeasurement, ReaderSettings, TimeOrder } from './read-measurements.ts'
import { PeriodsBefore } from './periods-before.ts'
import type { FileRecord, RecordSource } from './read-records.ts'
import type { RejectsFile } from './rejects-file.ts'

export interface ImportJob extends ReaderSettings {
  readonly user: string
  readonly source: RecordSource
  readonly rules: ImportRules
  /** Whether lines that equal stored measurements are stored, too. */
  readonly keepsEqual: boolean
  readonly progress: Progress
}

/** Lines that were not stored; the first `NAMED_MAX` with number and reason. */
export interface BadLines {
  count: number
  readonly named: string[]
}

export interface ImportTotals {
  lines: number
  created: number
  duplicates: number
  readonly conflicts: BadLines
  readonly rejected: BadLines
}

const NAMED_MAX = 100
const ATTEMPTS_MAX = 60
const RETRY_SECONDS_MAX = 10

interface ImportLine extends NamedMeasurement {
  readonly record: FileRecord
}

/**
 * Reads the whole file and stores nothing.
 *
 * @param order notes every measurement
 */
export async function findBadLines(job: ImportJob, order: TimeOrder): Promise<BadLines> {
  const bad: BadLines = { count: 0, named: [] }
  const reader = new MeasurementReader(new RuleCheck(job.rules), job)
  for await (const record of job.source.records(job.progress.advance)) {
    job.progress.count(1)
    const { measurement, fault } = reader.read(record)
    if (measurement === undefined) note(bad, record, fault)
    else order.add(measurement)
  }
  return bad
}

/**
 * Reads the file and stores its measurements in file order.
 *
 * @param rejects where bad lines go; `undefined`: there must be none
 * @param order of the file's measurements, if it was read before: saves much memory
 * @throws OperationError if it cannot continue; what was stored until then stays
 */
export async function storeFile(
  job: ImportJob,
  operations: Operations,
  rejects: RejectsFile | undefined,
  order?: TimeOrder,
): Promise<ImportTotals> {
  const sender = new Sender(job, operations, rejects)
  const reader = new MeasurementReader(new RuleCheck(job.rules), job)
  const names = new EventNames(order)
  let batch: ImportLine[] = []
  // One batch is being stored while the next is read; never two, which keeps the order.
  let sending = Promise.resolve()
  const send = async (next: readonly ImportLine[]) => {
    await sending
    sending = sender.send(next)
    // Awaited before the next batch; until then its failure must not count as unhandled.
    void Promise.allSettled([sending])
  }
  for await (const record of job.source.records(job.progress.advance)) {
    job.progress.count(1)
    sender.totals.lines++
    const { measurement, fault } = reader.read(record)
    if (measurement === undefined) await sender.reject(record, fault)
    else batch.push({ record, ...names.named(measurement) })
    if (batch.length < importMeasurementsMax) continue
    await send(batch)
    batch = []
  }
  await send(batch)
  await sending
  return sender.totals
}

class Sender {
  readonly #job: ImportJob
  readonly #operations: Operations
  readonly #rejects: RejectsFile | undefined
  readonly #before: PeriodsBefore
  readonly totals: ImportTotals = {
    lines: 0,
    created: 0,
    duplicates: 0,
    conflicts: { count: 0, named: [] },
    rejected: { count: 0, named: [] },
  }
  #isWaitSaid = false

  constructor(job: ImportJob, operations: Operations, rejects: RejectsFile | undefined) {
    this.#job = job
    this.#operations = operations
    this.#rejects = rejects
    this.#before = new PeriodsBefore(operations, job)
  }

  async reject(record: FileRecord, fault: string): Promise<void> {
    if (this.#rejects === undefined) {
      const message = `line ${record.line}: ${fault}: ${FILE_CHANGED}`
      throw new OperationError({ kind: 'failed', message })
    }
    note(this.totals.rejected, record, fault)
    await this.#rejects.add(record, fault)
  }

  async send(batch: readonly ImportLine[]): Promise<void> {
    let rest = batch
    while (rest.length > 0) {
      try {
        rest = await this.#settle(rest, await this.#store(rest))
      } catch (error) {
        rest = await this.#withoutFaulty(rest, error)
      }
    }
  }

  async #store(batch: readonly ImportLine[]): Promise<ImportReceipt> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#operations.importMeasurements(await this.#orderOf(batch))
      } catch (error) {
        const waitSeconds = retryAfterSeconds(error)
        if (waitSeconds === undefined || attempt === ATTEMPTS_MAX) throw error
        this.#sayWait(error)
        await sleep(Math.min(waitSeconds, RETRY_SECONDS_MAX) * 1_000)
      }
    }
  }

  async #orderOf(batch: readonly ImportLine[]): Promise<ImportOrder> {
    const { user, keepsEqual } = this.#job
    const measurements = batch.map(({ measurement }) => measurement)
    const areCompared = keepsEqual ? [] : await this.#before.cover(measurements)
    const equalsBefore = batch.map(({ hasOwnId, equalsBefore: before }, at) => {
      return areCompared[at] === true && !hasOwnId ? before : null
    })
    // Else the next import of the file would take a later one for the first that is not stored.
    const isInOrder = batch.some((line) => line.equalsBefore > 0)
    return { user, measurements, equalsBefore, isInOrder }
  }

  /** Once: whoever sees it knows what to look at, as long as it takes. */
  #sayWait(error: unknown): void {
    if (this.#isWaitSaid) return
    this.#isWaitSaid = true
    const { message = '', hint } = failureOf(error) ?? {}
    this.#job.progress.end()
    const why = [message, hint].filter((text) => text !== undefined).join('\n')
    this.#job.progress.note(`nothing is stored now, trying again: ${why}`)
  }

  /**
   * @returns what is to be sent again under another name: its sensor was deleted after an import
   *   had named it so
   */
  async #settle(
    batch: readonly ImportLine[],
    receipt: ImportReceipt,
  ): Promise<readonly ImportLine[]> {
    const again = receipt.deleted.flatMap(({ index, sensorId }) => {
      const line = batch[index]
      return line === undefined || line.hasOwnId ? [] : [renamed(line, sensorId)]
    })
    this.totals.created += receipt.created
    this.totals.duplicates += receipt.duplicates - again.length
    for (const index of receipt.conflicts) {
      const line = batch[index]
      if (line === undefined) continue
      const eventId = JSON.stringify(line.measurement.eventId)
      const fault = `event_id ${eventId} was accepted before with other content`
      note(this.totals.conflicts, line.record, fault)
      await this.#rejects?.add(line.record, fault)
    }
    return again
  }

  /** What is left to send after a refusal that names measurements; any other refusal is final. */
  async #withoutFaulty(
    batch: readonly ImportLine[],
    error: unknown,
  ): Promise<readonly ImportLine[]> {
    const faults = error instanceof OperationError ? (error.failure.faults ?? []) : []
    const details = new Map(faults.map(({ index, detail }) => [index, detail]))
    const faulty = batch.flatMap(({ record }, index) => {
      const detail = details.get(index)
      return detail === undefined ? [] : [{ record, detail }]
    })
    if (faulty.length === 0) throw error
    for (const { record, detail } of faulty) await this.reject(record, detail)
    return batch.filter((_, index) => !details.has(index))
  }
}

/** The name that it has after the deletion of a sensor: importing it twice still stores it once. */
function renamed(line: ImportLine, deletedSensorId: number): ImportLine {
  const eventId = (line.measurement.eventId ?? '').replace(/(?:-d\d+)?$/, `-d${deletedSensorId}`)
  return { ...line, measurement: { ...line.measurement, eventId } }
}

function retryAfterSeconds(error: unknown): number | undefined {
  return failureOf(error)?.retryAfterSeconds
}

function note(bad: BadLines, { line }: FileRecord, fault: string): void {
  bad.count++
  if (bad.named.length < NAMED_MAX) bad.named.push(`line ${line}: ${fault}`)
}
