// Goal: `thermolog verify` names what is wrong in a database, and only that, also while
// measurements come in. Method: a real service fills a database; each test damages a copy of it.

import { expect } from 'chai'
import { createService } from '../../src/compose.ts'
import type { Service } from '../../src/compose.ts'
import { loadConfig } from '../../src/config.ts'
import { openOperations } from '../../src/data-dir/operations.ts'
import type { Verdict } from '../../src/data-dir/verdict.ts'
import { verifyDatabase } from '../../src/data-dir/verify-database.ts'
import { systemClock } from '../../src/system/clock.ts'
import { sendBatch, send } from '../support/http.ts'
import { RecordingLog } from '../support/log.ts'
import { newDatabase, runOnce, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const START_MS = Date.UTC(2026, 2, 10)
const BATCH = 500
const QUIET = { begin: () => undefined, advance: () => undefined }
const verify = (url: string) => verifyDatabase({ url, durability: 'local' }, QUIET)
const [CELLAR, GONE] = [1, 2]
const OF_GONE = `WHERE sensor_id = ${GONE}`
/** The first stream has no lane. */
const OF_LANE = 'stream_id > 0'
const AT = `sensor_id = ${CELLAR} AND at_ms = ${START_MS}`

/** The latest value is the one before it, as if the clock had been ahead when the last one came. */
const giveWay = (gaveWayAtMs: string) => `
  UPDATE sensor_state AS s
  SET gave_way_at_ms = ${gaveWayAtMs}, (measured_at_ms, temp_celsius) = (
    SELECT m.at_ms, m.temp_celsius FROM measurements m
    WHERE m.sensor_id = s.sensor_id AND m.at_ms < s.measured_at_ms
    ORDER BY m.at_ms DESC, m.tie_break_ns DESC LIMIT 1)`

/** Two at each of the first ten minutes. */
function measurementsOf(sn: string, from: number) {
  return Array.from({ length: BATCH }, (_, at) => {
    const minute = from === 0 && at >= BATCH - 10 ? BATCH - 1 - at : from + at
    const timestamp = new Date(START_MS + minute * 60_000).toISOString()
    return { event_id: `${sn}/${from + at}`, sn, temp: (at % 90) / 4, timestamp }
  })
}

describe('the verification of a database', () => {
  const postgres = usePostgres()
  let filled: TestDatabase
  let service: Service
  let url: string
  let token: string

  before(async () => {
    filled = await newDatabase(postgres())
    const config = loadConfig({ PORT: '0', DATABASE_URL: filled.url })
    service = await createService(config, { clock: systemClock, log: new RecordingLog() })
    url = (await service.start()).url
    const { operations, close } = await openOperations(config)
    await operations.run('user create', { email: 'ana@example.org' })
    token = (await operations.run('token create', { user: 'ana@example.org', name: 'gateway' }))
      .token
    await close()
    await sendBatch(url, token, measurementsOf('CELLAR', 0))
    await sendBatch(url, token, measurementsOf('GONE', 0))
    await send(url, { method: 'DELETE', path: `/api/v1/sensors/${GONE}`, token })
    const invalid = { measurements: [{ sn: 'CELLAR', temp: 'warm' }] }
    const path = '/api/v1/measurements/batch?on_invalid=skip'
    await send(url, { method: 'POST', path, token, body: invalid })
  })
  after(() => filled?.remove())

  const found = ({ findings }: Verdict) =>
    findings.map(({ check, sensorId, problem }) => `${check} ${sensorId ?? '-'}: ${problem}`)

  it('finds nothing wrong while measurements come in', async () => {
    const sending = (async () => {
      for (let from = BATCH; from <= 10 * BATCH; from += BATCH) {
        const sent = await sendBatch(url, token, measurementsOf('CELLAR', from))
        expect(sent.status).to.equal(201)
      }
    })()
    expect(found(await verify(filled.url))).to.deep.equal([])
    await sending
  })

  describe('of a copy that is damaged', () => {
    let copy: TestDatabase
    let measurements: number
    before(async () => {
      await untilSettled()
      await service.stop()
      const verdict = await verify(filled.url)
      expect(found(verdict)).to.deep.equal([])
      expect(verdict).to.include({ sensors: 1, events: verdict.measurements + BATCH, moving: 0 })
      measurements = verdict.measurements
    })
    beforeEach(async () => {
      copy = await newDatabase(postgres(), filled)
    })
    afterEach(() => copy.remove())

    for (const { what, sql, says } of [
      {
        what: 'a measurement that is gone',
        sql: `DELETE FROM measurements WHERE ${AT} AND tie_break_ns = 0`,
        says: [
          /^counts 1: \d+ measurements were accepted and forwarded, \d+ are stored$/,
          /^summaries 1: measurements_hour is wrong at 2026-03-10T00:00:00.000Z: \d+ meas/,
          /^summaries 1: measurements_day is wrong/,
        ],
      },
      {
        what: 'a measurement that nobody sent, where the next one would be',
        sql: `INSERT INTO measurements
          SELECT ${START_MS + 1}, 4, id, 0 FROM sensors WHERE id = ${CELLAR}`,
        says: [/^counts 1: .* accepted, /, /^summaries 1: /, /^summaries 1: /],
      },
      {
        what: 'a tie-break that would be given again',
        sql: `UPDATE tie_breaks SET next = 1 WHERE ${AT}`,
        says: [/^ledger 1: a new measurement of 2026-03-10T00:00:00.000Z would get the tie-break/],
      },
      {
        what: 'times that a sensor does not know of',
        sql: `UPDATE sensor_state SET time_spans = ''`,
        says: [/^ledger 1: a new measurement of 2026-03-10T00:00:00.000Z would get the tie-break/],
      },
      {
        what: 'an event that was never accepted',
        sql: `UPDATE accepted_per_day SET measurements = measurements - 1
          WHERE day = (SELECT min(day) FROM accepted_per_day)`,
        says: [/^ledger 1: the ledger knows \d+ events, but \d+ meas/, /^counts 1: /],
      },
      {
        what: 'a latest value that is not the newest',
        sql: `UPDATE sensor_state SET temp_celsius = 99`,
        says: [/^latest 1: the latest value is not the temperature of the latest measurement/],
      },
      {
        what: 'a measurement later than the latest value, and than what gave way',
        sql: giveWay('s.measured_at_ms - 1'),
        says: [/^latest 1: there is a measurement later than the latest value/],
      },
      {
        what: 'a row of a stream that is gone',
        sql: `DELETE FROM journal WHERE ${OF_LANE} AND seq = 2`,
        says: [/^journal -: stream \d+: rows 2 to 2 are missing$/],
      },
      {
        what: 'a head that is behind its rows',
        sql: `UPDATE streams SET head = 1 WHERE ${OF_LANE} AND head > 0`,
        says: [
          /^journal -: stream \d+: rows up to \d+ are forwarded, the last is 1$/,
          /^journal -: stream \d+: its last row is \d+, but number 1 was given out$/,
          /^journal 1: its last row is \d+ of stream \d+, which is missing$/,
        ],
      },
      {
        what: 'what is left of a deleted sensor',
        sql: `INSERT INTO measurements_day
          SELECT id, 1, ${START_MS}, 1, 1, 1 FROM sensors WHERE id = ${GONE}`,
        says: [/^deleted_sensors 2: it has measurements of a sensor that is deleted/],
      },
      {
        what: 'a user whose sensors are counted wrong, and what was refused',
        sql: 'UPDATE user_state SET sensors = 7; UPDATE refused_totals SET bytes = 1',
        says: [
          /^control -: user 1 has 1 sensors, 7 are counted$/,
          /^control -: user 1 has \d+ bytes of what was refused, 1 are counted$/,
        ],
      },
      {
        what: 'sensors whose user is gone',
        sql: 'DELETE FROM users; DELETE FROM user_state',
        says: [/^control -: sensor 1 has no user$/, /^control -: sensor 2 has no user$/],
      },
    ]) {
      it(`names ${what}`, async () => {
        await runOnce(copy.url, sql)
        const wrong = found(await verify(copy.url))
        expect(wrong, wrong.join('\n')).to.have.lengthOf(says.length)
        for (const [at, pattern] of says.entries()) expect(wrong[at]).to.match(pattern)
      })
    }

    it('finds nothing wrong with a latest value that another one gave way to', async () => {
      await runOnce(copy.url, giveWay('s.measured_at_ms'))
      expect(found(await verify(copy.url))).to.deep.equal([])
    })

    it('finds nothing wrong with a user who is being deleted', async () => {
      await runOnce(
        copy.url,
        `DELETE FROM users;
         WITH gone AS (DELETE FROM user_state RETURNING user_id)
         INSERT INTO user_deletions SELECT * FROM gone`,
      )
      expect(found(await verify(copy.url))).to.deep.equal([])
    })

    it('counts what is in the journal as on its way', async () => {
      await runOnce(copy.url, `UPDATE stream_forwarded SET seq = 1 WHERE ${OF_LANE} AND seq > 0`)
      const verdict = await verify(copy.url)
      expect(found(verdict)).to.deep.equal([])
      expect(verdict).to.include({ measurements, moving: 1 })
    })
  })

  it('refuses a database without data', async () => {
    const empty = await newDatabase(postgres())
    const message = await verify(empty.url).then(String, (error) => error.message)
    expect(message).to.equal('the database of DATABASE_URL has no data')
    await empty.remove()
  })

  async function untilSettled(): Promise<void> {
    await until('everything is forwarded and deleted', async () => {
      const { body } = await send(url, { path: '/readyz' })
      const left = await runOnce(filled.url, `SELECT 1 FROM measurements_day ${OF_GONE}`)
      if (body.backlog.entries > 0 || left.length > 0) return false
      return (await verify(filled.url)).moving === 0
    })
  }
})
