// Goal: the embedded store moves into InfluxDB whole, and DATA_DIR uses InfluxDB only then. Method:
// the real command and the real service on a data directory that the service has filled, with
// measurements at one millisecond, negative ones and a deleted sensor; what the API shows before is
// held against what it shows after.

import { once } from 'node:events'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { InfluxMeasurementReader } from '../../src/influx/measurement-reader.ts'
import { runCommand, runProcess, servingHere, startCommand } from '../support/command.ts'
import type { Environment } from '../support/command.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import type { ProxiedRequest } from '../support/fault-proxy.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { send } from '../support/http.ts'
import { connect, newBucket, useInflux } from '../support/influx.ts'
import { collect } from '../support/measurements.ts'
import { until } from '../support/until.ts'
import { expectClean } from '../support/verify.ts'

const DAY_MS = 86_400_000
const EVERY_FOUR_MINUTES = 240_000
const BACK_BY_SIX_HOURS = -DAY_MS / 4
const START_MS = Date.UTC(2026, 2, 10)
const PERIOD = 'from=2026-03-09T00:00:00Z&to=2026-03-16T00:00:00Z'
const USER = 'fleet@example.org'
/** Ids by order of registration; `GONE` is deleted before the move. */
const [CELLAR, FREEZER, GONE, ATTIC, LATE] = [1, 2, 3, 4, 5]
const PER_SENSOR = 1_000
const TIES = 3

/** One after the other, below zero now and then, and some at one millisecond. */
function measurementsOf(sn: string, offset: number, everyMs = EVERY_FOUR_MINUTES) {
  const regular = Array.from({ length: PER_SENSOR - TIES }, (_, at) => ({
    event_id: `${sn}/${at}`,
    sn,
    temp: ((at * 7) % 400) / 8 - 25 + offset,
    timestamp: new Date(START_MS + at * everyMs).toISOString(),
  }))
  const ties = Array.from({ length: TIES }, (_, at) => ({
    event_id: `${sn}/tie/${at}`,
    sn,
    temp: -at - offset,
    timestamp: new Date(START_MS + 8_640_000).toISOString(),
  }))
  return [...regular, ...ties]
}

const isLineProtocol = ({ path, body }: ProxiedRequest) =>
  path.startsWith('/api/v2/write') && body.length > 0

