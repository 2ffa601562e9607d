// The calls that senders to InfluxDB make, as those senders make them.

import { InfluxDB, Point } from '@influxdata/influxdb-client'
import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import { send } from '../../support/http.ts'
import type { TestAnswer } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

const NOW_S = Date.UTC(2026, 10, 20, 10, 15) / 1_000

interface LineRequest {
  readonly path?: string
  readonly authorization?: string
  readonly headers?: Record<string, string>
}

describe('the calls of senders to InfluxDB', () => {
  let service: TestService
  let token: string

  let shared: TestService | undefined
  let user: string
  let users = 0

  /** @param settings of a service of its own; default: a user of their own on that of all tests */
  const start = async (settings?: Record<string, string>) => {
    service =
      settings === undefined ? (shared ??= await startService()) : await startService(settings)
    user = `a${++users}@example.org`
    token = await service.createToken(user)
  }
  const write = (body: string | Buffer, order: LineRequest = {}): Promise<TestAnswer> => {
    const { path = '/api/v2/write?org=o&bucket=b&precision=s', headers = {} } = order
    const { authorization = `Token ${token}` } = order
    const all = { 'content-type': 'text/plain', authorization, ...headers }
    return send(service.url, { method: 'POST', path, body, headers: all })
  }
  const sensors = async () => {
    const answer = await send(service.url, { path: '/api/v1/sensors', token })
    const list = answer.body.data as { sn: string; latest: { raw: number } | null }[]
    return Object.fromEntries(list.map(({ sn, latest }) => [sn, latest?.raw]))
  }
  const counts = ({ status, headers }: TestAnswer) => [
    status,
    ...['created', 'duplicates', 'skipped', 'unkeyed'].map((name) =>
      Number(headers[`thermolog-${name}`]),
    ),
  ]

  afterEach(async () => {
    if (service !== shared) await service.stop()
  })
  after(() => shared?.stop())

  it('store a point once, however often and by whichever call it comes', async () => {
    await start()
    const line = `w1,host=pi1,sn=28-0316a2794fff temp=20.104 ${NOW_S}`
    expect(counts(await write(line))).to.deep.equal([204, 1, 0, 0, 0])
    const other = `w1,host=pi2,sn=28-0316a2794fff temp=20.104 ${NOW_S}000`
    const authorization = `Basic ${Buffer.from(`me:${token}`).toString('base64')}`
    const path = '/write?db=d&precision=ms&u=x&p=y'
    expect(counts(await write(other, { path, authorization }))).to.deep.equal([204, 0, 1, 0, 0])
    expect(await sensors()).to.deep.equal({ '28-0316a2794fff': 20.104 })
  })

  it('count a known point as a duplicate, whatever it would map to today', async () => {
    await start()
    const line = `t,room=a value=20.5,temp=21 ${NOW_S}`
    await write(line)
    const { operations } = service
    const [sensor] = await operations.run('sensor list', { user })
    await operations.run('sensor delete', { id: String(sensor!.id) })
    expect(counts(await write(line))).to.deep.equal([204, 0, 1, 0, 0])
    expect(await sensors()).to.deep.equal({})
  })

  it('take the token in four spellings, and no other', async () => {
    await start()
    const basic = `Basic ${Buffer.from(`:${token}`).toString('base64')}`
    for (const authorization of [`Token ${token}`, `token me:${token}`, `Bearer ${token}`, basic]) {
      expect((await write('', { authorization })).status).to.equal(204)
    }
    const path = `/write?u=me&p=${token}`
    for (const authorization of [
      '',
      `Digest ${token}`,
      'Token',
      'Token thd_live_x',
      'Basic Og==',
    ]) {
      const { status, headers, body } = await write('', { path, authorization })
      expect(status).to.equal(401)
      expect(headers['www-authenticate']).to.match(/^Bearer /)
      expect(body.error).to.be.a('string')
    }
    const reader = await service.createToken(user, { scope: ['sensors:read'] })
    const forbidden = await write('', { authorization: `Token ${reader}` })
    expect([forbidden.status, forbidden.body.code]).to.deep.equal([403, 'forbidden'])
  })

  it('take a body with any type, encoding or none, and an empty one', async () => {
    await start()
    const line = `t,sn=0011223344 temp=1 ${NOW_S}`
    const gzip = { 'content-encoding': 'gzip' }
    expect((await write(gzipSync(line), { headers: gzip })).status).to.equal(204)
    const identity = { 'content-encoding': 'identity', 'content-type': 'application/octet-stream' }
    expect(counts(await write(`\n# no point\n${line}\r\n`, { headers: identity }))[2]).to.equal(1)
    for (const body of ['', '\n']) expect((await write(body)).status).to.equal(204)
    const broken = await write(line, { headers: gzip })
    expect([broken.status, broken.body.code]).to.deep.equal([400, 'invalid'])
    const precision = await write(line, { path: '/api/v2/write?precision=m' })
    expect([precision.status, precision.body.code]).to.deep.equal([400, 'invalid'])
  })

  it('store what can be stored and name the other lines', async () => {
    await start({ MAX_SENSORS_PER_USER: '2' })
    const answer = await write(
      [
        `t,sn=0011223344 temp=1 ${NOW_S}`,
        'no line protocol',
        `t,sn=0011223344 temp=-300 ${NOW_S}`,
        `t,sn=0011223344 temp=2 ${NOW_S + 86_400}`,
        `t,sn=0011223355 temp=3 ${NOW_S}`,
        `t,sn=0011223366 temp=4 ${NOW_S}`,
        `t,sn=0011223366 humidity=4 ${NOW_S}`,
        `t,sn=0011223344 temp="4 ${NOW_S}`,
        `t,sn=0011223344 temp=5 ${NOW_S}`,
      ].join('\n'),
    )
    expect(counts(answer)).to.deep.equal([400, 3, 0, 1, 0])
    expect([answer.body.code, answer.body.line]).to.deep.equal(['invalid', 2])
    expect(answer.body.message).to.match(/^partial write: 5 of 8 lines not stored; line 2: /)
    expect(answer.body.message).to.match(/; line 3: .*; line 4: .*; line 6: .*; line 8: /)
    expect(await sensors()).to.deep.equal({ '0011223344': 5, '0011223355': 3 })
  })

  it('store points without a time each time they are sent, at most 500 a body', async () => {
    await start()
    const line = 'temperature,device=tasmota1,sensor=ds18b20,id=01144A0CB2AA value=24.44'
    expect(counts(await write(line))).to.deep.equal([204, 1, 0, 0, 1])
    expect(counts(await write(line))).to.deep.equal([204, 1, 0, 0, 1])
    const many = await write(Array.from({ length: 501 }, () => line).join('\n'))
    expect(counts(many)).to.deep.equal([400, 500, 0, 0, 500])
    expect(many.body.line).to.equal(501)
  })

  it('store bodies of thousands of points', async () => {
    await start()
    const lines = Array.from({ length: 1_234 }, (_, at) => `t,sn=0011223344 temp=1 ${NOW_S - at}`)
    expect(counts(await write(lines.join('\n')))).to.deep.equal([204, 1_234, 0, 0, 0])
    expect(counts(await write(lines.join('\n')))).to.deep.equal([204, 0, 1_234, 0, 0])
    const tooMany = await write('#\n'.repeat(50_001))
    expect([tooMany.status, tooMany.body.code]).to.deep.equal([413, 'request too large'])
    const tooLarge = await write(`t temp=1 ${' '.repeat(4 * 1024 * 1024)}`)
    expect([tooLarge.status, tooLarge.body.maxLength]).to.deep.equal([413, 4_194_304])
  })

  it('store nothing of a body with more temperatures than it may have', async () => {
    await start()
    const line = (time: number) => `t,sn=0011223344 temp=1${',temp_1=1'.repeat(999)} ${time}`
    const lines = Array.from({ length: 50 }, (_, at) => line(NOW_S - at))
    const tooMany = await write([...lines, `t,sn=0011223344 temp=1 ${NOW_S}`].join('\n'))
    expect([tooMany.status, tooMany.body.code]).to.deep.equal([413, 'request too large'])
    expect(tooMany.body.message).to.include('50000')
    expect(await sensors()).to.deep.equal({})
  })

  it('name the first lines of those that cannot be stored, wherever they are', async () => {
    await start()
    const lines = Array.from({ length: 3_000 }, (_, at) => `t,sn=0011223344 temp=1 ${NOW_S - at}`)
    const bad = Array.from({ length: 24 }, (_, at) => 100 + 120 * at)
    for (const at of bad) lines[at] = `t,sn=0011223344 temp=1,temp_1=1e9 ${NOW_S + 86_400 + at}`
    // Their points are committed last.
    lines[2] = `t temp=1,temp_1=1e9`
    const answer = await write(lines.join('\n'))
    expect(counts(answer)).to.deep.equal([400, 2_975 + 1, 0, 0, 1])
    expect(answer.body.line).to.equal(3)
    const numbers = [2, ...bad].slice(0, 20).map((at) => `line ${at + 1}: temp_1: outside`)
    expect(answer.body.message).to.match(/^partial write: 25 of 3000 lines not stored; line 3: /)
    const named = (answer.body.message as string).match(/line \d+: temp_1: outside/g)
    expect(named).to.deep.equal(numbers)
    expect(answer.body.message).to.match(/; and 5 more$/)
    expect(answer.headers['ratelimit']).to.include(`"measurements";r=${600_000 - 3_025};`)
  })

  it('admit a body whole while any allowance is left', async () => {
    await start({ RATE_LIMIT_MEASUREMENTS: '1000' })
    const lines = Array.from({ length: 2_000 }, (_, at) => `t,sn=0011223344 temp=1 ${NOW_S - at}`)
    expect(counts(await write(lines.join('\n')))).to.deep.equal([204, 2_000, 0, 0, 0])
    expect((await write(lines.join('\n'))).status).to.equal(429)
    // What is measured now has an allowance of its own.
    expect((await write(`t,sn=0011223344 temp=2 ${NOW_S}`)).status).to.equal(204)
  })

  it('say which fields they saw to a token that never stored a temperature', async () => {
    await start()
    const humid = `air humidity=40,co2=400i ${NOW_S}`
    const first = await write(humid)
    expect(first.status).to.equal(400)
    expect(first.body.message).to.include('humidity, co2').and.include('LINE_FIELDS')
    await write(`air temp=1 ${NOW_S}`)
    expect(counts(await write(humid))).to.deep.equal([204, 0, 0, 1, 0])
  })

  it('say no such thing to a sender whose temperature is not available now', async () => {
    await start()
    const blank = `air humidity=40,temperature="unavailable" ${NOW_S}`
    expect(counts(await write(blank))).to.deep.equal([204, 0, 0, 1, 0])
    const other = await write(`${blank}\nair tempr=20 ${NOW_S}`)
    expect(other.status).to.equal(400)
    expect(other.body.message).to.include(': tempr;')
  })

  it('ask whether a temperature is in thousandths of a degree, and store it', async () => {
    await start()
    const fridge = await write(`a temp=5 ${NOW_S}\nfridge temperature=4250 ${NOW_S}`)
    expect([fridge.status, fridge.headers['thermolog-hint']]).to.deep.equal([
      204,
      'line 2: 4250 degrees Celsius: is it in thousandths of a degree?',
    ])
    expect(await sensors()).to.deep.equal({ a: 5, fridge: 4_250 })
    const sauna = await write(`sauna temp=110 ${NOW_S}`)
    expect(sauna.headers).not.to.have.property('thermolog-hint')
  })

  it('take names of fields and serial tags from the settings', async () => {
    await start({ LINE_FIELDS: 'Pool,boiler_now', LINE_SERIAL_TAGS: 'probe' })
    await write(`t,probe=p1,room=x pool=1,boiler_now=2,other=3 ${NOW_S}`)
    expect(await sensors()).to.deep.equal({ 'p1.pool': 1, 'p1.boiler_now': 2 })
  })

  it('call a sensor as its first point does, until somebody changes that', async () => {
    await start()
    const point = '°C,domain=sensor,entity_id=kitchen friendly_name_str="Küche ",value='
    const others = ['t,sn=0011223344', 'zigbee,sn=Küche\\ Nord', 'ruuvi,name=Sauna']
    await write([`${point}20`, ...others.map((key) => `${key} temp=1`)].join(` ${NOW_S}\n`))
    const { operations } = service
    const named = async () => {
      const listed = await operations.run('sensor list', { user })
      return listed.map(({ alias }) => alias)
    }
    const rest = ['0011223344', 'zigbee.Küche Nord', 'Sauna']
    expect(await named()).to.deep.equal(['Küche', ...rest])
    const [kitchen] = await operations.run('sensor list', { user })
    await operations.run('sensor set', { id: String(kitchen!.id), alias: 'Kitchen' })
    await write(`${point}21 ${NOW_S - 1}`)
    expect(await named()).to.deep.equal(['Kitchen', ...rest])
  })

  it('keep two homes apart whose tokens have different prefixes', async () => {
    await start()
    const line = `°C,domain=sensor,entity_id=living value=20 ${NOW_S}`
    expect((await write(line)).status).to.equal(204)
    const order = { snPrefix: 'cabin.' }
    const cabin = await service.createTokenWithId(user, order)
    const { token: rotated } = await service.operations.run('token rotate', {
      id: String(cabin.id),
      overlap: '1s',
    })
    for (const [at, text] of [cabin.token, rotated].entries()) {
      const later = line.replace(String(NOW_S), String(NOW_S - 1 - at))
      await write(later, { authorization: `Token ${text}` })
    }
    expect(await sensors()).to.have.all.keys('sensor.living', 'cabin.sensor.living')
  })

  it('tell a sender to wait so that it keeps what it has', async () => {
    await start({ RATE_LIMIT_MEASUREMENTS: '1' })
    const lines = Array.from({ length: 20 }, (_, at) => `t temp=1 ${NOW_S - at}`).join('\n')
    expect((await write(lines)).status).to.equal(204)
    const v2 = await write(lines)
    expect([v2.status, v2.body.code]).to.deep.equal([429, 'too many requests'])
    const v1 = await write(lines, { path: '/write' })
    expect(v1.status).to.equal(503)
    for (const { headers } of [v1, v2]) expect(Number(headers['retry-after'])).to.be.within(1, 60)
    service.clock.set('2020-01-01T00:00:00Z')
    const clock = await write(lines)
    expect([clock.status, clock.body.code]).to.deep.equal([503, 'unavailable'])
    expect(Number(clock.headers['retry-after'])).to.be.greaterThan(0)
  })

  it('answer what senders ask before they write', async () => {
    await start({})
    const ask = (path: string, method = 'GET', body?: string) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return send(service.url, { method, path, headers, ...(body && { body }) })
    }
    const ping = await ask('/ping', 'HEAD')
    expect([ping.status, ping.headers['x-influxdb-version']]).to.deep.equal([204, '2.7.0'])
    expect((await ask('/ping?verbose=true')).body).to.deep.equal({ version: '2.7.0' })
    expect((await ask('/health')).body).to.deep.include({ status: 'pass', version: '2.7.0' })
    const create = await ask('/query', 'POST', 'q=CREATE+DATABASE+%22telegraf%22')
    expect([create.status, create.body.results]).to.deep.equal([200, [{ statement_id: 0 }]])
    const [shown] = (await ask('/query?q=SHOW%20DATABASES')).body.results
    expect(shown.series[0].values).to.deep.equal([['thermolog']])
    const select = await ask('/query?q=SELECT%201')
    expect([select.status, select.body.error]).to.deep.equal([401, 'missing token'])
    service.clock.set('2020-01-01T00:00:00Z')
    const health = await ask('/health')
    expect([health.status, health.body.status]).to.deep.equal([503, 'fail'])
  })

  it('refuse what a browser sends from another site', async () => {
    await start()
    const headers = { 'sec-fetch-site': 'cross-site' }
    expect((await write('', { headers })).status).to.equal(403)
    for (const path of ['/ping', '/health', '/query?q=SHOW+DATABASES']) {
      expect((await send(service.url, { path, headers })).status).to.equal(403)
    }
  })

  it('serve the client library of InfluxDB as it is', async () => {
    await start()
    const client = new InfluxDB({ url: service.url, token })
    // It waits for the batch that it flushes, not for those that were full before.
    const api = client.getWriteApi('org', 'bucket', 'ms', {
      batchSize: 5_000,
      gzipThreshold: 10,
    })
    for (let at = 0; at < 3_000; at++) {
      const point = new Point('room').tag('sn', `00112233${at % 10}0`).floatField('temp', at / 10)
      api.writePoint(point.timestamp(NOW_S * 1_000 - at))
    }
    await api.flush()
    await api.close()
    expect(Object.keys(await sensors())).to.have.lengthOf(10)
  })
})
