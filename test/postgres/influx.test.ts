// Goal: with InfluxDB as the store of processes on PostgreSQL it does not matter which of them has
// accepted or forwarded a measurement. test/faults/postgres-influx.test.ts kills one of them, and
// InfluxDB.

import { expect } from 'chai'
import { createService } from '../../src/compose.ts'
import { loadConfig, UnfitSettings } from '../../src/config.ts'
import { verifyDatabase } from '../../src/data-dir/verify-database.ts'
import type { InfluxTarget } from '../../src/influx/connection.ts'
import { connect, influxSettings, newBucket, useInflux } from '../support/influx.ts'
import { readingsOf, STORY_RANGE } from '../support/influx-story.ts'
import { ask } from '../support/lanes.ts'
import { RecordingLog } from '../support/log.ts'
import { newDatabase, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { Replicas } from '../support/replicas.ts'
import { until } from '../support/until.ts'

const DAY = '2026-03-10'

describe('processes on PostgreSQL with InfluxDB as the store', () => {
  const postgres = usePostgres()
  const influx = useInflux()
  let database: TestDatabase
  let target: InfluxTarget
  let replicas: Replicas

  before(async () => {
    database = await newDatabase(postgres())
    target = await newBucket(influx())
    const environment = { DATABASE_URL: database.url, ...influxSettings(target) }
    replicas = await Replicas.start(2, environment)
  })
  after(async () => {
    await replicas?.stop()
    await database?.remove()
  })

  it('show at each what another has accepted', async () => {
    for (const first of [0, 1, 2, 3]) {
      const readings = readingsOf('cellar', first * 100, 100)
      expect(await replicas.post(first % 2, readings)).to.equal(201)
    }
    const id = await replicas.sensorId(0, 'cellar')
    for (const at of [0, 1]) {
      await until('the whole history', async () => {
        const { isComplete, count } = await replicas.history(at, id, DAY)
        return isComplete && count === 400
      })
    }
    expect(await ask(database.url, 'SELECT 1 FROM measurements')).to.deep.equal([])
  })

  it('are verified with what InfluxDB has', async () => {
    const quiet = { begin: () => undefined, advance: () => undefined }
    const settings = {
      database: { url: database.url, durability: 'local' },
      influx: target,
    } as const
    const verdict = await verifyDatabase(settings, quiet)
    expect(verdict).to.include({ findingsTotal: 0, measurements: 400, events: 400 })
    await deleteFirstMeasurement(target)
    const { findings } = await verifyDatabase(settings, quiet)
    expect(findings.map(({ where, problem }) => `${where}: ${problem}`)).to.deep.equal([
      'InfluxDB: 400 measurements were accepted and forwarded, 399 are stored',
    ])
    const elsewhere = verifyDatabase({ ...settings, influx: undefined }, quiet)
    expect(String(await elsewhere.catch((error: unknown) => error))).to.match(
      /the database keeps its measurements in another store \(InfluxDB/,
    )
  })

  it('refuse to look for measurements in another store', async () => {
    const config = loadConfig({ PORT: '0', DATABASE_URL: database.url })
    const refusal = await createService(config, { log: new RecordingLog() }).catch(
      (error: unknown) => error,
    )
    expect(refusal).to.be.instanceOf(UnfitSettings)
    expect(String(refusal)).to.match(/InfluxDB, organization .* set the old one again$/)
  })
})

/** As if InfluxDB had lost it. */
async function deleteFirstMeasurement(target: InfluxTarget): Promise<void> {
  const { organization: org, influxBucket: bucket } = target
  const start = new Date(STORY_RANGE.startMs).toISOString()
  const { status, body } = await connect(target).exchange({
    method: 'POST',
    path: `/api/v2/delete?${new URLSearchParams({ org, bucket }).toString()}`,
    contentType: 'application/json',
    body: JSON.stringify({ start, stop: start, predicate: '_measurement="temperature"' }),
  })
  expect(status, body).to.equal(204)
}
