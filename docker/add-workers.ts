// Runs before the service in docker-compose.citus.yml: tells the coordinator of DATABASE_URL which
// workers it has. `--rebalance` then lets it move shards to those with fewer.
//
// Each node has the password for connections to the others in a table of Citus, and is made known
// last: after a crash anywhere, the next run goes on. A node that is known need not be there.

import { setTimeout } from 'node:timers/promises'
import { parseArgs, parseEnv } from 'node:util'
import pg from 'pg'
import { SecretFiles } from './secret-files.ts'

const PATIENCE_MS = 120_000
const PAUSE_MS = 500
const FIND_NODES = `SELECT nodename || ':' || nodeport AS address FROM pg_dist_node`
/** Of connections to any node. */
const SET_PASSWORD = `
  INSERT INTO pg_dist_authinfo (nodeid, rolename, authinfo) VALUES (0, $1, $2)
  ON CONFLICT (rolename, nodeid) DO UPDATE SET authinfo = excluded.authinfo`
const SET_COORDINATOR = 'SELECT citus_set_coordinator_host($1, $2)'
const ADD_WORKER = 'SELECT citus_add_node($1, $2)'
const REBALANCE = 'SELECT citus_rebalance_start()'

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      directory: { type: 'string', default: '' },
      rebalance: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  })
  const settings = parseEnv((await new SecretFiles(values.directory).read('thermolog/.env')) ?? '')
  const url = new URL(settings['DATABASE_URL'] ?? '')
  const coordinator = await connect(url)
  const { rows } = await coordinator.query<{ address: string }>(FIND_NODES)
  const known = new Set(rows.map(({ address }) => address))
  if (!known.has(url.host)) {
    await setPassword(coordinator, url)
    await coordinator.query(SET_COORDINATOR, [url.hostname, url.port])
  }
  for (const worker of positionals.map((address) => withHost(url, address))) {
    if (known.has(worker.host)) continue
    const node = await connect(worker)
    await setPassword(node, worker)
    await node.end()
    await coordinator.query(ADD_WORKER, [worker.hostname, worker.port])
    process.stdout.write(`added ${worker.host}\n`)
  }
  if (values.rebalance) await coordinator.query(REBALANCE)
  await coordinator.end()
}

/** @param address a name, with a port where it is another one */
function withHost(url: URL, address: string): URL {
  const other = new URL(url)
  other.host = address
  return other
}

/** A new server takes a while. */
async function connect(url: URL): Promise<pg.Client> {
  const startMs = performance.now()
  for (;;) {
    const client = new pg.Client({ connectionString: url.href })
    try {
      await client.connect()
      return client
    } catch (error) {
      if (performance.now() - startMs > PATIENCE_MS) {
        throw new Error(`${url.host}: ${(error as Error).message}`, { cause: error })
      }
    }
    await setTimeout(PAUSE_MS)
  }
}

async function setPassword(node: pg.Client, { username, password }: URL): Promise<void> {
  await node.query(SET_PASSWORD, [username, `password=${password}`])
}

try {
  await main()
} catch (error) {
  process.stderr.write(`add-workers: ${(error as Error).message}\n`)
  process.exitCode = 1
}
