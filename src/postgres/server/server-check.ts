// Checks at the start that a server is safe to use: names each fault and its remedy, before
// anything is acknowledged.

import type pg from 'pg'
import { readRow, withConnection } from './connection.ts'
import type { Opening } from './connection.ts'
import { citusFaults, citusWarnings, readCitus } from './spread-tables.ts'
import { urlAt } from './shard-servers.ts'
import { findWorkers } from './workers.ts'
import type { KnownWorker } from './workers.ts'
import type { Sql } from './database.ts'
import { durabilityFault, READ_DURABILITY } from './durability.ts'
import type { Durability, DurabilityRow } from './durability.ts'
import { SERVER_TIME_MS } from './server-time.ts'

export interface ServerState {
  /** `15.18` */
  readonly version: string
  /** The database's name. */
  readonly name: string
  /** By the server's clock. */
  readonly timeMs: number
  /** Why it cannot be used; empty if it can. */
  readonly faults: readonly string[]
  /** What an operator should know of, though it can be used. */
  readonly warnings: readonly string[]
  /** Of Citus. */
  readonly workers?: readonly KnownWorker[]
}

/** Of a worker. */
export const REFUSED = 'it cannot be used, and what its users send is refused until it can'

const NO_SHARDS = 'it has no shards: `SELECT citus_rebalance_start()` moves some to it'

const VERSION_MIN = 15
const ID_MAX = 2 ** 31 - 1
const READ_SERVER = `
  SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
    current_database() AS name, ${SERVER_TIME_MS} AS "timeMs",
    current_setting('server_version_num')::int / 10000 AS major,
    current_setting('default_transaction_isolation') AS isolation,
    current_setting('server_encoding') AS encoding,
    current_setting('data_checksums') AS checksums,
    current_setting('wal_level') AS "walLevel",
    -- Logical replication is of a database.
    (SELECT count(*) FROM pg_stat_replication JOIN pg_stat_activity AS a USING (pid)
      WHERE a.datid IS NULL)::int AS standbys`

interface ServerRow {
  readonly version: string
  readonly name: string
  readonly timeMs: number
  readonly major: number
  readonly isolation: string
  readonly encoding: string
  readonly checksums: string
  readonly walLevel: string
  readonly standbys: number
}

/** @throws Error if there is no server, or it refuses the connection */
export async function checkServer(
  databaseUrl: string,
  durability: Durability,
  opening?: Opening,
): Promise<ServerState> {
  const work = async (client: pg.Client) => {
    const server = await readRow<ServerRow>(client, READ_SERVER)
    const row = await readRow<DurabilityRow>(client, READ_DURABILITY)
    const state = stateOf(server, row, durability)
    const citus = await readCitus(client)
    if (citus === undefined) return state
    const faults = [...state.faults, ...citusFaults(citus)]
    const warnings = [...state.warnings, ...citusWarnings(citus)]
    const workers = citus.group === 0 ? await findWorkers(client) : []
    const isSpread = workers.some(({ shards }) => shards > 0)
    for (const worker of workers) {
      const found = await checkWorker(urlAt(databaseUrl, worker), durability, opening)
      const of = (text: string) => `worker ${worker.host}:${worker.port}: ${text}`
      faults.push(...found.faults.map(of))
      warnings.push(...found.warnings.map(of))
      if (isSpread && worker.shards === 0) warnings.push(of(NO_SHARDS))
    }
    return { ...state, faults, warnings, workers }
  }
  return withConnection(databaseUrl, work, opening)
}

/** One that is away keeps no process from working: only its users wait. */
async function checkWorker(
  url: string,
  durability: Durability,
  opening?: Opening,
): Promise<Pick<ServerState, 'faults' | 'warnings'>> {
  const work = async (client: pg.Client) => {
    const server = await readRow<ServerRow>(client, READ_SERVER)
    const row = await readRow<DurabilityRow>(client, READ_DURABILITY)
    const { faults, warnings } = stateOf(server, row, durability)
    return { faults, warnings: [...warnings, ...immovable(server)] }
  }
  try {
    return await withConnection(url, work, opening)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { faults: [], warnings: [`${REFUSED} (${reason})`] }
  }
}

/** It takes shards with any level. */
function immovable({ walLevel }: ServerRow): string[] {
  if (walLevel === 'logical') return []
  const remedy = 'set it to logical, and restart the worker'
  return [`wal_level is ${walLevel}, so its shards cannot be moved while daemons send: ${remedy}`]
}

function stateOf(server: ServerRow, row: DurabilityRow, durability: Durability): ServerState {
  const { version, name, timeMs } = server
  const faults = [...faultsOf(server), durabilityFault(row, durability)]
  return {
    version,
    name,
    timeMs,
    faults: faults.filter((fault) => fault !== undefined),
    warnings: warningsOf(server, durability),
  }
}

const IDS_USED = `
  SELECT greatest((SELECT last_value FROM sensor_ids), (SELECT max(id) FROM users))::float8 AS last`

/** Checks again what can change while the service runs. */
export async function readServerState(sql: Sql, durability: Durability): Promise<ServerState> {
  const [server] = await sql.rows<ServerRow>(READ_SERVER)
  const [row] = await sql.rows<DurabilityRow>(READ_DURABILITY)
  const [ids] = await sql.rows<{ last: number }>(IDS_USED)
  if (server === undefined || row === undefined) throw new Error('BUG: the settings have no row')
  const fault = durabilityFault(row, durability)
  const warnings = warningsOf(server, durability)
  if ((ids?.last ?? 0) > ID_MAX / 2)
    warnings.push('half of the ids of sensors or users are used up')
  const { version, name, timeMs } = server
  return { version, name, timeMs, faults: fault === undefined ? [] : [fault], warnings }
}

function faultsOf({ version, major, isolation, encoding }: ServerRow): string[] {
  const faults: string[] = []
  if (major < VERSION_MIN) faults.push(`PostgreSQL ${version} is too old: ${VERSION_MIN} or newer`)
  if (isolation !== 'read committed') {
    faults.push(`default_transaction_isolation is ${isolation}: set it to read committed`)
  }
  if (encoding !== 'UTF8') faults.push(`the database has encoding ${encoding}: make one with UTF8`)
  return faults
}

function warningsOf({ checksums, standbys }: ServerRow, durability: Durability): string[] {
  const warnings: string[] = []
  if (checksums !== 'on') {
    warnings.push('data checksums are off: damage on disk goes unnoticed (pg_checksums --enable)')
  }
  if (standbys > 0 && durability === 'local') {
    warnings.push(
      'a standby that is promoted may lack what was acknowledged: set DURABILITY=replicated',
    )
  }
  return warnings
}
