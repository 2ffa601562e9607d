// The story of a service that is stopped at any step of its work. A round is a short script of all
// that a daemon does; it is broken off wherever the process ends. Then what was acknowledged must
// be there, once, and what was not must be there whole or not at all; all of it is sent again, and
// `thermolog verify` finds nothing wrong.

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { serve, serveHere } from './command.ts'
import type { Environment, RunningService, ServiceHere } from './command.ts'
import { createFleetToken } from './fleet-token.ts'
import { sendUnchecked } from './http.ts'
import type { TestAnswer, TestRequest } from './http.ts'
import { until, within } from './until.ts'
import { expectClean } from './verify.ts'

const USER = 'fleet@example.org'
const SETTINGS = {
  RATE_LIMIT_REQUESTS: '0',
  RATE_LIMIT_MEASUREMENTS: '0',
  MIN_FREE_DISK: '0B',
  // So that it does not start itself once more.
  MALLOC_ARENA_MAX: '2',
}
const START_MS = Date.UTC(2026, 0, 1)
const ROUND_MS = 3_600_000
const HISTORY = 'from=2025-12-30T00:00:00Z&to=2026-03-01T00:00:00Z&bucket=day'
const RAW_MS_MAX = 86_400_000
const ENDED_MS_MAX = 120_000
const FILL_BATCH = 500
const FILLED_KEPT_MAX = 100

interface Event {
  readonly event_id: string
  readonly sn: string
  readonly temp: number
  readonly timestamp: string
}

/** One submission, and what its sender was told of it. */
interface Sent {
  readonly events: readonly Event[]
  isAcknowledged: boolean
}

/** What one round has done. */
interface Round {
  readonly startMs: number
  /** The sensor that stays, and the one that is deleted and comes again. */
  readonly kept: string
  readonly gone: string
  readonly alias: string
  readonly submissions: Sent[]
  /** Of those in `submissions` the first so many were made before the sensor was deleted. */
  sentBefore: number
  isRenamed: boolean
  isDeleted: boolean
  goneId: number | undefined
}

export class FaultyService {
  readonly dataDir: string
  readonly #environment: Environment
  #token = ''
  #service: RunningService | (ServiceHere & { readonly child?: undefined }) | undefined
  #rounds: Round[] = []
  #filled: Sent[] = []
  #roundsMade = 0
  acknowledged = 0

  /** @param environment what brings the faults, beside the settings */
  constructor(folder: string, environment: Environment) {
    this.dataDir = join(folder, 'data')
    this.#environment = { ...SETTINGS, ...environment }
  }

  get isRunning(): boolean {
    const child = this.#service?.child
    return this.#service !== undefined && (child === undefined || !hasEnded(child))
  }

  /** Makes the user and the token, while it runs. */
  async prepare(): Promise<void> {
    this.#token = await createFleetToken(this.dataDir, USER)
  }

  /** @returns whether it has started; else a fault has ended it before */
  async start(settings: Environment = {}): Promise<boolean> {
    try {
      this.#service = await serve(this.dataDir, { ...this.#environment, ...settings })
      return true
    } catch (error) {
      expect(String(error)).to.match(/ended before it was ready/)
      return false
    }
  }

  /** Starts it in this process, far faster, for work that no fault is to befall. */
  async startHere(): Promise<void> {
    this.#service = await serveHere(this.dataDir, SETTINGS)
  }

  /** Ends it in good order, unless a fault is faster. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.isRunning) await this.#service?.stop(signal)
    this.#service = undefined
  }

  /** The same on a copy of its directory, with the same rounds to check; it does not run. */
  async copyTo(folder: string, environment = this.#environment): Promise<FaultyService> {
    const copy = new FaultyService(folder, environment)
    // What a killed service leaves of its socket cannot be copied.
    const filter = (path: string) => !path.endsWith('.sock')
    await cp(this.dataDir, copy.dataDir, { recursive: true, filter })
    copy.#token = this.#token
    copy.#rounds = structuredClone(this.#rounds)
    copy.#filled = structuredClone(this.#filled)
    return copy
  }

