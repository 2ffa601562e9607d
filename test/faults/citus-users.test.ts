// Goal: a user is made and deleted on the coordinator and on their worker, or on neither. Method:
// the coordinator is killed while it waits for its disk, when the worker has done its part; workers
// are killed before the commit.

import { expect } from 'chai'
import { ServiceError } from '../../src/domain/errors.ts'
import { deleteUser } from '../../src/postgres/control/user-state.ts'
import { newUser, PERMISSIVE } from '../contract/open-data.ts'
import type { OpenData } from '../contract/open-data.ts'
import { useCitusCluster } from '../support/citus.ts'
import { ask } from '../support/lanes.ts'
import { openProcess } from '../support/postgres-process.ts'
import { newMigratedDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

/** A commit waits 100 ms before it is on disk. */
const SLOW_COMMITS = ['commit_delay=100000', 'commit_siblings=0', 'wal_writer_delay=10s']

const STATE_SHARDS = `
  SELECT DISTINCT shard_name('user_state', shardid) AS name, nodeport AS port
  FROM shards JOIN pg_dist_shard_placement
    ON shardid = get_shard_id_for_distribution_column('user_state', shard)`

describe('users on Citus, whose servers are killed', () => {
  const citus = useCitusCluster()
  let database: TestDatabase

  before(async () => {
    database = await newMigratedDatabase(citus())
  })
  beforeEach(() => citus().coordinator.restart(SLOW_COMMITS))

  /** What the workers have, prepared or not. */
  const partsOfWorkers = async () => {
    const shards = await ask<{ name: string; port: number }>(database.url, STATE_SHARDS)
    return () => {
      const parts = citus().workers.map(async (worker) => {
        const { port } = new URL(worker.url())
        const own = shards.filter((shard) => shard.port === Number(port))
        const rows = own.map(({ name }) => `SELECT user_id::text AS part FROM ${name}`)
        const prepared = 'SELECT gid AS part FROM pg_prepared_xact()'
        const text = [...rows, prepared].join(' UNION ALL ')
        return ask<{ part: string }>(worker.url(database.name), text)
      })
      return Promise.all(parts).then((found) => JSON.stringify(found.flat()))
    }
  }
  /**
   * Kills the coordinator when a worker has done its part of a change. On a busy machine that may
   * be too late: then it kills it during another one.
   */
  const killDuring = async (begin: (data: OpenData) => Promise<() => Promise<unknown>>) => {
    const parts = await partsOfWorkers()
    for (let outcome = 'done'; outcome === 'done';) {
      const data = await openProcess(database.url, PERMISSIVE)
      const change = await begin(data)
      const before = await parts()
      const changed = change().then(
        () => 'done',
        () => 'failed',
      )
      await until('a worker has done its part', async () => (await parts()) !== before)
      await citus().coordinator.kill()
      outcome = await changed
      await citus().coordinator.restart(SLOW_COMMITS)
      await data.close()
    }
  }
  const idsIn = async (query: string) => {
    return (await ask<{ id: number }>(database.url, query)).map(({ id }) => id)
  }
  const expectAlike = async () => {
    await until('users and states are alike', async () => {
      const users = await idsIn('SELECT id FROM users ORDER BY id')
      const states = await idsIn('SELECT user_id AS id FROM user_state ORDER BY id')
      return JSON.stringify(users) === JSON.stringify(states)
    })
  }

  it('are made whole or not at all', async () => {
    await killDuring(async (data) => () => newUser(data))
    await expectAlike()
  })

  it('are deleted whole or not at all', async () => {
    await killDuring(async (data) => {
      const user = await newUser(data)
      return () => data.controlWriter.deleteUser(user)
    })
    await expectAlike()
  })

  it('are refused until later when their worker is lost before the commit', async () => {
    const data = await openProcess(database.url, PERMISSIVE)
    const user = await newUser(data)
    const deleting = data.servers.main.transaction(async (sql) => {
      await deleteUser(sql, user)
      for (const worker of citus().workers) await worker.kill()
    })
    const failure = await deleting.catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(ServiceError).with.property('code', 'overloaded')
    for (const worker of citus().workers) await worker.restart()
    await expectAlike()
    expect(await idsIn('SELECT id FROM users')).to.include(user)
    await data.close()
  })
})