describe('thermolog move --to influx', () => {
  const influx = useInflux()
  let filled: string
  let shownBefore: unknown
  let dataDir: string
  let token: string
  let target: Awaited<ReturnType<typeof newBucket>>
  before(async () => {
    filled = await mkdtemp(join(tmpdir(), 'thermolog-filled-'))
    token = await createFleetToken(filled, USER)
    shownBefore = await servingHere(filled, {}, async (url) => {
      await fill(url)
      return readAll(url)
    })
  })
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-store-'))
    await cp(filled, dataDir, { recursive: true })
    target = await newBucket(influx())
  })
  afterEach(() => rm(dataDir, { recursive: true }))
  after(async () => {
    if (filled !== undefined) await rm(filled, { recursive: true })
  })

  const settings = (url = target.url): Environment => ({
    INFLUX_URL: url,
    INFLUX_ORG: target.organization,
    INFLUX_BUCKET: target.influxBucket,
    INFLUX_TOKEN: target.influxToken,
  })
  const move = (url?: string) => runCommand(dataDir, ['move', '--to', 'influx'], settings(url))

  const post = async (url: string, ...of: Parameters<typeof measurementsOf>) => {
    const measurements = measurementsOf(...of)
    for (let start = 0; start < measurements.length; start += 500) {
      const body = { measurements: measurements.slice(start, start + 500) }
      const path = '/api/v1/measurements/batch'
      const { status } = await send(url, { method: 'POST', path, token, body })
      expect(status).to.equal(201)
    }
  }

  const fill = async (url: string) => {
    await post(url, 'CELLAR', 0)
    await post(url, 'FREEZER', -0.125)
    await post(url, 'GONE', 1)
    // So long that it is written in several requests.
    await post(url, 'ATTIC', 3, BACK_BY_SIX_HOURS)
    const path = `/api/v1/sensors/${FREEZER}`
    const body = { alias: 'Freezer "2"', compensation: -0.4 }
    await send(url, { method: 'PATCH', path, token, body })
    await send(url, { method: 'DELETE', path: `/api/v1/sensors/${GONE}`, token })
  }

  /** Its answers are complete, so all that was sent is in the store. */
  const readAll = async (url: string) => {
    const answers: unknown[] = []
    for (const id of [CELLAR, FREEZER]) {
      for (const bucket of ['raw', 'hour', 'day']) {
        const path = `/api/v1/sensors/${id}/measurements?${PERIOD}&bucket=${bucket}`
        const { status, body } = await send(url, { path, token })
        expect(status).to.equal(200)
        expect(body.data.complete).to.equal(true)
        answers.push(body.data)
      }
    }
    return answers
  }

  const countIn = async (sensorId: number): Promise<number> => {
    const reader = new InfluxMeasurementReader(connect(target))
    const range = {
      sensorIds: [sensorId],
      startMs: START_MS - 300 * DAY_MS,
      stopMs: START_MS + 9 * DAY_MS,
    }
    return (await collect(reader.readRaw(range))).length
  }

  const writeLine = async (line: string) => {
    const { organization: org, influxBucket: bucket } = target
    const path = `/api/v2/write?${new URLSearchParams({ org, bucket }).toString()}`
    const answer = await connect(target).exchange({ method: 'POST', path, body: line })
    expect(answer.status, answer.body).to.equal(204)
  }

  /** Kills a move at a request, which never arrives. */
  const killAt = async (isDue: (request: ProxiedRequest) => boolean) => {
    const proxy = await FaultProxy.start(target.url)
    const due = new Promise<void>((resolve) => {
      proxy.decide = (request) => {
        if (!isDue(request)) return { kind: 'pass' }
        resolve()
        return { kind: 'cut' }
      }
    })
    const child = startCommand(dataDir, ['move', '--to', 'influx'], settings(proxy.url))
    await due
    child.kill('SIGKILL')
    await once(child, 'exit')
    await until('some have arrived', async () => (await countIn(ATTIC)) > 0)
    await proxy.close()
  }

  /** When some measurements are in InfluxDB, and others are not. */
  const killHalfway = async () => {
    let writes = 0
    await killAt((request) => isLineProtocol(request) && ++writes > 1)
    expect(await countIn(ATTIC)).to.be.lessThan(PER_SENSOR)
  }

  it('moves everything, and the service shows the same before and after', async () => {
    const early = await runProcess(dataDir, ['serve'], settings())
    expect(early.exitCode).to.equal(2)
    expect(early.stderr).to.match(/another store \(embedded\).*bin\/thermolog move --to influx/)

    const moved = await move()
    expect(moved.stderr).to.match(/moving measurements: 3,000 measurements/)
    expect(moved.stdout).to.match(/moved 3,000 measurements; both sides have been compared/)
    expect(moved.exitCode).to.equal(0)
    const again = await move()
    expect(again.stdout).to.match(/nothing to move/)
    expect(again.exitCode).to.equal(0)

    const late = await runProcess(dataDir, ['serve'])
    expect(late.exitCode).to.equal(2)
    expect(late.stderr).to.match(/another store \(InfluxDB, .*set the old one again/)
    const after = await servingHere(dataDir, settings(), async (url) => {
      const shown = await readAll(url)
      // What is sent again is known, and what is new comes after the tie-breaks that were given.
      const [repeated] = measurementsOf('CELLAR', 0).slice(-1)
      const path = '/api/v1/measurements'
      const repeat = await send(url, { method: 'POST', path, token, body: repeated })
      expect(repeat.status).to.equal(200)
      const body = { ...repeated, event_id: 'new' }
      expect((await send(url, { method: 'POST', path, token, body })).status).to.equal(201)
      await readAll(url)
      return shown
    })
    expect(after).to.deep.equal(shownBefore)
    expect(await countIn(CELLAR)).to.equal(PER_SENSOR + 1)
    expect(await countIn(GONE)).to.equal(0)
  })

  it('tells those who read the bucket what the sensors are called', async () => {
    expect((await move()).exitCode).to.equal(0)
    const query = `from(bucket: "${target.influxBucket}") |> range(start: 0)
      |> filter(fn: (r) => r._measurement == "sensor_info" and r._field == "alias")
      |> last() |> keep(columns: ["sensor_id", "_value"])`
    const org = new URLSearchParams({ org: target.organization }).toString()
    const { body } = await connect(target).exchange({
      method: 'POST',
      path: `/api/v2/query?${org}`,
      contentType: 'application/vnd.flux',
      body: query,
    })
    expect(body).to.match(/,CELLAR,1\r\n/)
    expect(body).to.match(/,"Freezer ""2""",2\r\n/)
    expect(body).not.to.match(/GONE/)
  })

  it('is not begun beside a running service', async () => {
    await servingHere(dataDir, {}, async () => {
      const refused = await move()
      expect(refused.exitCode).to.equal(1)
      expect(refused.stderr).to.match(/is in use by another.*\nStop the service until the move/)
    })
    expect(await countIn(CELLAR)).to.equal(0)
  })

  it('begins anew where it was killed, and moves everything once', async () => {
    await killHalfway()
    // While it counts.
    await killAt(({ path }) => path.startsWith('/api/v2/query'))
    const early = await runProcess(dataDir, ['serve'], settings())
    expect(early.exitCode).to.equal(2)
    const proxy = await FaultProxy.start(target.url)
    let writes = 0
    proxy.decide = (request) =>
      isLineProtocol(request) && writes++ === 0 ? { kind: 'lose_reply' } : { kind: 'pass' }
    const again = await move(proxy.url)
    expect(again.stdout).to.contain('moved 3,000 measurements')
    expect(again.exitCode).to.equal(0)
    await proxy.close()
    expect(await servingHere(dataDir, settings(), readAll)).to.deep.equal(shownBefore)
    for (const id of [CELLAR, FREEZER, ATTIC]) expect(await countIn(id)).to.equal(PER_SENSOR)
    await expectClean(dataDir, settings())
  })

  it('takes along what came after it was killed, and what was deleted since goes', async () => {
    await killHalfway()
    await servingHere(dataDir, {}, async (url) => {
      await post(url, 'LATE', 2)
      await send(url, { method: 'DELETE', path: `/api/v1/sensors/${ATTIC}`, token })
    })
    const last = await move()
    expect(last.stdout).to.contain('moved 3,000 measurements')
    expect(last.exitCode).to.equal(0)
    await servingHere(dataDir, settings(), async () => {
      await until('the deleted sensor is gone', async () => (await countIn(ATTIC)) === 0)
    })
    for (const id of [CELLAR, FREEZER, LATE]) expect(await countIn(id)).to.equal(PER_SENSOR)
    await expectClean(dataDir, settings())
  })

  it('names the day that has another number of measurements, and changes nothing', async () => {
    const line = `temperature,user_id=1,sensor_id=${CELLAR} temp=1`
    await writeLine(`${line} ${START_MS + 5 * DAY_MS}000007`)
    const refused = await move()
    expect(refused.exitCode).to.equal(1)
    expect(refused.stderr).to.match(/sensor 1, 2026-03-15: 0 here, 1 in InfluxDB/)
    expect(refused.stderr).to.match(/keeps using the embedded store/)
    await servingHere(dataDir, {}, readAll)
  })

  it('says why when InfluxDB refuses some', async () => {
    await writeLine(`temperature,user_id=1,sensor_id=999 temp=1i ${START_MS}000000`)
    const refused = await move()
    expect(refused.exitCode).to.equal(1)
    expect(refused.stderr).to.match(/sensor 1, 2026-03-10: \d+ here, 0 in InfluxDB/)
    expect(refused.stderr).to.match(/refused some: .*field type conflict/)
  })

  it('refuses a bucket that has measurements of others', async () => {
    await writeLine(`temperature,user_id=1,sensor_id=999 temp=1 ${START_MS}000000`)
    const refused = await move()
    expect(refused.exitCode).to.equal(1)
    expect(refused.stderr).to.match(/a sensor 999, which Thermolog does not know\n.*INFLUX_BUCKET/)
  })

  it('refuses settings of no InfluxDB, one that expires data, or one out of reach', async () => {
    const none = await runCommand(dataDir, ['move', '--to', 'influx'])
    expect(none.exitCode).to.equal(2)
    expect(none.stderr).to.match(/INFLUX_URL/)
    const { influxBucket } = await newBucket(influx(), { expireSeconds: 86_400 })
    const environment = { ...settings(), INFLUX_BUCKET: influxBucket }
    const expiring = await runCommand(dataDir, ['move', '--to', 'influx'], environment)
    expect(expiring.exitCode).to.equal(2)
    expect(expiring.stderr).to.match(/after 86400 seconds: .*--retention 0/)
    const away = await move('http://127.0.0.1:9')
    expect(away.exitCode).to.equal(1)
    expect(away.stderr).to.match(/cannot be reached/)
  })
})