  /** Waits until a fault has ended it. */
  async ended(): Promise<void> {
    await within('a fault has ended the service', this.#exited(), ENDED_MS_MAX)
  }

  send(order: TestRequest): Promise<TestAnswer> {
    return sendUnchecked(this.#service?.url ?? '', { token: this.#token, ...order })
  }

  /** One round of the script, broken off where the process ends. */
  async runRound(): Promise<void> {
    const round = this.#newRound()
    try {
      await this.#act(round)
    } catch (error) {
      // A request may fail a moment before the process is seen to have ended.
      await Promise.allSettled([within('a fault has ended the service', this.#exited())])
      if (this.isRunning) throw error
    }
  }

  /**
   * Sends batch after batch of a sensor `filler` until one is refused.
   *
   * @returns the status that was the last: 201 when so many measurements were taken
   */
  async fill(measurementsMax: number): Promise<number> {
    for (let first = 0; first < measurementsMax; first += FILL_BATCH) {
      const count = Math.min(FILL_BATCH, measurementsMax - first)
      const events = Array.from({ length: count }, (_, at) =>
        event('filler', first + at, START_MS - (first + at) * 1_000),
      )
      // Kept to be sent again: all of a long filling would be too much.
      const sent = { events, isAcknowledged: false }
      const status = await this.submit(sent)
      this.#filled.push(sent)
      if (this.#filled.length > FILLED_KEPT_MAX) this.#filled.shift()
      if (status !== 201) return status
    }
    return 201
  }

  /** Holds what is there against what was told, of rounds that were not checked before. */
  async check(): Promise<void> {
    for (const round of this.#rounds.splice(0)) await this.#checkRound(round)
    for (const sent of this.#filled.splice(0)) await this.#submitSurely(sent)
    await this.#forwarded()
    await expectClean(this.dataDir)
  }

  /** Starts it here, checks it, and stops it. @returns how many measurements there are then */
  async checkHere(): Promise<number> {
    await this.startHere()
    await this.check()
    await this.stop()
    return expectClean(this.dataDir)
  }

  /** Sends one submission. @returns the status; rejects when there is no answer */
  async submit(sent: Sent): Promise<number> {
    const path = '/api/v1/measurements/batch'
    const body = { measurements: sent.events }
    const answer = await this.send({ method: 'POST', path, body })
    if (answer.status >= 300) return answer.status
    const { created, duplicates } = answer.body.data as { created: number; duplicates: number }
    const isWhole = created === sent.events.length || duplicates === sent.events.length
    expect(isWhole, `a batch in part: ${created} created, ${duplicates} duplicates`).to.equal(true)
    if (sent.isAcknowledged) expect(answer.status, 'an acknowledged batch again').to.equal(200)
    else this.acknowledged += sent.events.length
    sent.isAcknowledged = true
    return answer.status
  }

  #newRound(): Round {
    const number = ++this.#roundsMade
    const names = { kept: `kept-${number}`, gone: `gone-${number}`, alias: `Round ${number}` }
    const startMs = START_MS + number * ROUND_MS
    const done = { sentBefore: 0, isRenamed: false, isDeleted: false, goneId: undefined }
    const round = { startMs, ...names, submissions: [], ...done }
    this.#rounds.push(round)
    return round
  }

  async #act(round: Round): Promise<void> {
    const { kept, gone, startMs } = round
    await this.#submitNew(round, [event(kept, 0, startMs + 60_000)])
    await this.#submitNew(round, [
      ...Array.from({ length: 20 }, (_, at) => event(kept, 100 + at, startMs + at * 5_000)),
      // Two of one millisecond.
      event(kept, 200, startMs + 5_000),
      ...Array.from({ length: 20 }, (_, at) => event(gone, at, startMs + at * 5_000)),
    ])
    round.sentBefore = round.submissions.length
    const { id: keptId } = (await this.#find(kept)) ?? { id: 0 }
    round.goneId = (await this.#find(gone))?.id
    const body = { alias: round.alias, compensation: 0.5 }
    const path = `/api/v1/sensors/${keptId}`
    const change = await this.send({ method: 'PATCH', path, body })
    round.isRenamed = change.status === 200
    await this.#forwarded()
    const deletion = { method: 'DELETE', path: `/api/v1/sensors/${round.goneId}` }
    round.isDeleted = (await this.send(deletion)).status === 204
    // Else what follows would be of a sensor that goes when it is checked.
    if (!round.isDeleted) return
    await this.#submitNew(round, [event(gone, 1_000, startMs + 1)])
    await this.#submitNew(round, [event(kept, 300, startMs - 60_000), event(kept, 301, startMs)])
    await this.#forwarded()
  }

  async #submitNew(round: Round, events: readonly Event[]): Promise<void> {
    const sent = { events, isAcknowledged: false }
    round.submissions.push(sent)
    await this.submit(sent)
  }

  async #checkRound(round: Round): Promise<void> {
    const { kept, gone, submissions, sentBefore } = round
    if (round.isRenamed) {
      expect(await this.#find(kept)).to.deep.include({ alias: round.alias, compensation: 0.5 })
    }
    const [before, after] = [submissions.slice(0, sentBefore), submissions.slice(sentBefore)]
    for (const sent of before) await this.#submitSurely(sent)
    if (round.goneId !== undefined) {
      // It may have been deleted without an answer.
      const deletion = { method: 'DELETE', path: `/api/v1/sensors/${round.goneId}` }
      expect((await this.send(deletion)).status).to.be.oneOf(round.isDeleted ? [404] : [204, 404])
      round.isDeleted = true
    }
    for (const sent of after) await this.#submitSurely(sent)
    // Twice more: once is for ever.
    for (const sent of submissions) await this.#submitSurely(sent)
    const all = submissions.flatMap(({ events }) => events)
    await this.#checkSensor(
      round,
      all.filter(({ sn }) => sn === kept),
    )
    if (round.goneId === undefined) return
    const again = after.flatMap(({ events }) => events).filter(({ sn }) => sn === gone)
    await this.#checkSensor(round, again, gone)
    const path = `/api/v1/sensors/${round.goneId}/measurements?${HISTORY}`
    expect((await this.send({ path })).status).to.equal(404)
  }

  async #submitSurely(sent: Sent): Promise<void> {
    expect(await this.submit(sent)).to.be.oneOf([200, 201])
  }

  async #checkSensor({ kept, startMs }: Round, events: readonly Event[], sn = kept): Promise<void> {
    const sensor = await this.#find(sn)
    if (events.length === 0) {
      expect(sensor, sn).to.equal(undefined)
      return
    }
    const from = new Date(startMs - ROUND_MS).toISOString()
    const to = new Date(startMs - ROUND_MS + RAW_MS_MAX).toISOString()
    await this.#forwarded()
    const path = `/api/v1/sensors/${sensor?.id}/measurements?from=${from}&to=${to}&bucket=raw`
    const { status, body, text } = await this.send({ path })
    expect(status, `${sn}: ${text}`).to.equal(200)
    const points = body.data.points as { timestamp: string; temp: number }[]
    const compensation = sensor?.compensation ?? 0
    const expected = events
      .map(({ timestamp, temp }) => ({ timestamp, temp: temp + compensation }))
      .toSorted((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp))
    expect(body.data.complete).to.equal(true)
    expect(points.map(({ timestamp }) => timestamp)).to.deep.equal(
      expected.map(({ timestamp }) => timestamp),
    )
    const latest = expected.at(-1)
    expect(sensor?.latest).to.deep.include({ timestamp: latest?.timestamp, temp: latest?.temp })
  }

  async #find(sn: string): Promise<Listed | undefined> {
    const { body } = await this.send({ path: '/api/v1/sensors' })
    return (body.data as Listed[]).find((sensor) => sensor.sn === sn)
  }

  async #exited(): Promise<void> {
    const child = this.#service?.child
    if (child !== undefined && !hasEnded(child)) await once(child, 'exit')
  }

  async #forwarded(): Promise<void> {
    await until('the journal is forwarded', async () => {
      const { body } = await this.send({ path: '/readyz' })
      return body.backlog.entries === 0
    })
  }
}

interface Listed {
  readonly id: number
  readonly sn: string
  readonly alias: string
  readonly compensation: number
  readonly latest: { readonly timestamp: string; readonly temp: number } | null
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

function event(sn: string, number: number, atMs: number): Event {
  const timestamp = new Date(atMs).toISOString()
  return { event_id: `${sn}/${number}`, sn, temp: (number % 64) / 4, timestamp }
}
