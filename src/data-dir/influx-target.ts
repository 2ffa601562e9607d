// The InfluxDB that the measurements of a DATA_DIR are moved into. It may be away for a while:
// every call is repeated until it answers, within bounds.

import { setTimeout } from 'node:timers/promises'
import { UnfitSettings } from '../config.ts'
import type { InfluxConfig } from '../config.ts'
import { StoreUnavailable } from '../domain/errors.ts'
import { MINUTE_MS, SECOND_MS } from '../domain/time.ts'
import type { DayCounts } from '../domain/sensor-account.ts'
import { checkInfluxBucket } from '../influx/bucket-check.ts'
import { InfluxConnection } from '../influx/connection.ts'
import { InfluxMeasurementWriter } from '../influx/measurement-writer.ts'
import { MeasurementCounts } from '../influx/point-counts.ts'
import { failed } from '../operations/failure.ts'
import type { StoreBatch } from '../ports/measurement-store.ts'
import { systemClock } from '../system/clock.ts'
import { commandLog } from './open-own.ts'

const SETTINGS = { socketsMax: 4, timeoutMs: 60 * SECOND_MS }
const AWAY_MS_MAX = 2 * MINUTE_MS
const RETRY_EVERY_MS = SECOND_MS

export class InfluxTarget {
  readonly #connection: InfluxConnection
  readonly #counts: MeasurementCounts
  readonly #writer: InfluxMeasurementWriter
  #refusal: string | undefined

  constructor(influx: InfluxConfig) {
    const connection = new InfluxConnection(influx, SETTINGS)
    this.#connection = connection
    this.#counts = new MeasurementCounts(connection)
    const checkBucket = () => checkInfluxBucket(connection)
    const of = { connection, checkBucket, clock: systemClock, log: commandLog() }
    this.#writer = new InfluxMeasurementWriter(of)
  }

  /** Why it refused measurements, the first of them; `undefined`: it took all. */
  get refusal(): string | undefined {
    return this.#refusal
  }

  /** @throws UnfitSettings if the bucket cannot take them @throws OperationError if it is away */
  async checkBucket(): Promise<void> {
    const state = await checkInfluxBucket(this.#connection)
    if (state.kind === 'expires' || state.kind === 'fault') {
      throw new UnfitSettings(`${state.problem}: ${state.remedy}`)
    }
    if (state.kind === 'unreachable') {
      throw failed(`InfluxDB cannot be reached: ${state.reason}`, 'Nothing was moved.')
    }
  }

  /** @throws StoreUnavailable */
  async write(batch: StoreBatch): Promise<void> {
    const [first] = await patiently(() => this.#writer.write(batch))
    this.#refusal ??= first?.reason
  }

  /** The sensors that have measurements in it, ascending. @throws StoreUnavailable */
  async sensorIds(): Promise<readonly number[]> {
    const ids = await patiently(() => this.#counts.sensorIds())
    return [...ids].sort((one, other) => one - other)
  }

  /** @throws StoreUnavailable */
  countByDay(sensorId: number): Promise<DayCounts> {
    return patiently(() => this.#counts.countByDay(sensorId))
  }

  close(): void {
    this.#connection.close()
  }
}

async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  let endMs = Infinity
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const mayPass = error instanceof StoreUnavailable && !error.isPaused
      const nowMs = systemClock.monotonicMs()
      endMs = Math.min(endMs, nowMs + AWAY_MS_MAX)
      if (!mayPass || nowMs >= endMs) throw error
      const pauseMs = Math.max(RETRY_EVERY_MS, error.retryAfterMs ?? 0)
      await setTimeout(Math.min(pauseMs, endMs - nowMs))
    }
  }
}
