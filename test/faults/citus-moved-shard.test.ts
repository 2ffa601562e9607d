// Goal: a lane follows its shard. Method: Citus moves the shard to the other worker and back, and
// splits it, between submissions and beside them; nothing is lost, and nothing is stored twice.

import { expect } from 'chai'
import {
  accept,
  measurement,
  newUser,
  PERMISSIVE,
  statuses,
  submission,
} from '../contract/open-data.ts'
import { useCitusCluster } from '../support/citus.ts'
import { ask } from '../support/lanes.ts'
import { openProcess } from '../support/postgres-process.ts'
import type { OpenProcess } from '../support/postgres-process.ts'
import { newMigratedDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'

const BESIDE = 40
const SHARD = `
  SELECT s.shardid AS id, n.nodeid AS node, n.nodename AS host, n.nodeport AS port,
    shardminvalue::int AS first, shardmaxvalue::int AS last
  FROM pg_dist_shard AS s JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node AS n
    USING (groupid)
  WHERE s.shardid = get_shard_id_for_distribution_column('ledger', $1::int)`

interface Shard {
  readonly id: string
  readonly node: number
  readonly host: string
  readonly port: number
  readonly first: number
  readonly last: number
}

describe('a lane whose shard Citus moves', () => {
  const citus = useCitusCluster()
  let database: TestDatabase
  let data: OpenProcess
  let userId: number
  let sent = 0

  before(async () => {
    database = await newMigratedDatabase(citus())
    data = await openProcess(database.url, PERMISSIVE)
    userId = await newUser(data)
  })
  after(() => data?.close())

  const shardNow = async () => {
    const [shard] = await ask<Shard>(database.url, SHARD, data.committer.queueOf(userId))
    return shard ?? expect.fail('there is no shard')
  }
  const send = async (eventId: string) =>
    statuses(await accept(data, submission(userId, measurement({ eventId }))))[0]
  const sendNew = async () => expect(await send(`event ${++sent}`)).to.equal('created')
  const move = async () => {
    const { id, host, port } = await shardNow()
    const other = citus().workers.find((worker) => worker.port !== port)
    const target = new URL(other?.url() ?? '')
    const places = [host, port, target.hostname, Number(target.port)]
    const order = `SELECT citus_move_shard_placement($1, $2, $3, $4, $5, 'block_writes')`
    await ask(database.url, order, id, ...places)
  }
  const expectAll = async () => {
    const count = 'SELECT count(*)::int AS count FROM ledger'
    expect(await ask(database.url, count)).to.deep.equal([{ count: sent }])
    for (let event = 1; event <= sent; event++) {
      expect(await send(`event ${event}`)).to.equal('duplicate')
    }
  }

  it('goes on where it is', async () => {
    await sendNew()
    for (let round = 0; round < 2; round++) {
      const before = await shardNow()
      await move()
      expect((await shardNow()).node).not.to.equal(before.node)
      await sendNew()
    }
    await expectAll()
  })

  it('goes on though nothing is left where it was', async () => {
    await sendNew()
    await move()
    await ask(database.url, 'CALL citus_cleanup_orphaned_resources()')
    await sendNew()
    await expectAll()
  })

  it('commits before the move or after it', async () => {
    const moving = move()
    for (let beside = 0; beside < BESIDE; beside++) await sendNew()
    await moving
    await sendNew()
    await expectAll()
  })

  it('goes on when it is split', async () => {
    const { id, node, first, last } = await shardNow()
    const middle = Math.floor((first + last) / 2)
    const order = `
      SELECT citus_split_shard_by_split_points($1, ARRAY[$2], ARRAY[$3::int, $3], 'block_writes')`
    await ask(database.url, order, id, `${middle}`, node)
    expect((await shardNow()).id).not.to.equal(id)
    await sendNew()
    await expectAll()
  })
})
