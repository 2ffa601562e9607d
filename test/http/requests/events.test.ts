// Live events over HTTP. Goal: whoever listens is told of everything that happens to their own
// sensors, once, and of nothing else. Method: the whole service, a reader that counts, a clock that
// is moved.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import type { AccessTokens } from '../../../src/access/tokens.ts'
import type { Principal } from '../../../src/domain/access.ts'
import { liveLimits } from '../../../src/domain/limits.ts'
import { DAY_MS } from '../../../src/domain/time.ts'
import type { ApiCall } from '../../../src/http/call/call.ts'
import { eventTexts, streamEvents } from '../../../src/http/requests/events.ts'
import { LiveSensors } from '../../../src/sensors/live-sensors.ts'
import type { Subscription } from '../../../src/sensors/subscription.ts'
import { EventReader } from '../../support/events.ts'
import { send } from '../../support/http.ts'
import { RecordingLog } from '../../support/log.ts'
import { BASE, codeOf, startMobile } from '../../support/mobile.ts'
import type { MobileTest } from '../../support/mobile.ts'
import { headOf } from '../../support/raw-connection.ts'
import { until } from '../../support/until.ts'
import { WatchedSensors } from '../../support/watched-sensors.ts'

const PATH = `${BASE}/events`

describe('GET /events', () => {
  let mobile: MobileTest
  let url: string
  let token: string
  let daemon: string
  const readers: EventReader[] = []

  before(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true', OFFLINE_AFTER: '1m' })
    ;({ url } = mobile.service)
    token = await mobile.tokenOf()
    daemon = await mobile.service.createToken('ana@example.org')
  })

  afterEach(() => {
    for (const reader of readers.splice(0)) reader.close()
  })

  after(async () => {
    await mobile.stop()
    const errors = mobile.service.log.events.filter(({ level }) => level === 'error')
    expect(errors).to.deep.equal([])
  })

  async function listen(lastEventId?: string, of = token): Promise<EventReader> {
    const reader = await EventReader.open(url, of, lastEventId)
    readers.push(reader)
    return reader
  }

  async function submit(sn: string, temp: number): Promise<number> {
    const body = { sn, temp }
    const order = { method: 'POST', path: '/api/v1/measurements', token: daemon, body }
    const answer = await send(url, order)
    expect(answer.status, answer.text).to.equal(201)
    return answer.body.data.sensor_id as number
  }

  async function listed(id: number): Promise<unknown> {
    const { body } = await mobile.get('/sensors', token)
    return (body.data as { id: number }[]).find((sensor) => sensor.id === id)
  }

  it('tells of a sensor that is registered, in the form of the list', async () => {
    const reader = await listen()
    const id = await submit('registered', 20)
    const { event, data } = await reader.next()
    expect(event).to.equal('sensor')
    const { history_changed_from: from, ...sensor } = data
    expect(sensor).to.deep.equal(await listed(id))
    expect(from).to.equal(sensor.latest.timestamp)
  })

  it('tells from when on a history has changed', async () => {
    const id = await submit('late', 20)
    const reader = await listen()
    const timestamp = new Date(mobile.service.clock.nowMs() - 3 * DAY_MS).toISOString()
    await mobile.submit('ana@example.org', { measurements: [{ sn: 'late', temp: 5, timestamp }] })
    const { data } = await reader.find((event) => event.data.id === id)
    expect([data.latest.temp, data.history_changed_from]).to.deep.equal([20, timestamp])
    const path = `/api/v1/sensors/${id}`
    await send(url, { method: 'PATCH', path, token: daemon, body: { alias: 'Late' } })
    const renamed = await reader.find((event) => event.data.id === id)
    expect(renamed.data.history_changed_from).to.equal(null)
  })

  it('tells of new latest values, changes and the end of a sensor', async () => {
    const id = await submit('changed', 20)
    const reader = await listen()
    await submit('changed', 21.5)
    expect((await reader.next()).data.latest).to.include({ temp: 21.5, raw: 21.5 })
    const path = `/api/v1/sensors/${id}`
    const body = { alias: 'Cellar', compensation: -0.5 }
    await send(url, { method: 'PATCH', path, token: daemon, body })
    const changed = await reader.next()
    expect(changed.event).to.equal('sensor')
    expect(changed.data).to.deep.include({ id, alias: 'Cellar', compensation: -0.5 })
    expect(changed.data.latest.temp).to.equal(21)
    await send(url, { method: 'DELETE', path, token: daemon })
    const deleted = await reader.next()
    expect([deleted.event, deleted.data]).to.deep.equal(['sensor_deleted', { id }])
  })

  it('tells of a sensor that an operator creates', async () => {
    const reader = await listen()
    const order = { user: 'ana@example.org', sn: 'by-hand', alias: 'Attic' }
    await mobile.service.operations.run('sensor create', order)
    expect((await reader.next()).data).to.include({ sn: 'by-hand', alias: 'Attic', latest: null })
  })

  it('tells that a sensor has gone silent, and that it is back', async () => {
    const id = await submit('silent', 20)
    const reader = await listen()
    mobile.service.clock.advanceMs(61_000)
    const silent = await reader.find(({ data }) => data.id === id)
    expect([silent.event, silent.data.online]).to.deep.equal(['sensor_silent', false])
    const { history_changed_from: from, ...sensor } = silent.data
    expect(sensor).to.deep.equal(await listed(id))
    expect(from).to.equal(null)
    await submit('silent', 21)
    const back = await reader.find(({ data }) => data.id === id)
    expect([back.event, back.data.online]).to.deep.equal(['sensor', true])
  })

  it('tells what was missed when it is resumed, each sensor once, and nothing twice', async () => {
    const first = await submit('resumed-1', 20)
    const reader = await listen()
    await submit('resumed-1', 21)
    const { id: lastEventId } = await reader.next()
    reader.close()
    for (let temp = 22; temp < 25; temp++) await submit('resumed-1', temp)
    const second = await submit('resumed-2', 30)
    const again = await listen(lastEventId)
    expect(again.firstId).to.equal(lastEventId)
    const missed = [await again.next(), await again.next()]
    const temps = missed.map(({ data }) => [data.id, data.latest.temp] as const)
    expect(new Map(temps)).to.deep.equal(new Map([[first, 24]]).set(second, 30))
    const third = await submit('resumed-3', 40)
    expect((await again.next()).data.id).to.equal(third)
  })

  it('can be resumed before anything has happened', async () => {
    const reader = await listen()
    reader.close()
    await submit('quiet', 20)
    expect((await (await listen(reader.firstId)).next()).data.sn).to.equal('quiet')
  })

  it('says reset for a place that it does not know, and goes on from there', async () => {
    const reader = await listen()
    const [data = ''] = reader.firstId.split('.')
    const changed = reader.firstId.replace(/\.\d+/, '.999999')
    const places = ['x', '7', 'another.1', changed, `${data}.1.1`, `${data}.-1`]
    const lost = await Promise.all(places.map((place) => listen(place)))
    for (const client of lost) {
      expect(client.firstId).to.equal('')
      const { event, id, data: told } = await client.next()
      expect([event, told]).to.deep.equal(['reset', {}])
      const again = await listen(id)
      expect(again.firstId).to.equal(id)
      again.close()
    }
    const sensorId = await submit('after-reset', 20)
    for (const client of lost) expect((await client.next()).data.id).to.equal(sensorId)
  })

  it('tells nobody of the sensors of others', async () => {
    const other = await mobile.tokenOf({ claims: { sub: 'other', email: 'other@example.org' } })
    const mine = await listen()
    const theirs = await listen(undefined, other)
    await submit('mine', 20)
    await mobile.submit('other@example.org', { sn: 'theirs', temp: 30 })
    expect((await mine.next()).data.sn).to.equal('mine')
    expect((await theirs.next()).data.sn).to.equal('theirs')
    // A place of another user's means nothing either.
    const stolen = await listen(mine.received[0]?.id, other)
    expect((await stolen.next()).event).to.equal('reset')
    expect([...mine.received, ...theirs.received]).to.have.length(2)
  })

  it('has at most about one event of a sensor in a second, the newest', async () => {
    const reader = await listen()
    const startedAtMs = performance.now()
    for (let temp = 1; temp <= 300; temp++) await submit('busy', temp)
    await reader.find(({ data }) => data.latest.temp === 300)
    const seconds = (performance.now() - startedAtMs) / 1_000
    expect(reader.received.length).to.be.at.most(seconds + 2)
  })

  it('is neither stored nor compressed nor held back on its way', async () => {
    const { answer } = await listen()
    expect(answer.headers.get('content-type')).to.equal('text/event-stream')
    expect(answer.headers.get('cache-control')).to.equal('no-store, no-transform')
    expect(answer.headers.get('content-encoding')).to.equal(null)
    const head = await send(url, { method: 'HEAD', path: PATH, token })
    expect([head.status, head.headers['content-type']]).to.deep.equal([200, 'text/event-stream'])
  })

  it('wants a mobile token, and no parameters', async () => {
    expect(codeOf(await send(url, { path: PATH }))).to.equal('401 missing_token')
    const refused = await send(url, { path: PATH, token: daemon })
    expect(codeOf(refused)).to.equal('403 wrong_token_kind')
    const inQuery = await send(url, { path: `${PATH}?token=${token}`, token })
    expect(codeOf(inQuery)).to.equal('422 validation_failed')
  })

  it('opens ten subscriptions of a token and no more, until one of them ends', async () => {
    const one = await mobile.tokenOf()
    for (let subscription = 0; subscription < 10; subscription++) await listen(undefined, one)
    const refused = await send(url, { path: PATH, token: one })
    expect(codeOf(refused)).to.equal('429 rate_limited')
    expect(Number(refused.headers['retry-after'])).to.be.greaterThan(0)
    readers.pop()?.close()
    await until('nine subscriptions are open', async () => (await openSubscriptions()) === 9)
    await listen(undefined, one)
  })

  it('ends when its token is revoked', async () => {
    const one = await mobile.tokenOf()
    const reader = await listen(undefined, one)
    await send(url, { method: 'POST', path: `${BASE}/logout`, token: one })
    await submit('after-logout', 20)
    expect(await reader.rest()).to.deep.equal([])
  })

  it('ends when its user is deleted', async () => {
    const claims = { sub: 'gone', email: 'gone@example.org' }
    const one = await mobile.tokenOf({ claims })
    await mobile.submit(claims.email, { sn: 'theirs', temp: 20 })
    const reader = await listen(undefined, one)
    await mobile.service.operations.run('user delete', { user: claims.email })
    // A look may come before the one at the tokens of open streams.
    for (const { event } of await reader.rest()) expect(event).to.equal('sensor_deleted')
  })

  it('ends when its token runs out', async () => {
    const one = await mobile.tokenOf()
    const reader = await listen(undefined, one)
    mobile.service.clock.advanceMs(366 * DAY_MS)
    expect(await reader.rest()).to.deep.equal([])
  })

  async function openSubscriptions(): Promise<number> {
    const { text } = await send(url, { path: '/metrics' })
    return Number(/^thermolog_event_streams (\d+)$/m.exec(text)?.[1])
  }
})

