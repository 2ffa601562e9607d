// What is taken as a statement, what is not and what is said then, and who may ask.

import { expect } from 'chai'
import { send } from '../support/http.ts'
import { ask } from '../support/influxql.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const KELLER = 'Keller "Nord" / 1\\2 ${x} #5, a=b|c'

describe('InfluxQL', () => {
  let service: TestService
  let token: string

  before(async () => {
    service = await startService()
    token = await service.createToken('a@example.org')
    const submit = (as: string, sn: string, temp: number, timestamp: string) =>
      send(service.url, {
        method: 'POST',
        path: '/api/v1/measurements',
        token: as,
        body: { sn, temp, timestamp },
      })
    await submit(token, 'K-1', 20, '2026-11-20T08:10:00Z')
    await submit(token, 'K-2', 10, '2026-11-20T08:20:00.5Z')
    await submit(token, 'L-3', 1.5, '2026-11-20T09:20:00Z')
    await submit(await service.createToken('b@example.org'), 'B-4', 99, '2026-11-20T08:10:00Z')
    for (const id of [1, 2]) {
      const body = { alias: KELLER }
      await send(service.url, { method: 'PATCH', path: `/api/v1/sensors/${id}`, token, body })
    }
    service.clock.set('2026-11-20T10:00:00Z')
  })
  after(() => service.stop())

  const valuesOf = async (q: string): Promise<unknown[]> => {
    const { error, rows } = await ask(service.url, token, q)
    expect(error, q).to.equal(undefined)
    return rows.flatMap(({ time: _time, ...rest }) => Object.values(rest))
  }
  const refused = async (q: string, message: RegExp | string) => {
    const { status, error } = await ask(service.url, token, q)
    expect(status, q).to.equal(400)
    expect(error, q).to.match(new RegExp(message))
  }
  const WITH = 'SELECT count(temp) FROM temperature WHERE'

  describe('chooses sensors', () => {
    const COUNTS: readonly (readonly [string, number | undefined])[] = [
      ["name = 'L-3'", 1],
      ['alias = \'Keller \\"Nord\\" / 1\\\\2 ${x} #5, a=b|c\'', 2],
      ["NAME = 'L-3'", undefined],
      ['"sn"::tag != \'L-3\'', 2],
      ["sn <> 'L-3' and (sn = 'K-1' OR sn = 'L-3')", 1],
      ['sensor_id =~ /^(1|3)$/', 2],
      ['sensor_id !~ /^(1|3)$/', 1],
      ['name =~ /^(Keller "Nord" \\/ 1\\\\2 \\$\\{x\\} #5, a=b\\|c \\(K-1\\))$/', 1],
      ['choice =~ /#[12]$/', 2],
      ['sn =~ /(?i)^k-\\d+$/', 2],
      ['sn =~ /K|L/', 3],
      ['sn =~ /^K/', 2],
      ['sn =~ /^(K|L)-[^1]/', 2],
      ['sn =~ /^()$/', undefined],
      ["room = 'x'", undefined],
    ]
    for (const [condition, count] of COUNTS) {
      it(`by ${condition}`, async () => {
        expect(await valuesOf(`${WITH} ${condition}`)).to.deep.equal(count ? [count] : [])
      })
    }

    it('by a thousand names', async () => {
      const names = Array.from({ length: 4_000 }, (_, at) => `sensor ${at}`)
      expect(await valuesOf(`${WITH} sn =~ /^(${names.join('|')}|K-1)$/`)).to.deep.equal([1])
    })
  })

  describe('chooses times', () => {
    const COUNTS: readonly (readonly [string, number | undefined])[] = [
      ["time >= '2026-11-20T08:20:00.500Z'", 2],
      ["time > '2026-11-20T08:20:00.500Z'", 1],
      ["time < '2026-11-20T08:20:00.500Z'", 1],
      ["time <= '2026-11-20T09:20:00+01:00'", 1],
      ['time >= 1795162200s AND time <= 1795162800500ms', 2],
      ['time = 1795162800500000000', 1],
      ['time = 1795162800500000001', undefined],
      ['time >= 1795162800500000u AND time < 1795162800500000001ns', 1],
      ['time > now() - 1h', 1],
      ['time < now() - 90m AND time > now() - 2h', 2],
      ["time > '2026-11-20T09:00:00Z' AND time < '2026-11-20T08:00:00Z'", undefined],
    ]
    for (const [condition, count] of COUNTS) {
      it(`by ${condition}`, async () => {
        expect(await valuesOf(`${WITH} ${condition}`)).to.deep.equal(count ? [count] : [])
      })
    }
  })

  it('names two sensors of one alias apart, in the order of their tags', async () => {
    const { series } = await ask(service.url, token, 'SELECT temp FROM sensor GROUP BY name, sn')
    expect(series.map(({ tags }) => tags)).to.deep.equal([
      { name: `${KELLER} (K-1)`, sn: 'K-1' },
      { name: `${KELLER} (K-2)`, sn: 'K-2' },
      { name: 'L-3', sn: 'L-3' },
    ])
    const all = await ask(service.url, token, 'SELECT temp FROM sensor GROUP BY * SLIMIT 1')
    expect(all.series.map(({ tags }) => Object.keys(tags ?? {}))).to.deep.equal([
      ['alias', 'choice', 'name', 'sensor_id', 'sn'],
    ])
  })

  it('fills empty windows as asked', async () => {
    const windows = (fill: string) =>
      valuesOf(`SELECT mean(temp), count(temp) FROM temperature WHERE sn = 'K-1' AND
        time >= '2026-11-20T07:30:00Z' AND time < '2026-11-20T10:00:00Z' GROUP BY time(1h) ${fill}`)
    const [before, hour, after] = [
      [null, 0],
      [20, 1],
      [null, 0],
    ]
    expect(await windows('')).to.deep.equal([before, hour, after].flat())
    expect(await windows('fill(null)')).to.deep.equal([before, hour, after].flat())
    expect(await windows('fill(none)')).to.deep.equal(hour)
    expect(await windows('fill(previous)')).to.deep.equal([null, null, 20, 1, 20, 1])
    const carried = `SELECT mean(temp) FROM temperature WHERE time >= '2026-11-20T09:00:00Z' AND
      time < '2026-11-20T09:30:00Z' GROUP BY time(10m) fill(previous)`
    expect(await valuesOf(carried)).to.deep.equal([10, 10, 1.5])
    expect(await windows('FILL(-1.5)')).to.deep.equal([-1.5, -1.5, 20, 1, -1.5, -1.5])
    expect(await windows('ORDER BY time DESC LIMIT 2')).to.deep.equal([after, hour].flat())
  })

  it('has local days of 23 and 25 hours', async () => {
    const { rows } = await ask(
      service.url,
      token,
      `SELECT count(temp) FROM temperature WHERE time >= '2026-03-28T00:00:00Z' AND
       time < '2026-11-20T23:00:00Z' GROUP BY time(1d) tz('Europe/Berlin')`,
    )
    const times = rows.map(({ time }) => Number(time))
    const hours = new Set(times.slice(1).map((time, at) => (time - (times[at] ?? 0)) / 3_600_000))
    expect([...hours]).to.have.members([23, 24, 25])
  })

  it('numbers columns of one name, and takes names for others', async () => {
    const q =
      'SELECT mean("temp"::field), MEAN(raw), max(temp) AS "top" FROM "autogen".temperature;'
    const { series } = await ask(service.url, token, q)
    expect(series[0]?.columns).to.deep.equal(['time', 'mean', 'mean_1', 'top'])
  })

  it('shows nothing of what is unknown', async () => {
    for (const q of [
      'SELECT temp FROM weather',
      'SELECT humidity FROM sensor',
      'SELECT count(silence) FROM temperature',
      'SELECT temp FROM sensor GROUP BY room',
      'SHOW FIELD KEYS FROM weather',
      'SHOW TAG VALUES WITH KEY = "room"',
      "SHOW TAG VALUES WITH KEY = name WHERE sn = 'B-4'",
      "SELECT temp FROM sensor WHERE sn = 'B-4' OR sensor_id = '4'",
    ]) {
      const { status, series } = await ask(service.url, token, q)
      expect([status, series], q).to.deep.equal([200, []])
    }
  })

  const REFUSED: readonly (readonly [string, RegExp])[] = [
    ['', /^at character 1: expected SELECT or SHOW/],
    ['DROP SERIES FROM temperature', /statements only read/],
    ['SELECT temp INTO x FROM sensor', /^at character 13: statements only read/],
    ['SELECT temp FROM sensor; DROP x', /^at character 26: expected SELECT or SHOW/],
    ['SELECT temp FROM sensor SELECT', /the end of the statement, but it says "SELECT"/],
    [Array(27).fill('SHOW MEASUREMENTS').join(';'), /at most 26 statements/],
    [
      `SHOW MEASUREMENTS;SELECT temp FROM temperature WHERE time > now() - 8d`,
      /^statement 2: .*7 days/,
    ],
    [
      Array(8)
        .fill('SELECT mean(temp) FROM temperature WHERE time > now() - 30d GROUP BY time(1m), sn')
        .join(';'),
      /^statement 8: .* values, at most 1,000,000/,
    ],
    ['SELECT temp FROM /temperature/', /cannot be a measurement/],
    ['SELECT temp, "sn" FROM temperature', /^at character 14: tags cannot be columns: group by/],
    ['SELECT count(name) FROM temperature', /group by them/],
    ['SELECT temp FROM temperature GROUP BY time(1m)', /GROUP BY requires at least one aggregate/],
    ['SELECT mean(temp) FROM (SELECT temp FROM sensor)', /sub-queries/],
    ['SELECT temp + raw FROM temperature', /arithmetic/],
    ['SELECT 32 + temp FROM temperature', /arithmetic/],
    ['SELECT mean(temp * 2) FROM temperature', /arithmetic/],
    ['SELECT temp * 2 * 3 FROM temperature', /arithmetic/],
    ['SELECT temp / 0 FROM temperature', /divided by 0/],
    ['SELECT * FROM temperature', /GROUP BY/],
    ['SELECT count(*) FROM temperature', /GROUP BY/],
    ['SELECT derivative(mean(temp)) FROM temperature', /first, last, min, max or moving_average/],
    ['SELECT moving_average(mean(temp), 1) FROM temperature GROUP BY time(1m)', /from 2 to/],
    ['SELECT moving_average(mean(temp), 2) FROM temperature', /GROUP BY time/],
    ['SELECT temp, mean(temp) FROM temperature', /cannot be mixed/],
    ['SELECT name::tag, temp FROM sensor', /group by them/],
    ['SELECT temp FROM temperature WHERE temp > 20', /temp is a field/],
    ["SELECT temp FROM temperature WHERE name = 'x' OR time > 0", /time next to OR/],
    ['SELECT temp FROM temperature WHERE name = x', /text in '…'/],
    ['SELECT temp FROM temperature WHERE name = "x', /unexpected/],
    ["SELECT temp FROM temperature WHERE time > '2026-11-20'", /expected a time/],
    ['SELECT temp FROM temperature WHERE time > 1y', /expected a duration/],
    ['SELECT temp FROM temperature WHERE name =~ /a{1000}/', /is not supported/],
    ['SELECT temp FROM temperature WHERE name =~ /\\bx/', /is not supported/],
    ['SELECT temp FROM temperature WHERE name =~ /(a/', /cannot be read/],
    [`SELECT temp FROM temperature WHERE name =~ /.${'a'.repeat(1_000)}/`, /at most 1000/],
    [`SELECT temp FROM temperature WHERE ${'('.repeat(10_000)}`, /too deep/],
    ['SELECT mean(temp) FROM sensor GROUP BY time(1h)', /no windows/],
    ['SELECT mean(temp) FROM temperature GROUP BY time(500ms)', /whole seconds/],
    ['SELECT mean(temp) FROM temperature GROUP BY time(1d, 6h)', /no offset/],
    ['SELECT mean(temp) FROM temperature GROUP BY time(1d) fill(linear)', /null, none, previous/],
    ["SELECT mean(temp) FROM temperature GROUP BY time(1d) tz('Mars')", /IANA/],
    ['SELECT mean(temp) FROM temperature WHERE time > 0 GROUP BY time(1m)', /time\(1d\)/],
    ['SELECT mean(temp) FROM temperature WHERE time > now() - 8d GROUP BY time(30s)', /7 days/],
    ['SELECT last(temp) FROM temperature WHERE time > now() - 8d GROUP BY time(1h)', /7 days/],
    ['SELECT temp FROM temperature WHERE time > now() - 8d', /7 days/],
    [
      `SELECT ${Array(30).fill('mean(temp)').join()} FROM temperature WHERE time > now() - 30d
      GROUP BY time(1m)`,
      /1,296,030 values, at most 1,000,000/,
    ],
    [`SELECT ${Array(33).fill('raw').join()} FROM temperature`, /^33 fields .*, at most 32/],
    [`SELECT temp AS "${'n'.repeat(129)}" FROM sensor`, /a name has at most 128 characters/],
    [`SHOW MEASUREMENTS ${' '.repeat(70_000)}`, /at most 65536 bytes/],
  ]
  for (const [q, message] of REFUSED) {
    it(`refuses ${q.slice(0, 70)}`, () => refused(q, message.source))
  }

  it('counts a range of 7 days with both ends in it as 7 days', async () => {
    const range = "time >= '2026-11-13T10:00:00Z' AND time <= '2026-11-20T10:00:00Z'"
    expect(await valuesOf(`SELECT raw FROM temperature WHERE ${range}`)).to.have.lengthOf(3)
  })

  it('wants a daemon token with sensors:read, in whatever spelling', async () => {
    const query = '/query?q=SHOW%20MEASUREMENTS'
    const as = (authorization: string, path = query) =>
      send(service.url, { path, headers: { authorization } })
    const basic = `Basic ${Buffer.from(`grafana:${token}`).toString('base64')}`
    for (const spelled of [`Token ${token}`, `Bearer ${token}`, basic]) {
      expect((await as(spelled)).status).to.equal(200)
    }
    const none = await send(service.url, { path: '/query?q=nonsense' })
    expect([none.status, typeof none.body.error]).to.deep.equal([401, 'string'])
    expect((await as('Token thd_live_x')).status).to.equal(401)
    const writer = await service.createToken('a@example.org', { scope: ['measurements:write'] })
    expect((await as(`Token ${writer}`)).status).to.equal(403)
    expect((await as('Token thd_live_x', '/query?q=SHOW+DATABASES')).status).to.equal(200)
    const two = '/query?q=CREATE+DATABASE+x;SHOW+TAG+KEYS'
    expect((await as('Token thd_live_x', two)).status).to.equal(401)
    const put = await send(service.url, { method: 'DELETE', path: query })
    expect([put.status, put.headers.allow]).to.deep.equal([405, 'GET, HEAD, POST'])
  })

  it('has times in the unit asked for, and is not kept', async () => {
    const headers = { authorization: `Token ${token}` }
    const timesOf = async (q: string, epoch: string) => {
      const path = `/query?db=x&rp=y&pretty=true${epoch}&q=${encodeURIComponent(q)}`
      const { status, headers: sent, text, body } = await send(service.url, { path, headers })
      expect([status, sent['cache-control']]).to.deep.equal([200, 'no-store'])
      expect(JSON.parse(text)).to.deep.equal(body)
      return [...text.matchAll(/\[(\d+|"[^"]+"),\d+/g)].map(([, time]) => time)
    }
    const points = "SELECT temp FROM temperature WHERE sn =~ /K/ AND time > '2026-11-20T08:00:00Z'"
    const TIMES = {
      '&epoch=ns': ['1795162200000000000', '1795162800500000000'],
      '&epoch=u': ['1795162200000000', '1795162800500000'],
      '&epoch=%C2%B5': ['1795162200000000', '1795162800500000'],
      '&epoch=ms': ['1795162200000', '1795162800500'],
      '&epoch=s': ['1795162200', '1795162800'],
      '&epoch=m': ['29919370', '29919380'],
      '&epoch=h': ['498656', '498656'],
      '': ['"2026-11-20T08:10:00Z"', '"2026-11-20T08:20:00.5Z"'],
    }
    for (const [epoch, times] of Object.entries(TIMES)) {
      expect(await timesOf(points, epoch), epoch).to.deep.equal(times)
    }
    const none = await send(service.url, { path: '/query?epoch=d&q=SHOW+TAG+KEYS', headers })
    expect([none.status, none.body.error]).to.deep.equal([
      400,
      'epoch takes ns, u, µ, ms, s, m, h; times without it are RFC 3339',
    ])
  })

  it('answers several statements, each with a result', async () => {
    const q =
      ';SHOW TAG VALUES ON db FROM temperature WITH KEY = sn;; SELECT temp FROM weather;' +
      "SELECT last(temp) FROM temperature WHERE sn = 'L-3';"
    const { body } = await send(service.url, {
      path: `/query?epoch=s&q=${encodeURIComponent(q.slice(1))}`,
      headers: { authorization: `Token ${token}` },
    })
    const values = ['K-1', 'K-2', 'L-3'].map((sn) => ['sn', sn])
    const tags = { name: 'temperature', columns: ['key', 'value'], values }
    const last = { name: 'temperature', columns: ['time', 'last'], values: [[1795166400, 1.5]] }
    expect(body.results).to.deep.equal([
      { statement_id: 0, series: [tags] },
      { statement_id: 1 },
      { statement_id: 2, series: [last] },
    ])
  })

  it('says what it leaves out for want of a lower bound, but for the newest of each', async () => {
    const past = "time < '2026-11-21T08:30:00Z'"
    const { rows, messages } = await ask(
      service.url,
      token,
      `SELECT count(temp) FROM temperature WHERE ${past}`,
    )
    expect(rows.map(({ count }) => count)).to.deep.equal([1])
    const text =
      'only the 24 hours before 2026-11-21T08:30:00.000Z: time has no lower bound, add one, ' +
      'such as time > now() - 30d'
    expect(messages).to.deep.equal([{ level: 'warning', text }])
    const newest = await ask(
      service.url,
      token,
      "SELECT last(temp) FROM temperature WHERE time < '2030-01-01T00:00:00Z' GROUP BY sn",
    )
    expect(newest.messages).to.equal(undefined)
    expect(newest.rows.map(({ time, sn, last }) => [time, sn, last])).to.deep.equal([
      [1795162200000, 'K-1', 20],
      [1795162800500, 'K-2', 10],
      [1795166400000, 'L-3', 1.5],
    ])
    const { messages: none } = await ask(service.url, token, 'SELECT max(temp) FROM sensor')
    expect(none).to.equal(undefined)
  })

  it('has a time that InfluxDB knows, however far away the bounds are', async () => {
    for (const bounds of ['time < now() - 99999999999w', 'time > now() + 99999999999w']) {
      const q = `SELECT count(temp) FROM sensor WHERE ${bounds}`
      const path = `/query?q=${encodeURIComponent(q)}`
      const { body } = await send(service.url, {
        path,
        headers: { authorization: `Token ${token}` },
      })
      const [[time]] = body.results[0].series[0].values
      expect(time).to.match(/^(1677|1678|2262)-\d\d-\d\dT/)
    }
  })

  it('lists tags of what was measured in a time, and of all that are there', async () => {
    const valuesAt = async (from: string) => {
      const q = `SHOW TAG VALUES ${from} WITH KEY = sn WHERE time >= '2026-11-20T08:15:00Z'
        AND time < '2026-11-20T09:20:00Z' AND sn != 'B'`
      const { series } = await ask(service.url, token, q)
      return series.map(({ values }) => values.map(([, sn]) => sn))
    }
    const all = ['K-1', 'K-2', 'L-3']
    expect(await valuesAt('')).to.deep.equal([all, ['K-2']])
    expect(await valuesAt('FROM sensor')).to.deep.equal([all])
    expect(await valuesAt('FROM temperature')).to.deep.equal([['K-2']])
  })

  it('goes on for a user whose clients leave in the middle of long answers', async () => {
    const q = 'SELECT mean(temp) FROM temperature WHERE time > now() - 30d GROUP BY time(1m), sn'
    const leave = async () => {
      const answer = await fetch(`${service.url}/query`, {
        method: 'POST',
        headers: { authorization: `Token ${token}` },
        body: new URLSearchParams({ q }),
      })
      await answer.body?.cancel()
    }
    await Promise.all(Array.from({ length: 6 }, leave))
    expect((await ask(service.url, token, q)).rows).to.have.lengthOf(3 * 43_201)
  })

  it('refuses beyond the rate limit of the token', async () => {
    const limited = await startService({ RATE_LIMIT_REQUESTS: '1' })
    const reader = await limited.createToken('a@example.org')
    expect((await ask(limited.url, reader, 'SHOW MEASUREMENTS')).status).to.equal(200)
    const { status, error, headers } = await ask(limited.url, reader, 'SHOW MEASUREMENTS')
    await limited.stop()
    expect([status, typeof error]).to.deep.equal([429, 'string'])
    expect(Number(headers['retry-after'])).to.be.greaterThan(0)
  })
})
