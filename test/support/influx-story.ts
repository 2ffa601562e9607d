// Stories of the whole service with a real InfluxDB behind a proxy of ours: senders that send all
// the time, what they were told, and whether it is there in the end, once, for the API and for
// those who read the bucket directly.

import { mkdtemp, rm } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import type { TimeRange } from '../../src/domain/time.ts'
import type { InfluxTarget } from '../../src/influx/connection.ts'
import { InfluxMeasurementReader } from '../../src/influx/measurement-reader.ts'
import { runCommand, serve } from './command.ts'
import type { CommandResult, Environment, RunningService } from './command.ts'
import { FaultProxy } from './fault-proxy.ts'
import { createFleetToken } from './fleet-token.ts'
import { send, sendUnchecked } from './http.ts'
import type { TestAnswer } from './http.ts'
import { connect, newBucket } from './influx.ts'
import type { TestInflux } from './influxd.ts'
import { until } from './until.ts'
import { expectClean } from './verify.ts'

const USER = 'fleet@example.org'
const START_MS = Date.UTC(2026, 2, 10)
const STOP_MS = START_MS + 7 * 86_400_000

/** When the readings of stories are. */
export const STORY_RANGE: TimeRange = { startMs: START_MS, stopMs: STOP_MS }

const STEP_MS = 50
const DRAINED_MS_MAX = 120_000

export interface Reading {
  readonly event_id: string
  readonly sn: string
  readonly temp: number
  readonly timestamp: string
}

/** A row of a sensor list. */
interface ListedSensor {
  readonly id: number
  readonly sn: string
}

export class InfluxStory {
  readonly proxy: FaultProxy
  readonly target: InfluxTarget
  readonly #dataDir: string
  readonly #token: string
  #service: RunningService

  private constructor(parts: {
    proxy: FaultProxy
    target: InfluxTarget
    dataDir: string
    token: string
    service: RunningService
  }) {
    this.proxy = parts.proxy
    this.target = parts.target
    this.#dataDir = parts.dataDir
    this.#token = parts.token
    this.#service = parts.service
  }

  static async begin(influx: TestInflux): Promise<InfluxStory> {
    const target = await newBucket(influx)
    const proxy = await FaultProxy.start(target.url)
    const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-influx-'))
    const service = await serve(dataDir, settingsOf(target, proxy))
    const token = await createFleetToken(dataDir, USER)
    return new InfluxStory({ proxy, target, dataDir, token, service })
  }

