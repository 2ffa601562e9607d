// Goal: whatever ends processes, connections and nodes, every acknowledged event is stored once,
// and a node that is away costs only its own users something. Method: the race of PostgreSQL on a
// coordinator and two workers, which are killed in turn.

import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { measurement, newUser, PERMISSIVE } from '../contract/open-data.ts'
import type { OpenData } from '../contract/open-data.ts'
import { useCitusCluster } from '../support/citus.ts'
import { ask } from '../support/lanes.ts'
import { byLength } from '../support/length.ts'
import { openProcess, submissionsOver } from '../support/postgres-process.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { newDatabase, newMigratedDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { runRace } from '../support/race-run.ts'
import { until } from '../support/until.ts'

const LENGTH = byLength({ seconds: 30, stoppedMs: 12_000 }, { seconds: 600, stoppedMs: 20_000 })
/** Senders and forwarders meet a node that is away, not only one that has just come back. */
const AWAY_MS = 3_000
const USERS = 12

describe('a race of processes on Citus', () => {
  const citus = useCitusCluster()

  const crash = async (node: PostgresServer | undefined) => {
    await node?.kill()
    await pause(AWAY_MS)
    await node?.restart()
  }

  it('loses and doubles nothing', async () => {
    const { url } = await newDatabase(citus())
    const { coordinator, workers } = citus()
    const crashes = [...workers, coordinator].map((node) => () => crash(node))
    const { faults, ...figures } = await runRace({ url, crashes }, LENGTH)
    expect(faults, JSON.stringify(figures)).to.deep.equal([])
    expect(figures.answers).to.be.greaterThan(0)
  })
})

describe('a worker of Citus that is away', () => {
  const citus = useCitusCluster()
  let database: TestDatabase
  let data: OpenData
  let users: { readonly id: number; readonly port: number }[]

  beforeEach(async () => {
    database = await newMigratedDatabase(citus())
    data = await openProcess(database.url, PERMISSIVE)
    users = []
    for (let made = 0; made < USERS; made++) {
      const id = await newUser(data)
      users.push({ id, port: await portOf(id) })
    }
  })
  afterEach(() => data?.close())

  /** Of the node that has what is of a user. */
  const portOf = async (userId: number) => {
    const [node] = await ask<{ port: number }>(
      database.url,
      `SELECT nodeport AS port FROM pg_dist_shard_placement
       WHERE shardid = get_shard_id_for_distribution_column('ledger', $1::int)`,
      data.committer.queueOf(userId),
    )
    return node?.port ?? 0
  }
  const send = async (userId: number, eventId: string) => {
    const measurements = [measurement({ eventId })]
    const receipt = submissionsOver(data).submit({
      userId,
      receivedAtMs: Date.now(),
      measurements,
    })
    return receipt.then(
      (taken) => taken.at(0).status,
      () => 'refused',
    )
  }
  const sendAll = (of: typeof users, eventId: string) =>
    Promise.all(of.map(({ id }) => send(id, eventId)))

  it('lets the users of the other one go on, and its own once it is back', async () => {
    const [away] = citus().workers
    const awayPort = Number(new URL(away?.url() ?? '').port)
    const others = users.filter(({ port }) => port !== awayPort)
    const own = users.filter(({ port }) => port === awayPort)
    expect(Math.min(others.length, own.length), 'users of each worker').to.be.greaterThan(0)
    expect(new Set(await sendAll(users, 'before'))).to.deep.equal(new Set(['created']))
    await away?.kill()
    for (const eventId of ['first', 'second']) {
      expect(new Set(await sendAll(others, eventId))).to.deep.equal(new Set(['created']))
    }
    expect(new Set(await sendAll(own, 'first'))).to.deep.equal(new Set(['refused']))
    await away?.restart()
    await until('its users are served again', async () => {
      const statuses = await sendAll(own, 'first')
      return statuses.every((status) => status === 'created' || status === 'duplicate')
    })
    expect(new Set(await sendAll(users, 'before'))).to.deep.equal(new Set(['duplicate']))
  })
})
