// `npm run demo -- --citus`: a coordinator of Citus and two workers of the demo's own, whose data
// end with it. A worker that somebody kills is started again after a while: until then its users
// wait, and the others do not.

import { setTimeout } from 'node:timers/promises'
import { CitusCluster, findCitus } from '../test/support/citus.ts'
import { ask } from '../test/support/lanes.ts'
import type { PostgresServer } from '../test/support/postgres-server.ts'
import { findWorkerPort } from '../test/support/users-of-workers.ts'

const DATABASE = 'demo'
const AWAY_S = 15
const COUNT_SHARDS = `
  SELECT count(*)::int AS shards FROM pg_dist_shard JOIN pg_dist_shard_placement USING (shardid)
  WHERE logicalrelid = 'user_state'::regclass AND nodeport = $1`

interface Named {
  readonly name: string
}

export class DemoCluster {
  readonly url: string
  readonly #cluster: CitusCluster
  readonly #stopping = new AbortController()
  readonly #kept: readonly Promise<void>[]

  private constructor(cluster: CitusCluster) {
    this.url = cluster.url(DATABASE)
    this.#cluster = cluster
    this.#kept = cluster.workers.map((worker) => keepRunning(worker, this.#stopping.signal))
  }

  static async start(): Promise<DemoCluster> {
    const programs = findCitus()
    if (programs === undefined) {
      throw new Error(
        'no PostgreSQL with Citus is found: install one (Debian: postgresql-15-citus-13.2, from ' +
          'https://install.citusdata.com), or set CITUS_BIN to the folder of its initdb and postgres',
      )
    }
    const cluster = await CitusCluster.start(programs)
    await cluster.createDatabase(DATABASE)
    return new DemoCluster(cluster)
  }

  /** Makes more users, until each worker has one. @returns one of each, in their order */
  async spread<User extends Named>(
    first: User,
    makeNext: (count: number) => Promise<User>,
  ): Promise<readonly User[]> {
    const ports = this.#cluster.workers.map(portOf)
    const users = new Map([[await findWorkerPort(this.url, first.name), first]])
    for (let count = 1; users.size < ports.length; count++) {
      const user = await makeNext(count)
      const port = await findWorkerPort(this.url, user.name)
      if (!users.has(port)) users.set(port, user)
    }
    return ports.flatMap((port) => users.get(port) ?? [])
  }

  /** @param users as `spread` has returned them */
  async explain(users: readonly Named[]): Promise<string> {
    const lines = this.#cluster.workers.map(async (worker, at) => {
      const [counted] = await ask<{ shards: number }>(this.url, COUNT_SHARDS, portOf(worker))
      return `  process ${worker.pid}: ${counted?.shards} shards, ${users[at]?.name}\n`
    })
    const shown = (await Promise.all(lines)).join('')
    return `
Each worker of Citus has users of its own; one of each sends:
${shown}Kill a worker (kill -9): its user waits, the other does not. It is back after ${AWAY_S} s.
`
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#kept)
    await this.#cluster.remove()
  }
}

async function keepRunning(worker: PostgresServer, stopping: AbortSignal): Promise<void> {
  for (let awayS = 0; !stopping.aborted; awayS = worker.pid === undefined ? awayS + 1 : 0) {
    if (awayS === AWAY_S) await worker.restart()
    else await setTimeout(1_000)
  }
}

function portOf(worker: PostgresServer): number {
  return Number(new URL(worker.url()).port)
}
