// What was refused is kept, told and tried again: nobody reads the responses of these senders.

import { expect } from 'chai'
import { sendUnchecked } from '../support/http.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const NOW_S = Date.UTC(2026, 10, 20, 10, 15) / 1_000
const HOUR_S = 3_600

describe('what was refused', () => {
  let service: TestService
  let token: string
  let startMs: number

  const start = async (settings: Record<string, string> = {}) => {
    service = await startService(settings)
    startMs = service.clock.nowMs()
    token = await service.createToken('a@example.org')
  }
  const write = (body: string) =>
    sendUnchecked(service.url, {
      method: 'POST',
      path: '/api/v2/write?precision=s',
      body,
      headers: { authorization: `Token ${token}` },
    })
  const list = async () =>
    (await service.operations.run('refused list', { oldest: true })).refused!.entries
  /** Of a sensor: what was measured when, in seconds since the service began. */
  const history = async (sn: string) => {
    const sensors = await sendUnchecked(service.url, { path: '/api/v1/sensors', token })
    const found = sensors.body.data as { id: number; sn: string }[]
    const id = found.find((sensor) => sensor.sn === sn)?.id
    const path = `/api/v1/sensors/${id}/measurements?bucket=raw`
    const { body } = await sendUnchecked(service.url, { path, token })
    const points = (body.data as { points: { timestamp: string; temp: number }[] }).points
    return points.map(({ timestamp, temp }) => [(Date.parse(timestamp) - startMs) / 1_000, temp])
  }
  const readings = async () => {
    const answer = await sendUnchecked(service.url, { path: '/api/v1/sensors', token })
    const found = answer.body.data as { sn: string; latest: { raw: number; timestamp: string } }[]
    return found.map(({ sn, latest }) => `${sn} ${latest.raw} ${latest.timestamp}`)
  }

  afterEach(() => service.stop())

  it('is an equal line once, and lines by the hundred together, none of them lost', async () => {
    await start()
    const known = ['x', 'm temp=1e9']
    await write(known.join('\n').concat('\n').repeat(1_100))
    const once = (await list()).map(({ content, count }) => `${content} ${count}`)
    expect(once).to.have.members(known.map((line) => `${line} 1100`))
    const others = Array.from({ length: 2_000 }, (_, at) => at.toString(36))
    const answer = await write(others.join('\n'))
    expect(answer.body.message).to.match(/^partial write: 2000 of 2000 lines not stored; line 1: /)
    const entries = (await list()).slice(known.length)
    expect(entries).to.have.length.below(20)
    expect(entries[0]).to.include({ kind: 'cut-line', reason: 'missing fields, of each line' })
    const kept = entries.flatMap(({ content }) => content.split('\n').slice(0, -1))
    expect(kept).to.deep.equal(others)
    const refusedAgain = entries.length + known.length
    expect(await service.operations.run('refused retry', { all: true })).to.deep.equal({
      count: 0,
      refusedAgain,
    })
  })

  it('is looked for by its ids, however many, while requests come in between', async () => {
    await start()
    const ids = Array.from({ length: 500 }, (_, at) => at + 1)
    let turns = 0
    const counting = setInterval(() => (turns += 1), 0)
    const message = await service.operations.run('refused drop', { ids: ids.map(String) }).then(
      () => '',
      (error: Error) => error.message,
    )
    clearInterval(counting)
    expect(message).to.match(/^no refused item has the id 1, 2, .*, 99, 100 and more$/)
    expect(turns).to.be.greaterThan(5)
  })

  it('is kept with its reason, equal lines once with a count', async () => {
    await start()
    for (let time = 0; time < 3; time++) await write(`café temp=-300 ${NOW_S}\nno line`)
    const told = (await list()).map(({ content, reason, count, kind }) => [
      kind,
      content,
      reason,
      count,
    ])
    expect(told).to.deep.equal([
      ['line', `café temp=-300 ${NOW_S}`, 'temp: outside -273.15 to 10000 degrees Celsius', 3],
      ['line', 'no line', 'column 4: missing fields', 3],
    ])
  })

  it('is stored when an operator has made it possible, and only once', async () => {
    await start({ AUTO_REGISTER: 'false' })
    await write(`t,sn=0011223344 temp=1 ${NOW_S}\nt,sn=0011223344 temp=2`)
    const path = '/api/v1/measurements/batch?on_invalid=skip'
    const measurements = [
      { sn: '0011223355', temp: 3 },
      { sn: 'x', temp: 'warm' },
    ]
    await sendUnchecked(service.url, { method: 'POST', path, token, body: { measurements } })
    expect((await list()).map(({ kind }) => kind)).to.have.members([
      'line',
      'line',
      'element',
      'element',
    ])
    const { operations } = service
    expect(await operations.run('refused retry', { all: true })).to.deep.equal({
      count: 0,
      refusedAgain: 4,
    })
    for (const serialNumber of ['0011223344', '0011223355']) {
      await operations.run('sensor create', { user: 'a@example.org', sn: serialNumber })
    }
    service.clock.advanceMs(60_000)
    expect(await operations.run('refused retry', { all: true })).to.deep.equal({
      count: 3,
      refusedAgain: 1,
    })
    expect(await readings()).to.deep.equal([
      '0011223344 2 2026-11-20T10:15:02.113Z',
      '0011223355 3 2026-11-20T10:15:02.113Z',
    ])
    const [left] = await list()
    expect(left?.content).to.equal('{"sn":"x","temp":"warm"}')
    expect(await operations.run('refused drop', { ids: [String(left!.id)] })).to.deep.equal({
      count: 1,
    })
    expect(await list()).to.deep.equal([])
  })

  it('is stored without what was stored of the same line when it came', async () => {
    await start({ AUTO_REGISTER: 'false' })
    const user = 'a@example.org'
    const create = (serialNumber: string) =>
      service.operations.run('sensor create', { user, sn: serialNumber })
    await create('0011223344')
    await write('t,sn=0011223344 temp=1,temp_1=2,temp_2=99999,temp_3=3,temp_4=99999')
    const reasons = (await list()).map(({ content, fields }) => [content.slice(0, 12), fields])
    expect(reasons).to.deep.equal([
      ['t,sn=0011223', [2, 4]],
      ['t,sn=0011223', [1, 3]],
    ])
    await create('0011223344.temp_1')
    service.clock.advanceMs(60_000)
    expect(await service.operations.run('refused retry', { all: true })).to.deep.equal({
      count: 0,
      refusedAgain: 2,
    })
    await create('0011223344.temp_3')
    expect(await service.operations.run('refused retry', { all: true })).to.deep.equal({
      count: 1,
      refusedAgain: 1,
    })
    expect(await service.operations.run('refused retry', { all: true })).to.deep.equal({
      count: 0,
      refusedAgain: 1,
    })
    expect(await history('0011223344')).to.deep.equal([[0, 1]])
    expect(await history('0011223344.temp_1')).to.deep.equal([[0, 2]])
    expect(await history('0011223344.temp_3')).to.deep.equal([[0, 3]])
  })

  it('is what a request had beyond 500 points without a time', async () => {
    await start()
    const lines = Array.from({ length: 498 }, () => 't temp=1')
    await write([...lines, 't temp=1,temp_1=2,temp_2=3,temp_3=4'].join('\n'))
    expect((await list()).map(({ fields }) => fields)).to.deep.equal([[2, 3]])
    expect(await service.operations.run('refused retry', { all: true })).to.deep.equal({
      count: 1,
      refusedAgain: 0,
    })
    const histories = await Promise.all([1, 2, 3].map((field) => history(`t.temp_${field}`)))
    expect(histories).to.deep.equal([[[0, 2]], [[0, 3]], [[0, 4]]])
  })

  it('is the part of an equal line that was refused each time', async () => {
    await start({ AUTO_REGISTER: 'false' })
    const user = 'a@example.org'
    const create = (serialNumber: string) =>
      service.operations.run('sensor create', { user, sn: serialNumber })
    const line = 't,sn=0011223344 temp=1,temp_1=2'
    const { id } = await create('0011223344')
    await write(line)
    await service.operations.run('sensor delete', { id: String(id) })
    await create('0011223344.temp_1')
    for (let time = 0; time < 2; time++) {
      service.clock.advanceMs(60_000)
      await write(line)
    }
    expect((await list()).map(({ fields, count }) => [fields, count])).to.deep.equal([
      [[1], 1],
      [[0], 2],
    ])
    await create('0011223344')
    expect(await service.operations.run('refused retry', { all: true })).to.deep.equal({
      count: 2,
      refusedAgain: 0,
    })
    expect(await history('0011223344')).to.deep.equal([[120, 1]])
    expect(await history('0011223344.temp_1')).to.deep.equal([
      [0, 2],
      [60, 2],
      [120, 2],
    ])
  })

  it('is kept in part if it is too large, and never tried again', async () => {
    await start()
    const tags = Array.from({ length: 257 }, (_, at) => `,t${at}=é`).join('')
    const ahead = NOW_S + HOUR_S
    const lines = [`t,sn=0011223344 temp=1,s="${'x'.repeat(65_536)}" ${ahead}`, `t${tags} temp=1`]
    await write([...lines, `t,sn=0011223344 temp=2 ${NOW_S}`].join('\n'))
    const told = async () =>
      (await list()).map(({ kind, reason, content, aheadAtMs }) => [
        kind,
        reason,
        Buffer.byteLength(content),
        lines.some((line) => line.startsWith(content)),
        aheadAtMs,
      ])
    const kept = [
      ['cut-line', 'more than 65536 bytes; its beginning is kept', 1_024, true, null],
      ['cut-line', 'more than 256 tags; its beginning is kept', 1_024, true, null],
    ]
    expect(await told()).to.deep.equal(kept)
    const retried = await service.operations.run('refused retry', { all: true })
    expect(retried).to.deep.equal({ count: 0, refusedAgain: 2 })
    expect(await told()).to.deep.equal(kept)
    expect(await readings()).to.deep.equal(['0011223344 2 2026-11-20T10:15:00.000Z'])
  })

  it('as ahead of its receipt has the time that it says', async () => {
    await start()
    await write(`t temp=1 ${NOW_S + HOUR_S}\nt temp=99999 ${NOW_S}`)
    const ahead = (await list()).map(({ aheadAtMs }) => aheadAtMs)
    expect(ahead).to.have.members([(NOW_S + HOUR_S) * 1_000, null])
  })

  it('is named where a series sends local time as UTC', async () => {
    await start()
    const element = (timestamp: string) => ({ sn: 'cellar', temp: 1, timestamp })
    for (let minute = 0; minute < 3; minute++) {
      const at = NOW_S + minute * 60
      const lines = [
        `t,a=x\\ y temp=1 ${at + 2 * HOUR_S - 90}`,
        `t,a=x\\ z temp=1 ${at + (2 + minute) * HOUR_S}`,
        `t,a=z temp=1 ${NOW_S + 2 * HOUR_S}`,
      ]
      await write(lines.join('\n'))
      const batch = {
        measurements: [element(new Date((at + 1.25 * HOUR_S) * 1_000).toISOString())],
      }
      const path = '/api/v1/measurements/batch?on_invalid=skip'
      await sendUnchecked(service.url, { method: 'POST', path, token, body: batch })
      service.clock.advanceMs(60_000)
    }
    const named = (await list()).flatMap(({ content, reason }) => {
      const said = /: local time sent as UTC, always ([0-9.]+) hours ahead$/.exec(reason)
      return said === null ? [] : [[content.slice(0, 8), said[1]]]
    })
    const [line, json] = [
      ['t,a=x\\ y', '2'],
      ['{"sn":"c', '1.25'],
    ]
    expect(named).to.deep.equal([line, json, line, json, line, json])
  })

  it('is of a sensor that is called as its line says', async () => {
    await start()
    await write(`ruuvi,mac=cbb8334c884f,name=Sauna temp=1 ${NOW_S + HOUR_S}`)
    await write(`zigbee,sn=Küche\\ Nord temp=1 ${NOW_S + HOUR_S}`)
    service.clock.advanceMs(HOUR_S * 1_000)
    expect(await service.operations.run('refused retry', { all: true })).to.deep.equal({
      count: 2,
      refusedAgain: 0,
    })
    const sensors = await service.operations.run('sensor list', { user: 'a@example.org' })
    expect(sensors.map(({ alias }) => alias)).to.have.members(['Sauna', 'zigbee.Küche Nord'])
  })

  it('tells of each series without a temperature its last line and how often it came', async () => {
    await start()
    for (const percent of [40, 41]) {
      await write(`%,entity_id=feuchte_küche,_seq=${percent} value=${percent}\nkWh value=1`)
    }
    const { operations } = service
    await until(
      'both are noted',
      async () => (await operations.run('refused list', { skipped: true })).skipped!.count === 2,
    )
    const { skipped } = await operations.run('refused list', {
      skipped: true,
      user: 'a@example.org',
    })
    expect(skipped?.entries.map(({ line, count }) => [count, line])).to.have.deep.members([
      [2, '%,entity_id=feuchte_küche,_seq=41 value=41'],
      [2, 'kWh value=1'],
    ])
    const many = Array.from({ length: 5_000 }, (_, at) => `m${at} value=1`).join('\n')
    await write(many)
    const full = { count: 4_096, entries: 1_000 }
    await until('as many are noted as are kept', async () => {
      return (await operations.run('refused list', { skipped: true })).skipped!.count === full.count
    })
    expect(
      (await operations.run('refused list', { skipped: true })).skipped!.entries,
    ).to.have.lengthOf(full.entries)
    await service.operations.run('user delete', { user: 'a@example.org' })
    expect(await operations.run('refused list', { skipped: true })).to.deep.equal({
      skipped: { count: 0, entries: [] },
    })
  })

  it('goes with its user, and has room for the newest', async () => {
    await start()
    const text = 'x'.repeat(60_000)
    for (const name of 'abc') {
      const lines = Array.from({ length: 60 }, (_, at) => `${name}${at + 10}${text}`)
      await write(lines.join('\n'))
    }
    const { refused } = await service.operations.run('refused list', { limit: '1' })
    const { count, dropped, entries } = refused!
    expect([count, dropped, entries[0]?.content[0]]).to.deep.equal([139, 41, 'c'])
    await service.operations.run('user delete', { user: 'a@example.org' })
    expect(await list()).to.deep.equal([])
  })

  it('is listed in part where an answer of all of it would end the service', async () => {
    await start()
    const text = '\x01'.repeat(60_000)
    for (const name of 'ab') {
      await write(Array.from({ length: 60 }, (_, at) => `${name}${at + 10}${text}`).join('\n'))
    }
    const { refused } = await service.operations.run('refused list', { oldest: true })
    const { count, entries } = refused!
    expect([count, entries.length, entries.at(-1)?.content.slice(0, 3)]).to.deep.equal([
      120,
      70,
      'b19',
    ])
  })

  it('tells of fewer series, too, where an answer of all would take so much', async () => {
    await start()
    const text = '\x01'.repeat(1_024)
    for (const user of ['a@example.org', 'b@example.org']) {
      token = await service.createToken(user)
      await write(Array.from({ length: 3_000 }, (_, at) => `m${at}${text} x=1`).join('\n'))
    }
    const listed = async () =>
      (await service.operations.run('refused list', { skipped: true, limit: '10000' })).skipped!
    await until('all are noted', async () => (await listed()).count === 6_000)
    expect((await listed()).entries).to.have.lengthOf(4_096)
  })

  it('is counted', async () => {
    await start()
    await write(`t temp=1 ${NOW_S}\nt temp=2\nt humidity=1\nno line`)
    const { text } = await sendUnchecked(service.url, { path: '/metrics' })
    const counts = Array.from(text.matchAll(/line_points_total\{outcome="(\w+)"\} (\d+)/g))
    expect(counts.map(([, outcome, count]) => `${outcome} ${count}`)).to.deep.equal([
      'created 2',
      'duplicate 0',
      'skipped 1',
      'unkeyed 1',
      'refused 1',
    ])
  })
})
