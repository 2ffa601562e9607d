// Goal: no request, whatever its bytes, ends the service, stores a part, or keeps other users from
// being served. Method: one user sends hostile requests to every route that the service describes,
// on several connections at once, while a second sends measurements and a third reads a history.

import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { epochEvents, submissionMeasurementsMax } from '../../src/domain/limits.ts'
import { SECOND_MS } from '../../src/domain/time.ts'
import { serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { ForgingProvider } from '../support/forging-provider.ts'
import { HostileRequests } from '../support/hostile.ts'
import { readRoutes } from '../support/hostile-routes.ts'
import { HostileRun } from '../support/hostile-run.ts'
import type { HostileBatch } from '../support/hostile-run.ts'
import { send, sendBatch } from '../support/http.ts'
import { byLength } from '../support/length.ts'
import { steadily } from '../support/steadily.ts'
import { until } from '../support/until.ts'
import { expectClean } from '../support/verify.ts'

/** At least so many, and every kind on every route. */
const REQUESTS = Number(process.env['HOSTILE_REQUESTS'] ?? byLength(1_000, 50_000))
/** Each seed makes the same requests. */
const SEED = Number(process.env['HOSTILE_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const HOSTILE = 'hostile@example.org'
const REDIRECT_URI = 'org.example.thermolog:/callback'
const GRANT = { code: 'c', code_verifier: 'v'.repeat(43), redirect_uri: REDIRECT_URI }
const SEND_EVERY_MS = 100
const READ_EVERY_MS = 250
/** How long the memory has to come back. */
const PAUSE_MS = 4_000
const MEMORY_MS_MAX = 60_000
/** In a short run caches are still being filled. */
const MEMORY_GROWTH_BYTES_MAX = byLength(100, 30) * 2 ** 20

describe(`a user with hostile requests, at least ${REQUESTS}`, function () {
  this.timeout(byLength(5, 60) * 60_000)
  let dataDir: string
  let service: RunningService
  const provider = new ForgingProvider(Date.now)
  const tokens = { daemon: '', mobile: '', sender: '', reader: '' }

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-adversary-'))
    tokens.daemon = await createFleetToken(dataDir, HOSTILE)
    tokens.sender = await createFleetToken(dataDir, 'sender@example.org')
    tokens.reader = await createFleetToken(dataDir, 'reader@example.org')
    provider.forgery = { claims: { email: HOSTILE } }
    await provider.start()
    service = await serve(dataDir, {
      RATE_LIMIT_REQUESTS: '0',
      RATE_LIMIT_MEASUREMENTS: '0',
      RATE_LIMIT_SIGN_IN: '0',
      // What a user may have is reached in the first half: memory grows with it, rightly.
      MAX_SENSORS_PER_USER: '2000',
      // The provider of the examples in the document.
      IDP_ACME_ISSUER: provider.issuer,
      IDP_ACME_CLIENT_ID: 'thermolog-app',
      MOBILE_REDIRECT_URIS: REDIRECT_URI,
    })
    tokens.mobile = await signIn()
  })

  after(async () => {
    await service.stop()
    await provider.stop()
    await rm(dataDir, { recursive: true })
  })

  it('harms nobody', async () => {
    process.stderr.write(`      seed ${SEED}\n`)
    const requests = new HostileRequests(await readRoutes(service.url), SEED)
    const run = new HostileRun({
      url: service.url,
      requests,
      tokens,
      isAlive,
      renewMobileToken: signIn,
    })
    const sensorId = await sendFirst()
    await fillEpoch()
    const ended = new AbortController()
    const others = [sendSteadily(ended.signal), readSteadily(sensorId, ended.signal)]
    try {
      await Promise.race([hostilities(run, requests.pairs), ...others])
    } catch (cause) {
      throw new Error(`${String(cause)}; seed ${SEED}; ${run.report()}`, { cause })
    } finally {
      ended.abort()
      run.close()
    }
    const [sent = 0, read = 0] = await Promise.all(others)
    expect(sent, 'measurements of the others').to.be.greaterThan(0)
    expect(read, 'histories of the others').to.be.greaterThan(0)
    expect(await countOfSender()).to.equal(sent)
    await expectWholeOrNot(run.batches)
    expect((await send(service.url, { path: '/healthz' })).status).to.equal(200)
    expect(isAlive(), 'it is the same process').to.equal(true)
    expect([...run.outcomes.keys()]).to.include.members([0, 200, 201, 204, 400, 404, 413, 422])
    expect(await service.stop()).to.equal(0)
    await expectClean(dataDir)
  })

  async function hostilities(run: HostileRun, pairs: number): Promise<void> {
    const half = Math.max(pairs, REQUESTS / 2)
    const whole = Math.max(pairs + 1, REQUESTS)
    await run.send((sent) => sent >= half)
    await setTimeout(PAUSE_MS)
    const before = residentBytes()
    await run.send((sent) => sent >= whole)
    await until(
      `no more memory than ${before} bytes and some`,
      () => residentBytes() <= before + MEMORY_GROWTH_BYTES_MAX,
      MEMORY_MS_MAX,
    )
  }

  function isAlive(): boolean {
    return service.child.exitCode === null && service.child.signalCode === null
  }

  function residentBytes(): number {
    const status = readFileSync(`/proc/${service.child.pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1_024
  }

  async function signIn(): Promise<string> {
    const path = '/api/mobile/v1/auth/acme'
    // A code of its own: with the same one it would be the same session.
    const body = { ...GRANT, code: crypto.randomUUID() }
    let token = ''
    // It may be asked to wait; the provider shares a process with those who send.
    await until('the hostile user is signed in', async () => {
      const answer = await send(service.url, { method: 'POST', path, body })
      token = answer.body.data?.token ?? ''
      return token !== ''
    })
    return token
  }

  /** @returns the id of the sensor that is read */
  async function sendFirst(): Promise<number> {
    const measurements = Array.from({ length: 100 }, (_, at) => ({
      event_id: `first-${at}`,
      sn: 'read',
      temp: at,
      timestamp: new Date(Date.now() - at * 60_000).toISOString(),
    }))
    const { body } = await sendBatch(service.url, tokens.reader, measurements)
    return body.data.measurements[0].sensor_id
  }

  /** What the first sealing takes for good is taken before memory is compared. */
  async function fillEpoch(): Promise<void> {
    const startMs = Date.now() - 2 * epochEvents * SECOND_MS
    for (let first = 0; first < epochEvents; first += submissionMeasurementsMax) {
      const measurements = Array.from({ length: submissionMeasurementsMax }, (_, at) => ({
        event_id: `fill-${first + at}`,
        sn: 'filled',
        temp: at % 50,
        timestamp: new Date(startMs + (first + at) * SECOND_MS).toISOString(),
      }))
      const { body } = await sendBatch(service.url, tokens.reader, measurements)
      expect(body.data.created).to.equal(submissionMeasurementsMax)
    }
  }

  /** On time, whether or not the last one was answered. @returns how many were stored */
  async function sendSteadily(ended: AbortSignal): Promise<number> {
    const path = '/api/v1/measurements'
    return steadily(ended, SEND_EVERY_MS, async (at) => {
      const body = { event_id: `steady-${at}`, sn: 'steady', temp: at % 50 }
      const order = { method: 'POST', path, token: tokens.sender, body }
      expect((await send(service.url, order)).status).to.equal(201)
    })
  }

  async function readSteadily(sensorId: number, ended: AbortSignal): Promise<number> {
    const path = `/api/v1/sensors/${sensorId}/measurements?bucket=raw`
    return steadily(ended, READ_EVERY_MS, async () => {
      expect((await send(service.url, { path, token: tokens.reader })).status).to.equal(200)
    })
  }

  async function countOfSender(): Promise<number> {
    const { body } = await send(service.url, { path: '/api/v1/sensors', token: tokens.sender })
    const [from, to] = [-1, 1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString())
    const path = `/api/v1/sensors/${body.data[0].id}/measurements?bucket=hour&from=${from}&to=${to}`
    let points: readonly { readonly count: number }[] = []
    await until('the history is complete', async () => {
      const { data } = (await send(service.url, { path, token: tokens.sender })).body
      points = data.points
      return data.complete
    })
    return points.reduce((sum, { count }) => sum + count, 0)
  }

  /** Sends the ids of batches again, as a valid batch each. */
  async function expectWholeOrNot(batches: readonly HostileBatch[]): Promise<void> {
    // A sensor that is there: there may be no room for another one.
    const known = { event_id: 'known', sn: 'known', temp: 1 }
    const listed = await send(service.url, { path: '/api/v1/sensors', token: tokens.daemon })
    const sn = listed.body.data[0]?.sn ?? known.sn
    for (const { eventIds, isRefused } of batches) {
      const again = eventIds.map((id) => ({ event_id: id, sn, temp: -1 }))
      const { body, text } = await sendBatch(service.url, tokens.daemon, again)
      const { created } = body.data
      const expected = isRefused ? [eventIds.length] : [0, eventIds.length]
      expect(created, `${eventIds[0]}, seed ${SEED}: ${text.slice(0, 300)}`).to.be.oneOf(expected)
    }
    const refused = batches.filter(({ isRefused }) => isRefused).length
    expect(refused, 'batches that were refused').to.be.greaterThan(0)
  }
})