describe('a service that stops while somebody listens', () => {
  it('ends the subscription', async () => {
    const mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
    const token = await mobile.tokenOf()
    const reader = await EventReader.open(mobile.service.url, token)
    // What is cut off, because it did not end by itself, is an error to its reader.
    const [rest] = await Promise.all([reader.rest(), mobile.stop()])
    expect(rest).to.deep.equal([])
  })
})

describe('a client that does not read', () => {
  it('is cut off when its token ends', async () => {
    const sensors = new WatchedSensors()
    const { control, clock, cursorSecret, commands } = sensors
    const log = new RecordingLog()
    const often = { lookEveryMs: 20, checkTokensEveryMs: 20 }
    const settings = { ...liveLimits, ...often, offlineAfterMs: DAY_MS, futureMsMax: 0 }
    const live = new LiveSensors({ control, clock, log, cursorSecret }, settings)
    let principal: Principal | undefined = { token: { id: 1 }, user: { id: 1 } } as Principal
    const tokens = { find: () => principal } as Partial<AccessTokens> as AccessTokens
    const stream = streamEvents({ live, tokens, clock })
    let response: ServerResponse | undefined
    const app = new Koa().use((ctx) => {
      response = ctx.res
      return stream({ ctx, principal } as ApiCall)
    })
    // A response that is cut off is an error to it.
    app.silent = true
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
    client.write(headOf(['GET', PATH], {}))
    await until('the subscription is open', () => live.subscriptions === 1)
    sensors.submit(1, ['large'])
    // More than a socket takes.
    commands.changeSensor(1, 1, { alias: 'x'.repeat(20_000_000) })
    await until('the socket is full', () => (response?.writableLength ?? 0) > 1_000_000)
    principal = undefined
    await until('the connection is cut', () => response?.destroyed === true)
    expect(live.subscriptions).to.equal(0)
    client.destroy()
    server.close()
    live.stop()
    sensors.close()
  })
})

describe('eventTexts', () => {
  it('says every eight seconds that a quiet subscription is alive', async () => {
    let seconds = 0
    const subscription = {
      lastEventId: 'watch.7',
      // Nothing happens for a minute.
      next: async () => (++seconds <= 60 ? [] : undefined),
      close: () => undefined,
    } as Partial<Subscription> as Subscription
    const clock = { nowMs: () => 0, monotonicMs: () => seconds * 1_000 }
    const texts: string[] = []
    for await (const text of eventTexts(subscription, async () => true, clock)) texts.push(text)
    const heartbeats = Array.from({ length: 7 }, () => ':\n\n')
    expect(texts).to.deep.equal(['retry: 3000\nid: watch.7\n\n', ...heartbeats])
  })
})
