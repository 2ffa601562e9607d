// Goal: where another server has the data of one node of Citus, what may be lost is told, before
// anything else is accepted; and no user is half there. Method: nodes are restored to what they had
// before, while the others keep what they have; the processes then say what they have seen.

import { expect } from 'chai'
import type { ClientBase } from 'pg'
import { connectAlone, TakeoverUndecided } from '../../src/postgres/server/connection.ts'
import { noticeTakeover } from '../../src/postgres/server/notice-takeover.ts'
import type { Witness } from '../../src/postgres/server/notice-takeover.ts'
import { lookAtServer } from '../../src/postgres/server/recorded-server.ts'
import { greetingOfShards } from '../../src/postgres/server/shard-servers.ts'
import { continueUserDeletion } from '../../src/postgres/control/user-deletions.ts'
import { measurement, newUser, PERMISSIVE } from '../contract/open-data.ts'
import { useCitusCluster } from '../support/citus.ts'
import { serve } from '../support/command.ts'
import { DeafProxy } from '../support/deaf-proxy.ts'
import { sendBatch } from '../support/http.ts'
import { ask, newWitness } from '../support/lanes.ts'
import {
  allIn,
  closeServers,
  openProcess,
  openServers,
  submissionsOver,
} from '../support/postgres-process.ts'
import type { OpenProcess } from '../support/postgres-process.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { newMigratedDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { until, within } from '../support/until.ts'
import { newUsersOf } from '../support/users-of-workers.ts'

const TOGETHER = 12
const GREETED_MS_MAX = 2_000

