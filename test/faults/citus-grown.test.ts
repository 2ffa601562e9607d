// Goal: a cluster grows and shrinks under load, and nobody's measurements are lost, doubled, or
// refused for long. Method: real processes and fleets; a third worker is added and shards are moved
// to it, a process is killed meanwhile; then the first worker is emptied, removed, and ended.

import { expect } from 'chai'
import { useCitusCluster } from '../support/citus.ts'
import { ask } from '../support/lanes.ts'
import { Load } from '../support/load.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { Replicas } from '../support/replicas.ts'
import { send } from '../support/http.ts'
import { until } from '../support/until.ts'
import { newUsersOf } from '../support/users-of-workers.ts'
import { expectClean } from '../support/verify.ts'

const SETTINGS = { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0' }
/** Of a user on each worker. */
const FLEETS = [
  { senders: 2, batch: 1 },
  { senders: 1, batch: 20 },
]
const REFUSED_MS_MAX = 10_000
const MOVED_MS_MAX = 240_000
const SOME = 50
const PLACES = `
  SELECT nodeport AS port, count(*)::int AS shards FROM pg_dist_shard_placement
  WHERE shardid IN (SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'ledger'::regclass)
  GROUP BY nodeport`
const STATE = 'SELECT state::text FROM pg_dist_background_job ORDER BY job_id DESC LIMIT 1'
const DATA = 'SELECT id, epoch FROM data_identity'

describe('a cluster of Citus that grows under load', () => {
  const citus = useCitusCluster()
  let databaseUrl: string
  let replicas: Replicas
  const loads: Load[] = []
  let data: readonly object[]

  before(async () => {
    databaseUrl = await citus().createGrowing('growing')
    replicas = await Replicas.start(2, { DATABASE_URL: databaseUrl, ...SETTINGS })
    for (const fleet of FLEETS) {
      const tokens = await newUsersOf(citus().workers, databaseUrl)
      loads.push(...tokens.map((token) => new Load(replicas.as(token), fleet)))
    }
    data = await ask(databaseUrl, DATA)
    await goOn()
  })
  after(() => replicas?.stop())

  const goOn = () => Promise.all(loads.map((load) => load.more(SOME)))
  const shardsOf = async ({ port }: PostgresServer) => {
    const places = await ask<{ port: number; shards: number }>(databaseUrl, PLACES)
    return places.find((place) => place.port === port)?.shards ?? 0
  }
  const expectRefusedBriefly = () => {
    for (const { refusals, waitMsMax } of loads) {
      expect([...refusals]).to.have.members(refusals.size > 0 ? [503] : [])
      expect(waitMsMax).to.be.lessThan(REFUSED_MS_MAX)
    }
  }

  it('goes on while a worker is added, shards are moved, and a process is killed', async () => {
    const added = await citus().addWorker('growing')
    await ask(databaseUrl, 'SELECT citus_rebalance_start()')
    await until('a shard is moved', async () => (await shardsOf(added)) > 0, MOVED_MS_MAX)
    await replicas.kill(1)
    await replicas.replace(1)
    const warnings = new Set<string>()
    const isMoved = async () => {
      const { body } = await send(replicas.url(0), { path: '/readyz' })
      for (const warning of body.database.warnings) warnings.add(warning)
      return (await ask<{ state: string }>(databaseUrl, STATE))[0]?.state === 'finished'
    }
    await until('all is moved', isMoved, MOVED_MS_MAX)
    // A worker that takes shards is no standby.
    expect([...warnings].join()).not.to.contain('standby')
    expect(await shardsOf(added)).to.be.within(5, 6)
    await goOn()
    expectRefusedBriefly()
    expect(await ask(databaseUrl, DATA)).to.deep.equal(data)
  })

  it('goes on while a worker is emptied, and without it', async () => {
    const [removed] = citus().workers
    if (removed === undefined) expect.fail('there is no worker')
    const place = [new URL(removed.url()).hostname, removed.port]
    await ask(databaseUrl, 'SELECT citus_drain_node($1, $2)', ...place)
    expect(await shardsOf(removed)).to.equal(0)
    await ask(databaseUrl, 'SELECT citus_remove_node($1, $2)', ...place)
    await goOn()
    await removed.kill()
    await goOn()
    expectRefusedBriefly()
    for (let at = 0; at < replicas.count; at++) {
      const { status, body } = await send(replicas.url(at), { path: '/readyz' })
      expect(status, JSON.stringify(body)).to.equal(200)
    }
  })

  it('has everything that was acknowledged, once', async () => {
    await Promise.all(loads.map((load) => load.stop()))
    for (const load of loads) {
      expect(await load.sendAgain()).to.equal(0)
      await load.expectWhole()
    }
    await expectClean('nowhere', { DATABASE_URL: databaseUrl })
  })
})
