// Goal: `thermolog verify` names what is damaged, and only that, also while measurements come in.
// Method: a real service fills a directory until a part of the ledger is sealed; each test damages
// a copy of it on purpose. The commands are the real ones.

import { openSync, closeSync, writeSync } from 'node:fs'
import { cp, mkdtemp, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTagged } from '../../src/sqlite/database.ts'
import { expect } from 'chai'
import { epochEvents } from '../../src/domain/limits.ts'
import { runCommand, serve, serveHere } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { damageLeaf } from '../support/damage.ts'
import { send } from '../support/http.ts'
import { connect, influxSettings, newBucket, useInflux } from '../support/influx.ts'
import { until } from '../support/until.ts'
import { expectClean, verify } from '../support/verify.ts'
import type { VerifyAnswer } from '../support/verify.ts'

const USER = 'fleet@example.org'
const SETTINGS = { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0' }
const START_MS = Date.UTC(2026, 0, 1)
const STEP_MS = 20_000
const DAY_MS = 86_400_000
const SENSORS = 5
const BATCH = 500
/** Somewhat more than an epoch, so that one is sealed. */
const MEASUREMENTS = Math.ceil((epochEvents * 1.01) / BATCH) * BATCH
/** Where no InfluxDB is. */
const NOWHERE = {
  INFLUX_URL: 'http://127.0.0.1:1',
  INFLUX_ORG: 'nobody',
  INFLUX_BUCKET: 'none',
  INFLUX_TOKEN: 'none',
}
const FIRST_DAY = '2026-01-01'
/** `sensor-2`; ids are given in the order of registration. */
const SENSOR = 3

interface Target {
  readonly url: string
  readonly token: string
}

/** Batch after batch, of all sensors in turn; later ones have some times that were taken before. */
async function sendBatches(target: Target, first: number, count: number): Promise<void> {
  let next = first
  const sendSome = async () => {
    while (next < first + count) await sendBatch(target, next++)
  }
  await sendBatch(target, next++)
  await Promise.all([sendSome(), sendSome(), sendSome()])
}

async function sendBatch({ url, token }: Target, batch: number): Promise<void> {
  const measurements = Array.from({ length: BATCH }, (_, index) => {
    const at = batch * BATCH + index
    const place = at >= MEASUREMENTS && at % 9 === 0 ? at - MEASUREMENTS : at
    const timestamp = new Date(START_MS + Math.floor(place / SENSORS) * STEP_MS).toISOString()
    return { event_id: `e${at}`, sn: `sensor-${at % SENSORS}`, temp: (at % 700) / 7, timestamp }
  })
  const path = '/api/v1/measurements/batch'
  const answer = await send(url, { method: 'POST', path, token, body: { measurements } })
  expect(answer.status, answer.text).to.equal(201)
}

describe('thermolog verify', () => {
  let folder: string
  let token: string
  let damaged: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-verify-'))
    const dataDir = join(folder, 'whole')
    token = await createFleetToken(dataDir, USER)
    const service = await serveHere(dataDir, SETTINGS)
    await sendBatches({ url: service.url, token }, 0, MEASUREMENTS / BATCH)
    await until('the journal is forwarded', async () => {
      const { body } = await send(service.url, { path: '/readyz' })
      return body.backlog.entries === 0
    })
    await service.stop()
  })
  after(() => rm(folder, { recursive: true }))
  beforeEach(async () => {
    damaged = await mkdtemp(join(folder, 'damaged-'))
    await cp(join(folder, 'whole'), damaged, { recursive: true })
  })
  afterEach(() => rm(damaged, { recursive: true }))

  const change = (file: string, sql: string) => {
    const db = openTagged(join(damaged, file))
    db.exec(sql)
    db.close()
  }
  const checksOf = ({ findings }: Pick<VerifyAnswer, 'findings'>) => [
    ...new Set(findings.map(({ check }) => check)),
  ]

  it('is clean when nothing is wrong, and says what it has looked at', async () => {
    const answer = await verify(damaged)
    expect(answer).to.deep.include({ clean: true, findings: [], sensors: SENSORS })
    expect(answer).to.deep.include({ measurements: MEASUREMENTS, event_ids: MEASUREMENTS })
    const { stdout, stderr } = await runCommand(damaged, ['verify'])
    const total = MEASUREMENTS.toLocaleString('en-US')
    expect(stdout).to.equal(
      `checked ${total} measurements of ${SENSORS} sensors and ${total} event ids\n` +
        'nothing is wrong\n',
    )
    expect(stderr).to.match(/checking the ledger: \d{3},\d{3} events/)
    const doctor = await runCommand(damaged, ['doctor'])
    expect(doctor.stdout).to.include(`with ${total} event ids`)
  })

  it('names the sensor and the day of a measurement that is gone', async () => {
    change(
      'measurements.db',
      `DELETE FROM measurements WHERE sensor_id = ${SENSOR} AND measured_at_ms = ${START_MS}`,
    )
    const answer = await verify(damaged)
    expect(checksOf(answer)).to.have.members(['counts', 'summaries'])
    expect(answer.findings[0]).to.deep.include({
      where: 'measurements.db',
      sensor_id: SENSOR,
      day: FIRST_DAY,
      problem: '4320 measurements were accepted and forwarded, 4319 are stored',
    })
    const { exitCode, stdout, stderr } = await runCommand(damaged, ['verify'])
    expect(exitCode).to.equal(1)
    expect(stdout).to.include(`measurements.db, sensor ${SENSOR}, ${FIRST_DAY}: 4320 measurements`)
    expect(stdout).not.to.include('nothing is wrong')
    expect(stderr).to.match(/thermolog: 5 things are wrong/)
  })

  it('names a measurement that nobody sent', async () => {
    change('measurements.db', `INSERT INTO measurements VALUES (${SENSOR}, ${START_MS + 1}, 0, 4)`)
    const { findings } = await verify(damaged)
    expect(findings[0]).to.deep.include({ check: 'counts', sensor_id: SENSOR, day: FIRST_DAY })
    expect(findings[0]?.problem).to.match(/4320 .* accepted, 4321 are stored/)
  })

  it('names the windows of which count, sum, minimum or maximum are wrong', async () => {
    const changes = [
      'sum_celsius = sum_celsius + 0.01',
      'min_celsius = min_celsius - 1',
      'max_celsius = 4',
      'measurement_count = 1',
    ]
    const tables = ['minute', 'quarter', 'hour', 'day'].map((window) => `${window}_summaries`)
    for (const [at, table] of tables.entries()) {
      const where = `WHERE sensor_id = ${at + 1} AND start_ms = ${START_MS + DAY_MS}`
      change('measurements.db', `UPDATE ${table} SET ${changes[at]} ${where}`)
    }
    const { findings } = await verify(damaged)
    expect(findings.map(({ check, sensor_id: id, day }) => [check, id, day])).to.deep.equal(
      [1, 2, 3, 4].map((id) => ['summaries', id, '2026-01-02']),
    )
    for (const [at, table] of tables.entries()) {
      const named = new RegExp(`^${table} is wrong at 2026-01-02T00:00`)
      expect(findings[at]?.problem).to.match(named)
    }
  })

  it('names a summary that is gone, and one of nothing', async () => {
    change('measurements.db', `DELETE FROM minute_summaries WHERE start_ms = ${START_MS}`)
    change('measurements.db', `INSERT INTO hour_summaries VALUES (${SENSOR}, 0, 1, 1, 1, 1)`)
    const { findings } = await verify(damaged)
    expect(findings).to.have.length(SENSORS + 1)
    expect(findings.map(({ day }) => day)).to.include('1970-01-01')
  })

  it('names latest values that are too old, too new, or of another temperature', async () => {
    const changes = [
      'measured_at_ms = measured_at_ms - 1',
      'measured_at_ms = measured_at_ms + 1',
      'temp_celsius = 999',
    ]
    for (const [at, what] of changes.entries()) {
      change('control.db', `UPDATE sensor_latest SET ${what} WHERE sensor_id = ${at + 1}`)
    }
    change('control.db', `DELETE FROM sensor_latest WHERE sensor_id = 4`)
    const { findings } = await verify(damaged)
    expect(checksOf({ findings })).to.deep.equal(['latest'])
    const problems = findings.map(({ sensor_id: id, problem }) => `${id}: ${problem}`)
    expect(problems[0]).to.match(/^1: there is a measurement later than the latest value/)
    expect(problems[1]).to.match(/^2: no measurement is of the time of the latest value/)
    expect(problems[2]).to.match(/^3: the latest value is not the temperature/)
    expect(problems[3]).to.match(/^4: measurements were accepted, but there is no latest value/)
  })

  for (const { name, file, sql, check, problem } of [
    {
      name: 'a row missing from the middle of the journal',
      file: 'control.db',
      sql: 'DELETE FROM journal WHERE seq = (SELECT max(seq) - 1 FROM journal)',
      check: 'journal',
      problem: /rows \d+ to \d+ are missing/,
    },
    {
      name: 'a journal that lacks what is not sealed',
      file: 'control.db',
      sql: 'DELETE FROM journal',
      check: 'journal',
      problem: /rows \d+ to \d+ are missing: rows up to \d+ are forwarded, those up to \d+ are/,
    },
    {
      name: 'a watermark beyond the journal',
      file: 'control.db',
      sql: 'UPDATE journal_watermark SET forwarded_seq = 1000000',
      check: 'journal',
      problem: /up to 1000000 are forwarded, but the last one is/,
    },
    {
      name: 'a mark of sealing beyond the journal',
      file: 'ledger.db',
      sql: 'UPDATE sealed SET seq = 1000000',
      check: 'journal',
      problem: /up to 1000000 are sealed/,
    },
    {
      name: 'a mark of sealing that is too old',
      file: 'ledger.db',
      sql: 'UPDATE sealed SET seq = seq - 1',
      check: 'ledger',
      problem: /an event of run 1 is journalled again/,
    },
    {
      name: 'a block of the ledger that is gone',
      file: 'ledger.db',
      sql: 'DELETE FROM blocks WHERE id % 16777216 = 7',
      check: 'ledger',
      problem: /run 1: \d+ of \d+ events are there/,
    },
    {
      name: 'a block of the ledger in the wrong place',
      file: 'ledger.db',
      sql: `UPDATE blocks SET entries = (SELECT b.entries FROM blocks b WHERE b.id = blocks.id + 1)
        WHERE id % 16777216 = 7`,
      check: 'ledger',
      problem: /run 1: block 7 has an event that belongs into another block/,
    },
    {
      name: 'time spans that are too short',
      file: 'ledger.db',
      sql: `DELETE FROM time_spans WHERE sensor_id = ${SENSOR}`,
      check: 'ledger',
      problem: /sensor 3 has an event of .*, which is outside its time spans/,
    },
    {
      name: 'times that are taken, but free for the ledger',
      file: 'ledger.db',
      sql: `DELETE FROM time_spans WHERE sensor_id = ${SENSOR}`,
      check: 'ledger',
      problem: /^a new measurement of 2026-01-01T00:00:00.000Z would get .* at \d+ other times$/m,
    },
  ]) {
    it(`names ${name}`, async () => {
      change(file, sql)
      const { findings } = await verify(damaged)
      expect(findings.map((finding) => finding.check)).to.include(check)
      const named = findings.filter((finding) => finding.where === file)
      expect(named.map((finding) => finding.problem).join('\n')).to.match(problem)
    })
  }

  it('names sensors that nobody knows', async () => {
    change('measurements.db', `INSERT INTO measurements VALUES (77, ${START_MS}, 0, 4)`)
    change('control.db', `DELETE FROM sensors WHERE id = ${SENSOR}`)
    const { findings } = await verify(damaged)
    const named = findings.map(({ where, sensor_id: id }) => `${where} ${id}`)
    expect(named).to.include.members(['measurements.db 77', 'measurements.db 3', 'ledger.db 3'])
  })

  it('names a damaged page, and a file that is none, and checks the others', async () => {
    const page = Buffer.alloc(4_096, 0x55)
    const descriptor = openSync(join(damaged, 'measurements.db'), 'r+')
    writeSync(descriptor, page, 0, page.length, 4_096 * 20)
    closeSync(descriptor)
    await rm(join(damaged, 'ledger.db-wal'), { force: true })
    await truncate(join(damaged, 'ledger.db'), 20_000)
    const { findings } = await verify(damaged)
    const files = findings.filter(({ check }) => check === 'file').map(({ where }) => where)
    expect([...new Set(files)]).to.have.members(['measurements.db', 'ledger.db'])
  })

  it('names a damaged page as /readyz does when a history needs it, and others go on', async () => {
    damageLeaf(join(damaged, 'measurements.db'), 'measurements', 5)
    const service = await serveHere(damaged, SETTINGS)
    const [from, to] = [START_MS, START_MS + DAY_MS / 8].map((at) => new Date(at).toISOString())
    const statuses: number[] = []
    for (let id = 1; id <= SENSORS; id++) {
      const path = `/api/v1/sensors/${id}/measurements?from=${from}&to=${to}&bucket=raw`
      const answer = await send(service.url, { path, token })
      if (answer.status === 503) expect(answer.body).to.have.property('code', 'data_damaged')
      statuses.push(answer.status)
    }
    expect(statuses).to.have.members([200, 200, 200, 200, 503])
    const { body } = await send(service.url, { path: '/readyz' })
    expect(body.damaged.problems).to.have.lengthOf(1)
    expect(body.damaged.problems[0]).to.match(/^what measurements.db has of sensor \d is damaged$/)
    await service.stop()
    const { findings } = await verify(damaged)
    expect(findings.map(({ where }) => where)).to.include('measurements.db')
  })

  it('names a file that is gone', async () => {
    await rm(join(damaged, 'ledger.db'))
    const { findings } = await verify(damaged)
    expect(findings[0]).to.deep.include({ where: 'ledger.db', problem: 'it is missing' })
  })

  it('finds nothing wrong while measurements come in and sensors go', async () => {
    const service = await serve(damaged, SETTINGS)
    const target = { url: service.url, token }
    let isDone = false
    const sending = sendBatches(target, MEASUREMENTS / BATCH, 250).finally(() => (isDone = true))
    const path = `/api/v1/sensors/${SENSOR + 1}`
    let passes = 0
    while (!isDone) {
      await expectClean(damaged)
      passes++
      if (passes === 1) await send(service.url, { method: 'DELETE', path, token })
    }
    await sending
    expect(passes).to.be.greaterThan(0)
    await expectClean(damaged)
    await service.stop('SIGKILL')
    await expectClean(damaged)
  })

  it('has an example in its help, and refuses a directory without data', async () => {
    const help = await runCommand(damaged, ['verify', '--help'])
    expect(help.stdout).to.match(/Example:\n {2}bin\/thermolog verify/)
    const empty = await runCommand(join(folder, 'nothing'), ['verify'])
    expect(empty).to.deep.include({ exitCode: 2, stdout: '' })
    expect(empty.stderr).to.match(/has no data/)
  })
})

