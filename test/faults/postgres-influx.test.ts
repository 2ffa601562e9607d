// Goal: what processes on PostgreSQL have forwarded to InfluxDB is there in the end, whichever of
// them die, and whatever InfluxDB loses when it restarts. Method: real processes and servers; what
// InfluxDB loses is deleted past the service.

import { expect } from 'chai'
import type { InfluxTarget } from '../../src/influx/connection.ts'
import { InfluxMeasurementReader } from '../../src/influx/measurement-reader.ts'
import { connect, influxSettings, newBucket, useInfluxServer } from '../support/influx.ts'
import { readingsOf, STORY_RANGE } from '../support/influx-story.ts'
import { ask } from '../support/lanes.ts'
import { newDatabase, usePostgres } from '../support/postgres.ts'
import { Replicas } from '../support/replicas.ts'
import { until } from '../support/until.ts'

const DAY = '2026-03-10'
const COUNT_REPLAYING = `
  SELECT count(*)::int AS n FROM stream_forwarded WHERE replayed_seq IS NOT NULL`

describe('processes on PostgreSQL with an InfluxDB that restarts', () => {
  const postgres = usePostgres()
  const influx = useInfluxServer()

  it('write again what it has lost, also what a process forwarded that is dead', async () => {
    const database = await newDatabase(postgres())
    const target = await newBucket(influx())
    const settings = { DATABASE_URL: database.url, ...influxSettings(target) }
    const replicas = await Replicas.start(2, settings)
    for (const at of [0, 1]) {
      expect(await replicas.post(at, readingsOf('attic', at * 50, 50))).to.equal(201)
      expect(await replicas.post(at, readingsOf('shed', at * 50, 50))).to.equal(201)
    }
    const [attic, shed] = [await replicas.sensorId(0, 'attic'), await replicas.sensorId(0, 'shed')]
    for (const sensorId of [attic, shed]) await untilCounted(sensorId, 100)
    await replicas.deleteSensor(0, shed)
    await untilCounted(shed, 0)

    await replicas.kill(0)
    await deleteAll(target)
    await influx().restart()
    await replicas.replace(0)
    await untilCounted(attic, 100)
    await until('everything is written again', async () => {
      return (await ask<{ n: number }>(database.url, COUNT_REPLAYING))[0]?.n === 0
    })
    expect(await countInInflux(target, shed), 'of the deleted sensor').to.equal(0)
    expect((await replicas.history(1, attic, DAY)).isComplete).to.equal(true)

    function untilCounted(sensorId: number, count: number): Promise<void> {
      const what = `${count} measurements of sensor ${sensorId}`
      return until(what, async () => (await countInInflux(target, sensorId)) === count)
    }
    await replicas.stop()
    await database.remove()
  })
})

async function countInInflux(target: InfluxTarget, sensorId: number): Promise<number> {
  const reader = new InfluxMeasurementReader(connect(target))
  let count = 0
  for await (const rows of reader.readRaw({ sensorIds: [sensorId], ...STORY_RANGE })) {
    count += rows.length
  }
  return count
}

/** As a store that loses what it has just taken. */
async function deleteAll(target: InfluxTarget): Promise<void> {
  const { organization: org, influxBucket: bucket } = target
  const range = { start: '2026-03-01T00:00:00Z', stop: '2026-04-01T00:00:00Z' }
  const { status, body } = await connect(target).exchange({
    method: 'POST',
    path: `/api/v2/delete?${new URLSearchParams({ org, bucket }).toString()}`,
    contentType: 'application/json',
    body: JSON.stringify({ ...range, predicate: '_measurement="temperature"' }),
  })
  expect(status, body).to.equal(204)
}
