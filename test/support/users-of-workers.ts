// A service on Citus, and users of whom it is known which worker has their measurements.

import { createService } from '../../src/compose.ts'
import { loadConfig } from '../../src/config.ts'
import { openOperations } from '../../src/data-dir/operations.ts'
import type { CitusCluster } from './citus.ts'
import { ask } from './lanes.ts'
import { RecordingLog } from './log.ts'
import type { PostgresServer } from './postgres-server.ts'
import { newDatabase } from './postgres.ts'

/** Enough for one on each of a few workers. */
const USERS_MAX = 12
const FIND_PORT = `
  SELECT nodeport AS port FROM user_state AS u, LATERAL (
    SELECT nodeport FROM pg_dist_shard_placement
    WHERE shardid = get_shard_id_for_distribution_column('user_state', u.shard)) AS p
  WHERE u.user_id = (SELECT id FROM users WHERE email = $1)`

/** Starts a service on a new database, with a user of each worker. */
export async function startOnCitus(citus: CitusCluster) {
  const { url: databaseUrl } = await newDatabase(citus)
  const config = loadConfig({ PORT: '0', DATABASE_URL: databaseUrl })
  const log = new RecordingLog()
  const service = await createService(config, { log })
  const { url } = await service.start()
  return { databaseUrl, service, log, url, tokens: await newUsersOf(citus.workers, databaseUrl) }
}

/** @returns that of the worker which has the measurements of this user */
export async function findWorkerPort(
  databaseUrl: string,
  email: string,
): Promise<number | undefined> {
  const [found] = await ask<{ port: number }>(databaseUrl, FIND_PORT, email)
  return found?.port
}

let users = 0

/** Makes users. @returns a token of one of each worker, in the order of the workers */
export async function newUsersOf(
  workers: readonly PostgresServer[],
  databaseUrl: string,
): Promise<readonly string[]> {
  const tokens = new Map<number | undefined, string>()
  const { operations, close } = await openOperations(loadConfig({ DATABASE_URL: databaseUrl }))
  for (let made = 0; made < USERS_MAX && tokens.size < workers.length; made++) {
    const email = `user${++users}@example.org`
    await operations.createUser({ email })
    const { token } = await operations.createToken({ user: email, name: 'gateway' })
    tokens.set(await findWorkerPort(databaseUrl, email), token)
  }
  await close()
  return workers.map(({ port }) => tokens.get(port) ?? '')
}
