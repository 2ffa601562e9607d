// Checks at the start that a server is safe to use: names each fault and its remedy, before
// anything is acknowledged.

import { readRow, withConnection } from './connection.ts'
import type { Opening } from './connection.ts'
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
}

const VERSION_MIN = 15
const ID_MAX = 2 ** 31 - 1
const READ_SETTINGS = `
  SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
    current_database() AS name, ${SERVER_TIME_MS} AS "timeMs",
    current_setting('server_version_num')::int / 10000 AS major,
    current_setting('default_transaction_isolation') AS isolation,
    current_setting('server_encoding') AS encoding,
    current_setting('data_checksums') AS checksums,
    -- Logical replication is of a database.
    (SELECT count(*) FROM pg_stat_replication JOIN pg_stat_activity AS a USING (pid)
      WHERE a.datid IS NULL)::int AS standbys`

interface SettingsRow {
  readonly version: string
  readonly name: string
  readonly timeMs: number
  readonly major: number
  readonly isolation: string
  readonly encoding: string
  readonly checksums: string
  readonly standbys: number
}

/** @throws Error if there is no server, or it refuses the connection */
export async function checkServer(
  databaseUrl: string,
  durability: Durability,
  opening?: Opening,
): Promise<ServerState> {
  return withConnection(
    databaseUrl,
    async (client) => {
      const server = await readRow<SettingsRow>(client, READ_SETTINGS)
      const row = await readRow<DurabilityRow>(client, READ_DURABILITY)
      return stateOf(server, row, durability)
    },
    opening,
  )
}

function stateOf(server: SettingsRow, row: DurabilityRow, durability: Durability): ServerState {
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
  const [server] = await sql.rows<SettingsRow>(READ_SETTINGS)
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

function faultsOf({ version, major, isolation, encoding }: SettingsRow): string[] {
  const faults: string[] = []
  if (major < VERSION_MIN) faults.push(`PostgreSQL ${version} is too old: ${VERSION_MIN} or newer`)
  if (isolation !== 'read committed') {
    faults.push(`default_transaction_isolation is ${isolation}: set it to read committed`)
  }
  if (encoding !== 'UTF8') faults.push(`the database has encoding ${encoding}: make one with UTF8`)
  return faults
}

function warningsOf({ checksums, standbys }: SettingsRow, durability: Durability): string[] {
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
