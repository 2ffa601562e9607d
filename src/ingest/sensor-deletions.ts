// Deletes the measurements of deleted sensors from the measurement store. Each deletion is a
// durable job that begins when all of the sensor's measurements are forwarded, continues across
// restarts, and ends when they are certainly gone.
//
// Where a store can bring back what it has deleted, or a write with an unknown outcome may still
// arrive, the job is repeated, and repeated again after each such write.

import { MINUTE_MS } from '../domain/time.ts'
import type { Leases } from '../ports/leases.ts'
import type { MeasurementWriter } from '../ports/measurement-store.ts'
import type { SensorDeletion, SensorDeletionJobs } from '../ports/store-upkeep.ts'
import type { Clock, Log } from '../ports/system.ts'
import { backoffMs } from './backoff.ts'

export interface SensorDeletionsCollaborators {
  readonly jobs: SensorDeletionJobs
  readonly leases: Leases
  readonly writer: MeasurementWriter
  readonly lastUnknownOutcomeAtMs: () => number
  readonly pause: (durationMs: number, signal: AbortSignal) => Promise<void>
  readonly random: () => number
  readonly clock: Clock
  readonly log: Log
}

export interface SensorDeletionsSettings {
  /** How often to delete a sensor's measurements, at least. */
  readonly passesMin: number
  /** Between two passes. */
  readonly passGapMs: number
  /** How often to look for a job that is due. */
  readonly lookEveryMs: number
}

/** Only one process deletes at a time. Renewed before each deletion, which takes less time. */
const LEASE = { name: 'sensor deletions', forMs: 5 * MINUTE_MS }

export class SensorDeletions {
  readonly #with: SensorDeletionsCollaborators
  readonly #settings: SensorDeletionsSettings
  readonly #stopping = new AbortController()
  /** Consecutive failures by sensor. */
  readonly #failures = new Map<number, number>()
  /** Earliest next try: after a pass that may not be recorded yet, or after a failure. */
  readonly #notBeforeMs = new Map<number, number>()
  /** Whether the last look failed. */
  #hasFailed = false
  #running: Promise<void> | undefined

  constructor(collaborators: SensorDeletionsCollaborators, settings: SensorDeletionsSettings) {
    this.#with = collaborators
    this.#settings = settings
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Lets the deletion under way finish. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#deleteDue()
        this.#hasFailed = false
      } catch (error) {
        this.#noteError(error)
      }
      await this.#with.pause(this.#settings.lookEveryMs, this.#stopping.signal)
    }
    await this.#with.leases.release(LEASE.name)
  }

  async #deleteDue(): Promise<void> {
    for (const deletion of await this.#due()) {
      if (this.#stopping.signal.aborted || !(await this.#holdsLease())) return
      await this.#delete(deletion)
    }
  }

  #holdsLease(): Promise<boolean> {
    return this.#with.leases.take(LEASE.name, LEASE.forMs)
  }

  async #due(): Promise<readonly SensorDeletion[]> {
    if (!(await this.#holdsLease())) return []
    const nowMs = this.#with.clock.nowMs()
    for (const [sensorId, notBeforeMs] of this.#notBeforeMs) {
      if (notBeforeMs <= nowMs) this.#notBeforeMs.delete(sensorId)
    }
    const due = await this.#with.jobs.due(nowMs)
    return due.filter(({ sensorId }) => !this.#notBeforeMs.has(sensorId))
  }

  async #delete(deletion: SensorDeletion): Promise<void> {
    const { jobs, writer, clock, log } = this.#with
    const { sensorId, range } = deletion
    try {
      await writer.deleteSensor(deletion, range)
    } catch (error) {
      this.#noteFailure(sensorId, error)
      return
    }
    this.#failures.delete(sensorId)
    const nowMs = clock.nowMs()
    const isLast = this.#isLast(deletion, nowMs)
    const dueAtMs = isLast ? undefined : nowMs + this.#settings.passGapMs
    this.#notBeforeMs.set(sensorId, nowMs + Math.max(this.#settings.lookEveryMs * 2, 5_000))
    await jobs.notePass(deletion, dueAtMs)
    if (isLast) log.info('a sensor is deleted from the measurement store', { sensor_id: sensorId })
  }

  /** Whatever it is, it must not end the process: nothing else waits for deletions. */
  #noteError(error: unknown): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    const reason = error instanceof Error ? error.message : String(error)
    this.#with.log.error('cannot look for sensors to delete; tried again', { error: reason })
  }

  #noteFailure(sensorId: number, error: unknown): void {
    const { clock, log, random } = this.#with
    const failures = this.#failures.get(sensorId) ?? 0
    this.#failures.set(sensorId, failures + 1)
    this.#notBeforeMs.set(sensorId, clock.nowMs() + backoffMs(failures, random()))
    if (failures > 0) return
    const reason = error instanceof Error ? error.message : String(error)
    log.warn('cannot delete a sensor from the measurement store; tried again until it is gone', {
      sensor_id: sensorId,
      error: reason,
    })
  }

  #isLast({ passes }: SensorDeletion, nowMs: number): boolean {
    const { passesMin, passGapMs } = this.#settings
    const quietSinceMs = this.#with.lastUnknownOutcomeAtMs()
    return passes + 1 >= passesMin && (passesMin === 1 || quietSinceMs < nowMs - passGapMs)
  }
}
