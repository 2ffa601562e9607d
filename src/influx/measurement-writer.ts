// The writing side of InfluxDB as the measurement store. It keeps nothing: a batch stays in the
// journal until its write has resolved, and if anything is in doubt the whole batch is rewritten.
//
// InfluxDB acknowledges a write when its log is on disk. A write refused because of some lines is
// bisected until the permanently refused lines are found.
//
// Nothing is written before the bucket has been checked not to expire data: InfluxDB may have been
// unreachable when the service started.

import { StoreUnavailable } from '../domain/errors.ts'
import type {
  MeasurementWriter,
  ToSetAside,
  SensorInfo,
  StoreBatch,
} from '../ports/measurement-store.ts'
import type { Clock, Log } from '../ports/system.ts'
import type { BucketState } from './bucket-check.ts'
import { InfluxUnreachable } from './connection.ts'
import type { InfluxConnection } from './connection.ts'
import { SensorDeletion } from './sensor-deletion.ts'
import { writeOutcome } from './write-outcome.ts'
import type { WriteOutcome } from './write-outcome.ts'
import { planRequests } from './write-plan.ts'
import type { RequestLines } from './write-plan.ts'

/** More would only queue in InfluxDB; one would leave it idle while the next is prepared. */
const REQUESTS_IN_FLIGHT_MAX = 3

export interface InfluxWriterCollaborators {
  readonly connection: InfluxConnection
  /** See `checkInfluxBucket`. */
  readonly checkBucket: () => Promise<BucketState>
  readonly clock: Clock
  readonly log: Log
}

export class InfluxMeasurementWriter implements MeasurementWriter {
  readonly #connection: InfluxConnection
  readonly #checkBucket: () => Promise<BucketState>
  readonly #clock: Clock
  readonly #log: Log
  readonly #path: string
  readonly #deletion: SensorDeletion
  #isBucketReady = false

  /** Takes over the connection and closes it in `close`. */
  constructor({ connection, checkBucket, clock, log }: InfluxWriterCollaborators) {
    this.#connection = connection
    this.#checkBucket = checkBucket
    this.#clock = clock
    this.#log = log
    const { organization: org, influxBucket: bucket } = connection.target
    const query = new URLSearchParams({ org, bucket, precision: 'ns' })
    this.#path = `/api/v2/write?${query.toString()}`
    this.#deletion = new SensorDeletion(connection, (body) => this.#writeAll(body))
  }

  async write(batch: StoreBatch): Promise<readonly ToSetAside[]> {
    await this.#ensureBucket()
    const toSetAside: ToSetAside[] = []
    const requests = planRequests(batch, {
      measurement: (index, reason) => void toSetAside.push({ index, reason }),
      info: (info, reason) => this.#sayInfoRejected(info, reason),
    })
    let next = 0
    let failure: Error | undefined
    const writeInTurn = async () => {
      while (failure === undefined) {
        const lines = requests[next++]
        if (lines === undefined) return
        try {
          await this.#write(lines, 0, lines.count)
        } catch (error) {
          // A write with unknown outcome may still be applied, so it outranks a definite refusal.
          failure = graver(failure, error as Error)
        }
      }
    }
    await Promise.all(Array.from({ length: REQUESTS_IN_FLIGHT_MAX }, writeInTurn))
    if (failure !== undefined) throw failure
    return toSetAside.sort((a, b) => a.index - b.index)
  }

  /** InfluxDB responds to a write after syncing it. */
  async sync(): Promise<void> {
    return undefined
  }

  /** @throws StoreUnavailable if it is not certain that they are gone */
  async deleteSensor(...order: Parameters<MeasurementWriter['deleteSensor']>): Promise<void> {
    await this.#ensureBucket()
    await this.#deletion.delete(...order)
  }

  async life(): Promise<string | undefined> {
    try {
      const { status, body } = await this.#connection.exchange({ method: 'GET', path: '/ready' })
      if (status !== 200) return undefined
      const [, started] = /"started":\s*"([^"]+)"/.exec(body) ?? []
      return started
    } catch (error) {
      if (error instanceof InfluxUnreachable) return undefined
      throw error
    }
  }

  async close(): Promise<void> {
    this.#connection.close()
  }

  async #ensureBucket(): Promise<void> {
    if (this.#isBucketReady) return
    const state = await this.#checkBucket()
    if (state.kind === 'unreachable') throw new StoreUnavailable(state.reason)
    if (state.kind === 'expires' || state.kind === 'fault') {
      throw new StoreUnavailable(`${state.problem}: ${state.remedy}`, { isPaused: true })
    }
    if (state.kind === 'created') {
      this.#log.info('created the bucket', { bucket: this.#connection.target.influxBucket })
    }
    this.#isBucketReady = true
  }

  async #write(lines: RequestLines, start: number, stop: number): Promise<void> {
    const outcome = await this.#post(lines.toBody(start, stop))
    if (outcome.kind === 'accepted') return
    if (outcome.kind === 'kept' || outcome.kind === 'paused') throw unavailable(outcome)
    const isNoneWritten =
      outcome.kind === 'rejected_in_part' && outcome.droppedLines === stop - start
    if (stop - start === 1 || isNoneWritten) {
      for (let at = start; at < stop; at++) lines.reject(at, outcome.reason)
      return
    }
    const middle = (start + stop) >> 1
    await this.#write(lines, start, middle)
    await this.#write(lines, middle, stop)
  }

  /** Writes lines none of which may be refused. */
  async #writeAll(body: Buffer): Promise<void> {
    const outcome = await this.#post(body)
    if (outcome.kind === 'accepted') return
    if (outcome.kind === 'kept' || outcome.kind === 'paused') throw unavailable(outcome)
    throw new StoreUnavailable(outcome.reason)
  }

  async #post(body: Buffer): Promise<WriteOutcome> {
    const contentType = 'text/plain; charset=utf-8'
    try {
      const order = { method: 'POST', path: this.#path, contentType, body } as const
      const answer = await this.#connection.exchange(order)
      return writeOutcome(answer, this.#clock.nowMs())
    } catch (error) {
      if (!(error instanceof InfluxUnreachable)) throw error
      const { message: reason, hasBeenSent: isOutcomeUnknown } = error
      return { kind: 'kept', reason, retryAfterMs: undefined, isOutcomeUnknown }
    }
  }

  // It is not retried: the sensor's next change writes all of it again.
  #sayInfoRejected({ sensorId }: SensorInfo, reason: string): void {
    this.#log.error('InfluxDB refuses the info of a sensor', { sensor_id: sensorId, reason })
  }
}

function unavailable(outcome: Extract<WriteOutcome, { kind: 'kept' | 'paused' }>) {
  const { retryAfterMs } = outcome
  return outcome.kind === 'paused'
    ? new StoreUnavailable(outcome.reason, { retryAfterMs, isPaused: true })
    : new StoreUnavailable(outcome.reason, {
        retryAfterMs,
        isOutcomeUnknown: outcome.isOutcomeUnknown,
      })
}

function graver(known: Error | undefined, other: Error): Error {
  const isUnknown = other instanceof StoreUnavailable && other.isOutcomeUnknown
  return known === undefined || isUnknown ? other : known
}