  async end(): Promise<void> {
    this.proxy.resume()
    expect(await this.#service.stop()).to.equal(0)
    await this.proxy.close()
    await rm(this.#dataDir, { recursive: true })
  }

  /** Ends the service as it is told and starts it again. @returns how long the end took, in ms */
  async restartService(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number> {
    const startedAtMs = performance.now()
    await this.#service.stop(signal)
    const stoppedAtMs = performance.now()
    this.#service = await serve(this.#dataDir, settingsOf(this.target, this.proxy))
    return stoppedAtMs - startedAtMs
  }

  get(path: string): Promise<TestAnswer> {
    return send(this.#service.url, { path, token: this.#token })
  }

  async deleteSensor(id: number): Promise<void> {
    const order = { method: 'DELETE', path: `/api/v1/sensors/${id}`, token: this.#token }
    expect((await send(this.#service.url, order)).status).to.equal(204)
  }

  /** @returns the status */
  async post(measurements: readonly Reading[]): Promise<number> {
    const path = '/api/v1/measurements/batch'
    const order = { method: 'POST', path, token: this.#token, body: { measurements } }
    return (await send(this.#service.url, order)).status
  }

  run(...args: string[]): Promise<CommandResult> {
    return runCommand(this.#dataDir, args, settingsOf(this.target, this.proxy))
  }

  /** Waits for a sensor that its sender registers. */
  async sensorId(sn: string): Promise<number> {
    let id = 0
    await until(`${sn} is registered`, async () => {
      const { body } = await this.get('/api/v1/sensors')
      id = (body.data as ListedSensor[]).find((sensor) => sensor.sn === sn)?.id ?? 0
      return id > 0
    })
    return id
  }

  /** A raw history of everything that readings of stories can have. */
  history(sensorId: number): Promise<TestAnswer> {
    const period = `from=${new Date(START_MS).toISOString()}&to=${new Date(STOP_MS).toISOString()}`
    const path = `/api/v1/sensors/${sensorId}/measurements?${period}&bucket=raw`
    // Holding a hundred thousand points against their schema takes seconds.
    return sendUnchecked(this.#service.url, { path, token: this.#token })
  }

  /** How many measurements of the sensor are in InfluxDB, asked directly. */
  async countInInflux(sensorId: number): Promise<number> {
    const connection = connect(this.target, { timeoutMs: 30_000 })
    const reader = new InfluxMeasurementReader(connection)
    let count = 0
    const range = { sensorIds: [sensorId], startMs: START_MS, stopMs: STOP_MS }
    for await (const rows of reader.readRaw(range)) {
      count += rows.length
    }
    connection.close()
    return count
  }

  /**
   * Deletes points in InfluxDB, past the service.
   *
   * @param tag narrows it to the points that have it
   */
  async deletePastService(range: TimeRange, tag?: string): Promise<void> {
    const { organization: org, influxBucket: bucket } = this.target
    const answer = await connect(this.target).exchange({
      method: 'POST',
      path: `/api/v2/delete?${new URLSearchParams({ org, bucket }).toString()}`,
      contentType: 'application/json',
      body: JSON.stringify({
        start: new Date(range.startMs).toISOString(),
        stop: new Date(range.stopMs).toISOString(),
        predicate: ['_measurement="temperature"', ...(tag === undefined ? [] : [tag])].join(
          ' AND ',
        ),
      }),
    })
    expect(answer.status, answer.body).to.equal(204)
  }

  /** Writes lines into InfluxDB, past the service. */
  async writePastService(lines: string): Promise<void> {
    const { organization: org, influxBucket: bucket } = this.target
    const path = `/api/v2/write?${new URLSearchParams({ org, bucket }).toString()}`
    const answer = await connect(this.target).exchange({ method: 'POST', path, body: lines })
    expect(answer.status, answer.body).to.equal(204)
  }

  async storeState(): Promise<{ store: string; entries: number }> {
    const { status, body } = await this.get('/readyz')
    expect(status, 'submissions are taken').to.equal(200)
    return { store: body.measurement_store, entries: body.backlog.entries }
  }

  /** Until everything that was acknowledged is in InfluxDB, or refused by it. */
  async drained(): Promise<void> {
    const isDrained = async () => {
      const { entries, store } = await this.storeState()
      return entries === 0 && store === 'ok'
    }
    await until('the journal is forwarded', isDrained, DRAINED_MS_MAX)
  }

  /** Everything a sender was told is kept is there once, and nothing else of it. */
  async expectWhole(sn: string, sent: readonly Reading[]): Promise<void> {
    const id = await this.sensorId(sn)
    const { status, body } = await this.history(id)
    expect(status).to.equal(200)
    expect(body.data.complete, `the history of ${sn}`).to.equal(true)
    const points = body.data.points as { timestamp: string; temp: number }[]
    const expected = sent.map(({ timestamp, temp }) => ({ timestamp, temp }))
    expect(points.length, `measurements of ${sn}`).to.equal(expected.length)
    // As text: comparing thousands of objects takes seconds.
    expect(JSON.stringify(points) === JSON.stringify(expected), `the points of ${sn}`).to.equal(
      true,
    )
    expect(await this.countInInflux(id), `points of ${sn} in InfluxDB`).to.equal(expected.length)
  }

  /** Nothing that the service keeps, or InfluxDB has, is wrong. */
  async expectClean(): Promise<void> {
    await expectClean(this.#dataDir, settingsOf(this.target, this.proxy))
  }

  /** The most memory that the service has had. */
  peakMemoryBytes(): number {
    const status = readFileSync(`/proc/${this.#service.child.pid}/status`, 'utf8')
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1_024
  }
}

/** Senders that send a batch each, one after the other, until they are told to stop. */
export class Fleet {
  readonly sent = new Map<string, Reading[]>()
  /** Until an answer came, at most. */
  answerMsMax = 0
  readonly #story: InfluxStory
  readonly #batch: number
  readonly #running: Promise<void>[]
  #isStopping = false

  constructor(story: InfluxStory, settings: { senders: number; batch: number; pauseMs: number }) {
    this.#story = story
    this.#batch = settings.batch
    this.#running = Array.from({ length: settings.senders }, (_, at) =>
      this.#send(`sender-${at}`, settings.pauseMs),
    )
  }

  /** Rejects when anything was not acknowledged. @returns how many measurements were */
  async stop(): Promise<number> {
    this.#isStopping = true
    await Promise.all(this.#running)
    return [...this.sent.values()].reduce((sum, { length }) => sum + length, 0)
  }

  async #send(sn: string, pauseMs: number): Promise<void> {
    const sent: Reading[] = []
    this.sent.set(sn, sent)
    while (!this.#isStopping) {
      const readings = readingsOf(sn, sent.length, this.#batch)
      const startedAtMs = performance.now()
      expect(await this.#story.post(readings), 'a batch is acknowledged').to.equal(201)
      this.answerMsMax = Math.max(this.answerMsMax, performance.now() - startedAtMs)
      sent.push(...readings)
      await setTimeout(pauseMs)
    }
  }
}

/** Readings `first` … of a sensor, each with a time of its own. */
export function readingsOf(sn: string, first: number, count: number, startMs = START_MS) {
  return Array.from({ length: count }, (_, index): Reading => {
    const at = first + index
    const timestamp = new Date(startMs + at * STEP_MS).toISOString()
    return { event_id: `${sn}/${startMs}/${at}`, sn, temp: (at % 600) / 8 - 20, timestamp }
  })
}

function settingsOf(target: InfluxTarget, proxy: FaultProxy): Environment {
  return {
    INFLUX_URL: proxy.url,
    INFLUX_ORG: target.organization,
    INFLUX_BUCKET: target.influxBucket,
    INFLUX_TOKEN: target.influxToken,
    RATE_LIMIT_REQUESTS: '0',
    RATE_LIMIT_MEASUREMENTS: '0',
  }
}