describe('thermolog verify with InfluxDB', () => {
  const influx = useInflux()
  let dataDir: string
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-verify-'))
  })
  afterEach(() => rm(dataDir, { recursive: true }))

  it('is clean beside the service, and names what InfluxDB has lost or was given', async () => {
    const target = await newBucket(influx())
    const settings = { ...SETTINGS, ...influxSettings(target) }
    const token = await createFleetToken(dataDir, USER, settings)
    const service = await serveHere(dataDir, settings)
    await sendBatches({ url: service.url, token }, 0, 4)
    expect(await expectClean(dataDir, settings)).to.equal(4 * BATCH)
    await service.stop()

    const connection = connect(target)
    const { organization: org, influxBucket: bucket } = target
    const query = new URLSearchParams({ org, bucket }).toString()
    const lost = {
      start: new Date(START_MS).toISOString(),
      stop: new Date(START_MS + STEP_MS).toISOString(),
      predicate: `sensor_id="${SENSOR}"`,
    }
    const path = `/api/v2/delete?${query}`
    const body = JSON.stringify(lost)
    expect((await connection.exchange({ method: 'POST', path, body })).status).to.equal(204)
    const line = `temperature,user_id=9,sensor_id=999 temp=1 ${START_MS}000000`
    await connection.exchange({ method: 'POST', path: `/api/v2/write?${query}`, body: line })
    const { findings } = await verify(dataDir, settings)
    const named = findings.map(({ check, where, sensor_id: id, day }) => ({
      check,
      where,
      id,
      day,
    }))
    expect(named).to.deep.equal([
      { check: 'counts', where: 'InfluxDB', id: SENSOR, day: FIRST_DAY },
      { check: 'deleted_sensors', where: 'InfluxDB', id: 999, day: null },
    ])
  })

  it('says that the store was not checked when InfluxDB is out of reach', async () => {
    const token = await createFleetToken(dataDir, USER, NOWHERE)
    const service = await serveHere(dataDir, NOWHERE)
    await sendBatch({ url: service.url, token }, 0)
    await service.stop()
    const { findings } = await verify(dataDir, NOWHERE)
    expect(findings.map(({ problem }) => problem).join()).to.match(/^it became unreachable/)
  })

  it('refuses settings that name another store', async () => {
    await createFleetToken(dataDir, USER)
    const { exitCode, stderr } = await runCommand(dataDir, ['verify'], NOWHERE)
    expect({ exitCode, stderr }).to.deep.include({ exitCode: 2 })
    expect(stderr).to.match(/keeps its measurements in another store/)
  })
})
