// GET /changes over HTTP. Goal: an app that was away for a minute or a month catches up with one
// small request. Method: the whole service, and a clock that is moved. What holds over all
// histories is tested by test/contract/changes.ts.

import { expect } from 'chai'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/domain/time.ts'
import { send, sendBatch } from '../../support/http.ts'
import { BASE, codeOf, startMobile } from '../../support/mobile.ts'
import type { MobileTest } from '../../support/mobile.ts'

const SENSORS = 1_003

describe('GET /changes', () => {
  let mobile: MobileTest
  let token: string
  let daemon: string
  before(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
    token = await mobile.tokenOf()
    daemon = await mobile.service.createToken('ana@example.org')
    for (let from = 0; from < SENSORS; from += 500) {
      const length = Math.min(500, SENSORS - from)
      const measurements = Array.from({ length }, (_, at) => ({ sn: `S${from + at}`, temp: 20 }))
      await sendBatch(mobile.service.url, daemon, measurements)
    }
  })
  after(() => mobile.stop())

  const ask = (since?: string, of = token) =>
    mobile.get(`/changes${since === undefined ? '' : `?since=${since}`}`, of)
  const submit = (sn: string, ageMs: number, temp = 20) => {
    const timestamp = new Date(mobile.service.clock.nowMs() - ageMs).toISOString()
    return mobile.submit('ana@example.org', { measurements: [{ sn, temp, timestamp }] })
  }
  const change = (method: string, id: number, body?: object) =>
    send(mobile.service.url, { method, path: `/api/v1/sensors/${id}`, token: daemon, body })
  const NOTHING = { reset: false, sensors: [], deleted: [], histories: [] }

  it('begins with everything, and then tells nothing while nothing happens', async () => {
    const { body, headers } = await ask()
    expect(body.data).to.deep.include({ reset: true, deleted: [], histories: [] })
    expect(body.data.sensors).to.deep.equal((await mobile.get('/sensors', token)).body.data)
    expect(headers['cache-control']).to.equal('no-store')
    const again = await ask(body.data.cursor)
    expect(again.body.data).to.deep.include(NOTHING)
    expect((await ask(again.body.data.cursor)).body.data).to.deep.include(NOTHING)
  })

  it('costs less than 2 KB for one change among a thousand sensors', async () => {
    const { cursor } = (await ask()).body.data
    await submit('S7', 3 * DAY_MS)
    const { body, text } = await ask(cursor)
    expect(body.data.sensors.map(({ sn }: { readonly sn: string }) => sn)).to.deep.equal(['S7'])
    const [{ from }] = body.data.histories
    expect(from).to.equal(new Date(mobile.service.clock.nowMs() - 3 * DAY_MS).toISOString())
    expect(Buffer.byteLength(text)).to.be.lessThan(2_048)
  })

  it('names the oldest time of what came, to the hour', async () => {
    const { cursor } = (await ask()).body.data
    for (const ageMs of [0, 5 * HOUR_MS, MINUTE_MS]) await submit('S8', ageMs)
    const [{ from }] = (await ask(cursor)).body.data.histories
    const oldestMs = mobile.service.clock.nowMs() - 5 * HOUR_MS
    expect(Date.parse(from)).to.be.within(oldestMs - HOUR_MS, oldestMs)
  })

  it('tells of names, calibrations, deletions and new sensors', async () => {
    const { sensors, cursor } = (await ask()).body.data
    const [renamed, calibrated, deleted] = sensors.map(({ id }: { readonly id: number }) => id)
    await change('PATCH', renamed, { alias: 'Cellar' })
    await change('PATCH', calibrated, { compensation: -0.5 })
    await change('DELETE', deleted)
    await submit('new', 0)
    const { data } = (await ask(cursor)).body
    expect(data.sensors).to.have.lengthOf(3)
    expect(data.sensors[0]).to.include({ id: renamed, alias: 'Cellar' })
    expect(data.sensors[1]).to.include({ id: calibrated, compensation: -0.5 })
    expect(data.sensors[2]).to.include({ sn: 'new' })
    expect(data.deleted).to.deep.equal([deleted])
    const [first, second] = data.histories
    expect(first).to.deep.equal({ sensor_id: calibrated, from: null })
    expect(second.sensor_id).to.equal(data.sensors[2].id)
    // The same compensation again is none.
    await change('PATCH', calibrated, { compensation: -0.5 })
    expect((await ask(data.cursor)).body.data.histories).to.deep.equal([])
  })

  it('tells that sensors went silent, which nobody writes', async () => {
    await submit('S20', 0)
    const { cursor } = (await ask()).body.data
    mobile.service.clock.advanceMs(16 * MINUTE_MS)
    const { data } = (await ask(cursor)).body
    expect(data.histories).to.deep.equal([])
    const silent = data.sensors.find(({ sn }: { readonly sn: string }) => sn === 'S20')
    expect(silent.online).to.equal(false)
    expect((await ask(data.cursor)).body.data).to.deep.include(NOTHING)
  })

  it('begins again with a cursor that is unknown, another user’s, or a month old', async () => {
    const others = await mobile.tokenOf({ claims: { sub: 'ben', email: 'ben@example.org' } })
    const { cursor } = (await ask()).body.data
    const forged = Buffer.from(`${'9'.repeat(40)}|1|2|3`).toString('base64url')
    for (const since of ['', 'x', forged, '%00', cursor.slice(2)]) {
      expect((await ask(since)).body.data.reset, since).to.equal(true)
    }
    const stolen = await ask(cursor, others)
    expect(stolen.body.data).to.deep.include({ reset: true, sensors: [] })
    expect(codeOf(await ask('x'.repeat(8_193)))).to.equal('422 validation_failed')
    mobile.service.clock.advanceMs(30 * DAY_MS)
    expect((await ask(cursor)).body.data.reset).to.equal(false)
    mobile.service.clock.advanceMs(1)
    expect((await ask(cursor)).body.data.reset).to.equal(true)
  })

  it('is asked with a mobile token', async () => {
    const path = `${BASE}/changes`
    expect(codeOf(await send(mobile.service.url, { path }))).to.equal('401 missing_token')
    expect(codeOf(await send(mobile.service.url, { path, token: daemon }))).to.equal(
      '403 wrong_token_kind',
    )
  })
})
