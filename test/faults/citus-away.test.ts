// Goal: a worker that is away costs only its own users something. Method: a whole service on a
// coordinator and two workers, a user on each; one worker is killed and started again, or stands
// still for a while.

import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import type { Service } from '../../src/compose.ts'
import { connectAlone } from '../../src/postgres/server/connection.ts'
import { migrate } from '../../src/postgres/server/migrate.ts'
import { lookAtServer } from '../../src/postgres/server/recorded-server.ts'
import { CitusCluster, citusPrograms, useCitusCluster } from '../support/citus.ts'
import { send } from '../support/http.ts'
import { ask } from '../support/lanes.ts'
import { countLockWaits } from '../support/lock-waits.ts'
import type { RecordingLog } from '../support/log.ts'
import { until, within } from '../support/until.ts'
import { newUsersOf, startOnCitus } from '../support/users-of-workers.ts'
import { expectClean } from '../support/verify.ts'

const AT = '2026-11-20T10:15:00.000Z'
const RANGE = 'from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&bucket=raw'
/** Longer than any statement may take. */
const STILL_MS = 15_000
const ANSWER_MS_MAX = 5_000
const STOP_MS_MAX = 10_000
const RECORDED_MS_MAX = 2_000
/** Longer than the database may be silent. */
const UNRECORDED_MS = 7_000
/** Before anybody else gives up. */
const OTHER_MS_MAX = 2_000
/** Together they may have more answers under way than there may be. */
const CROWD = 9
/** Twelve workers at the port $1. */
const ADD_SILENT = `
  WITH nodes AS (
    INSERT INTO pg_dist_node (nodeid, groupid, nodename, nodeport, hasmetadata, metadatasynced)
    SELECT n, n, '127.0.0.' || n, $1, true, true FROM generate_series(101, 112) AS n
    RETURNING groupid)
  INSERT INTO pg_dist_placement (placementid, shardid, shardstate, shardlength, groupid)
  SELECT 1000000 + nodes.groupid, shardid, 1, 0, nodes.groupid
  FROM pg_dist_shard CROSS JOIN nodes WHERE logicalrelid = 'data_identity'::regclass`
const QUERY = `/query?q=${encodeURIComponent('SELECT temp FROM sensor')}`