describe('another server of a node of Citus', () => {
  const citus = useCitusCluster()
  let database: TestDatabase
  let data: OpenProcess

  beforeEach(async () => {
    database = await newMigratedDatabase(citus())
    data = await openProcess(database.url, PERMISSIVE)
  })
  afterEach(() => data?.close())

  const firstWorker = () => citus().workers[0] ?? expect.fail('there is no worker')
  const identity = async () => {
    type Row = { id: string; epoch: string; mayLack: boolean }
    const text = 'SELECT id, epoch, may_lack AS "mayLack" FROM data_identity'
    return (await ask<Row>(database.url, text))[0]
  }
  /** Of the node that has what is of a user. */
  const portOfUser = async (userId: number) => {
    const [node] = await ask<{ port: number }>(
      database.url,
      `SELECT nodeport AS port FROM pg_dist_shard_placement
       WHERE shardid = get_shard_id_for_distribution_column('ledger', $1::int)`,
      data.committer.queueOf(userId),
    )
    return node?.port
  }
  /** Whether a lane may, while the coordinator cannot say anything about it. */
  const mayUseFirstWorker = async () => {
    const { shards } = data.servers
    const greet = greetingOfShards(shards, database.url, () => Promise.resolve())
    try {
      await (await connectAlone(firstWorker().url(database.name), false, { greet })).end()
      return true
    } catch (error) {
      if (error instanceof TakeoverUndecided) return false
      throw error
    }
  }
  const newUserOf = async (node: PostgresServer): Promise<number> => {
    const id = await newUser(data)
    return (await portOfUser(id)) === node.port ? id : newUserOf(node)
  }
  const send = async (userId: number, eventId: string) => {
    const measurements = [measurement({ eventId })]
    const receipt = submissionsOver(data).submit({ userId, receivedAtMs: Date.now(), measurements })
    return receipt.then(
      (taken) => taken.at(0).status,
      () => 'refused',
    )
  }
  const untilTaken = async (userId: number, eventId: string) => {
    let status = ''
    await until('it is taken', async () => {
      status = await send(userId, eventId)
      return status !== 'refused'
    })
    return status
  }

  /** What a process does on a new connection, until it is decided. */
  const notice = async (witness: Witness) => {
    let noticed: string | undefined
    await until('it is decided', async () => {
      const client = await connectAlone(database.url, false)
      try {
        noticed = await noticeTakeover(client, witness)
        return true
      } catch (error) {
        if (!(error instanceof TakeoverUndecided)) throw error
        return false
      } finally {
        await client.end()
      }
    })
    return noticed
  }
  /** A process that owns a stream of each shard, of which every commit waited for a standby. */
  const owner = async () => {
    const witness = newWitness({ durability: 'replicated' })
    await notice(witness)
    await ask(
      database.url,
      `INSERT INTO streams (shard, stream_id, owner, lease_until)
       SELECT shard, shard::int * 65536 + 1, $1, clock_timestamp() FROM shards`,
      witness.owner,
    )
    const client = await connectAlone(database.url, false)
    const { epoch } = witness.seen
    witness.seen.noteLook((await lookAtServer(client, epoch)).recorded, epoch)
    await client.end()
    return witness
  }
  const expectWhole = async (users: readonly number[]) => {
    const servers = await openServers(database.url)
    while (await continueUserDeletion(allIn(servers), Date.now()));
    await closeServers(servers)
    const idsIn = async (table: string) => {
      const text = `SELECT DISTINCT user_id AS id FROM ${table} ORDER BY id`
      return (await ask<{ id: number }>(database.url, text)).map(({ id }) => id)
    }
    expect(await idsIn('user_state')).to.deep.equal(users)
    expect(await idsIn('(SELECT id AS user_id FROM users) AS users')).to.deep.equal(users)
    const live = await idsIn(`(SELECT * FROM sensors WHERE deleted_at_ms IS NULL) AS live`)
    expect(users).to.include.members(live)
  }

  it('is looked for once for all connections that begin together', async () => {
    const all = Promise.withResolvers<void>()
    let begun = 0
    let looks = 0
    const look = async () => {
      looks++
      await all.promise
    }
    const greetTogether = greetingOfShards(data.servers.shards, database.url, look)
    const greet = async (client: ClientBase) => {
      if (++begun === TOGETHER) all.resolve()
      await greetTogether(client)
    }
    const url = firstWorker().url(database.name)
    const opening = Array.from({ length: TOGETHER }, () => connectAlone(url, false, { greet }))
    const clients = await Promise.all(opening)
    // Those that came while the first look was under way may not rely on it.
    expect(looks).to.equal(2)
    for (const client of clients) await client.end()
  })

  it('keeps nobody waiting whose coordinator stands still once it has answered', async () => {
    const { coordinator } = citus()
    const look = async () => coordinator.freeze()
    const greet = greetingOfShards(data.servers.shards, database.url, look)
    const opening = connectAlone(firstWorker().url(database.name), false, { greet })
    try {
      await (await within('it is greeted', opening, GREETED_MS_MAX)).end()
    } finally {
      coordinator.thaw()
    }
  })

  it('keeps no process from ending whose goodbye the coordinator has not heard', async () => {
    const proxy = await DeafProxy.start(database.url)
    const service = await serve('nowhere', { DATABASE_URL: proxy.url })
    try {
      const [token = ''] = await newUsersOf(citus().workers, database.url)
      proxy.isDeaf = true
      await sendBatch(service.url, token, [{ event_id: 'first', sn: 'cellar', temp: 3 }])
      await until('it has not heard a goodbye', () => proxy.unheard > 0)
      proxy.isDeaf = false
      expect(await within('it ends', service.stop())).to.equal(0)
    } finally {
      await service.stop('SIGKILL')
      await proxy.close()
    }
  })

  it('was restored when it lacks something, though nobody is left who has seen that', async () => {
    const user = await newUserOf(firstWorker())
    expect(await send(user, 'kept')).to.equal('created')
    // The second restore makes the timeline that is recorded since the first.
    const backups = [await citus().backUp(firstWorker()), await citus().backUp(firstWorker())]
    for (const [at, backup] of backups.entries()) {
      const event = `lost ${at}`
      expect(await untilTaken(user, event)).to.equal('created')
      await data.close()
      const before = await identity()
      await citus().restore(firstWorker(), backup)
      data = await openProcess(database.url, PERMISSIVE)
      expect(await untilTaken(user, event)).to.equal('created')
      expect((await identity())?.id, event).not.to.equal(before?.id)
      expect(await send(user, 'kept')).to.equal('duplicate')
    }
  })

  it('may lack what is acknowledged over a connection from before the takeover', async () => {
    const user = await newUserOf(firstWorker())
    expect(await send(user, 'before')).to.equal('created')
    const { coordinator } = citus()
    await citus().restore(coordinator, await citus().backUp(coordinator))
    // It is no lane that notices.
    expect(await notice(newWitness({ durability: 'replicated' }))).to.equal('restore')
    expect((await identity())?.mayLack).to.equal(false)
    expect(await send(user, 'after')).to.equal('created')
    expect((await identity())?.mayLack).to.equal(true)
  })

  it('was promoted when nothing is gone, whatever was left prepared', async () => {
    const witness = await owner()
    const before = await identity()
    await citus().leavePrepared(database.name)
    await citus().restore(firstWorker(), await citus().backUp(firstWorker()))
    expect(await mayUseFirstWorker()).to.equal(false)
    expect(await notice(witness)).to.equal('promotion')
    expect(await mayUseFirstWorker()).to.equal(true)
    const after = await identity()
    expect(after?.id).to.equal(before?.id)
    expect(after?.epoch).not.to.equal(before?.epoch)
    expect(await notice(witness)).to.equal(undefined)
  })

  it('was restored when another one is as well, though nothing is gone', async () => {
    const witness = await owner()
    for (const node of citus().workers) {
      await citus().restore(node, await citus().backUp(node))
    }
    expect(await notice(witness)).to.equal('restore')
  })

  it('has users whole or not at all, whatever was done since its backup', async () => {
    for (const find of [() => firstWorker(), () => citus().coordinator]) {
      const [kept, deleted] = [await newUserOf(firstWorker()), await newUserOf(firstWorker())]
      for (const user of [kept, deleted]) await untilTaken(user, 'first')
      const backup = await citus().backUp(find())
      const made = await newUserOf(firstWorker())
      await data.controlWriter.deleteUser(deleted)
      const users = await ask<{ id: number }>(database.url, 'SELECT id FROM users ORDER BY id')
      await citus().restore(find(), backup)
      await notice(newWitness())
      await expectWhole(users.map(({ id }) => id))
      expect(await untilTaken(kept, 'first')).to.equal('duplicate')
      expect(await untilTaken(made, 'first')).to.equal('created')
      expect(await send(deleted, 'second')).to.equal('refused')
    }
  })
})