describe('a worker of Citus that is away', () => {
  const citus = useCitusCluster()
  let databaseUrl: string
  let service: Service
  let log: RecordingLog
  let url: string
  /** Of a user of each worker. */
  let tokens: readonly string[]

  before(async () => {
    ;({ databaseUrl, service, log, url, tokens } = await startOnCitus(citus()))
    for (const token of tokens) expect(await statusOf(token, 'before')).to.equal(201)
  })
  after(() => service?.stop())

  const submit = async (token: string, event: string, temp = 3) => {
    const body = { event_id: event, sn: 'cellar', temp, timestamp: AT }
    return send(url, { method: 'POST', path: '/api/v1/measurements', token, body })
  }
  const statusOf = async (token: string, event: string) => (await submit(token, event)).status
  const sensorOf = async (token: string) => {
    const { body } = await send(url, { path: '/api/v1/sensors', token })
    return `/api/v1/sensors/${body.data[0]?.id}`
  }
  const isNamed = async ({ host }: URL) => {
    const { body } = await send(url, { path: '/readyz' })
    return body.database.warnings.join().includes(`worker ${host}: it cannot be used`)
  }
  const untilReadable = (token: string, measurements: number) =>
    until('the history is complete', async () => {
      const path = `${await sensorOf(token)}/measurements?${RANGE}`
      const { data } = (await send(url, { path, token })).body
      return data?.complete === true && data.points.length === measurements
    })

  it('lets the users of the other one go on, and its own once it is back', async () => {
    const [away] = citus().workers
    const [own = '', other = ''] = tokens
    await untilReadable(own, 1)
    await away?.kill()

    for (const event of ['first', 'second']) expect(await statusOf(other, event)).to.equal(201)
    await untilReadable(other, 3)
    const path = await sensorOf(other)
    const body = { alias: 'Cellar' }
    expect((await send(url, { method: 'PATCH', path, token: other, body })).status).to.equal(200)
    const refused = await submit(own, 'first')
    expect(refused.status).to.equal(503)
    expect(refused.headers['retry-after']).to.be.a('string')
    const place = new URL(away?.url() ?? '')
    await until('it is named', () => isNamed(place))

    await away?.restart()
    await until('it is named no more', async () => !(await isNamed(place)))
    expect(log.text).to.include(`worker ${place.host} can be used again`)
    await until('its users are served again', async () => {
      return [200, 201].includes(await statusOf(own, 'first'))
    })
    for (const event of ['before', 'first']) expect(await statusOf(own, event)).to.equal(200)
    await untilReadable(own, 2)
    expect(await expectClean('nowhere', { DATABASE_URL: databaseUrl })).to.equal(5)
  })

  it('is no obstacle to others while it stands still, and answers', async () => {
    const [still] = citus().workers
    const [own = '', other = ''] = tokens
    still?.freeze()
    try {
      const endAtMs = Date.now() + STILL_MS
      const waiting = submit(own, 'still')
      for (let sent = 0; Date.now() < endAtMs; sent++) {
        const startedAtMs = Date.now()
        const { status, body } = await submit(other, `meanwhile ${sent}`)
        expect(status, JSON.stringify(body)).to.equal(201)
        expect(Date.now() - startedAtMs, 'time to answer').to.be.lessThan(ANSWER_MS_MAX)
        const ready = await send(url, { path: '/readyz' })
        expect(ready.status, JSON.stringify(ready.body)).to.equal(200)
        await pause(500)
      }
      expect((await waiting).status).to.equal(503)
    } finally {
      still?.thaw()
    }
    await until('its users are served again', async () => {
      return [200, 201].includes(await statusOf(own, 'still'))
    })
  })

  it('keeps nobody of the other one waiting for long answers', async () => {
    const [still] = citus().workers
    const [, other = ''] = tokens
    const crowd: string[] = []
    for (let user = 0; user < CROWD; user++) {
      const [one = ''] = await newUsersOf(citus().workers, databaseUrl)
      crowd.push(one)
    }
    for (const path of ['/api/v1/sensors', QUERY]) {
      const answerTo = (token: string) => send(url, { path, token })
      still?.freeze()
      const waiting = crowd.flatMap((token) => Array.from({ length: 4 }, () => answerTo(token)))
      try {
        await pause(500)
        const { status } = await within(`${path} is answered`, answerTo(other), OTHER_MS_MAX)
        expect(status).to.equal(200)
      } finally {
        still?.thaw()
      }
      await Promise.all(waiting)
    }
  })

  it('keeps nobody waiting for what is not on it', async () => {
    const [still] = citus().workers
    const [own = ''] = tokens
    still?.freeze()
    try {
      const path = `/query?q=${encodeURIComponent('SHOW MEASUREMENTS')}`
      const answer = send(url, { path, token: own })
      expect((await within('it is answered', answer, OTHER_MS_MAX)).status).to.equal(200)
    } finally {
      still?.thaw()
    }
  })

  it('keeps nobody waiting when it is new, and cannot be recorded yet', async () => {
    const client = await connectAlone(databaseUrl, false)
    const isReady = async () => (await send(url, { path: '/readyz' })).status === 200
    await until('its record waits', async () => {
      await client.query(`ROLLBACK; UPDATE data_identity SET workers = ''`)
      await client.query('BEGIN; SELECT 1 FROM data_identity FOR UPDATE')
      await pause(RECORDED_MS_MAX)
      return (await countLockWaits(databaseUrl)) > 0
    })
    const endAtMs = Date.now() + UNRECORDED_MS
    while (Date.now() < endAtMs) {
      expect(await isReady()).to.equal(true)
      await pause(100)
    }
    await client.query('ROLLBACK')
    await client.end()
    await until('it is recorded', async () => {
      const text = `SELECT workers <> '' AS "isRecorded" FROM data_identity`
      return (await ask<{ isRecorded: boolean }>(databaseUrl, text))[0]?.isRecorded === true
    })
  })

  it('does not keep a process from stopping while it stands still', async () => {
    const [still] = citus().workers
    for (const token of tokens) expect(await statusOf(token, 'last')).to.equal(201)
    still?.freeze()
    try {
      await within('the service stops', service.stop(), STOP_MS_MAX)
    } finally {
      still?.thaw()
    }
  })
})

describe('most workers of Citus', () => {
  it('stand still, and what the others have is known', async function () {
    const citus = await CitusCluster.start(citusPrograms(this), { workers: 4 })
    const url = await citus.createGrowing('large')
    await migrate(url)
    // As patient as the greeting of a worker.
    const client = await connectAlone(url, false, { statementMsMax: 10_000 })
    const [, ...still] = citus.workers
    for (const worker of still) worker.freeze()
    const silent = createServer()
    try {
      const { unknownShards } = (await lookAtServer(client)).recorded
      expect(unknownShards).to.have.lengthOf(12)
      await once(silent.listen(0), 'listening')
      await client.query(ADD_SILENT, [(silent.address() as AddressInfo).port])
      const { recorded, server } = await lookAtServer(client)
      expect(server.workers).to.have.lengthOf(16)
      expect(recorded.unknownShards).to.have.lengthOf(12)
    } finally {
      silent.close()
      for (const worker of still) worker.thaw()
      await client.end()
      await citus.remove()
    }
  })
})
