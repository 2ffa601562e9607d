// Brings the schema up to date. A new version only adds to it, so that processes of the version
// before keep working; what only they needed is dropped one version later. One process migrates at
// a time, by locking a row.

import type pg from 'pg'
import { readRow, withConnection } from './connection.ts'
import { codeOf, DUPLICATE_OBJECT, DUPLICATE_TABLE, UNIQUE_VIOLATION } from './failures.ts'
import { MIGRATIONS } from './schema.ts'
import { SERVER_TIME_MS } from './server-time.ts'
import type { Migration } from './schema.ts'

export interface SchemaState {
  /** 0: the database is empty. */
  readonly version: number
  readonly oldestVersion: number
}

/** The version that this service needs. */
export const SCHEMA_VERSION = MIGRATIONS.at(-1)?.version ?? 0

/** The schema is of a later version that this service cannot use. */
class SchemaTooNew extends Error {
  constructor({ version, oldestVersion }: SchemaState) {
    super(
      `the database has schema version ${version}, for services of version ${oldestVersion} or ` +
        `later; this one has ${SCHEMA_VERSION}: start the newer Thermolog`,
    )
    this.name = 'SchemaTooNew'
  }
}

const CREATE_VERSION = `
  CREATE TABLE IF NOT EXISTS schema_version (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version int NOT NULL,
    oldest_version int NOT NULL
  );
  INSERT INTO schema_version (version, oldest_version) VALUES (0, 0) ON CONFLICT (one) DO NOTHING`
const READ_VERSION = `
  SELECT version, oldest_version AS "oldestVersion" FROM schema_version`
const NEW_IDENTITY = `
  INSERT INTO data_identity (one, id, epoch, cursor_secret)
  VALUES (true, replace(gen_random_uuid()::text, '-', ''),
    lpad(to_hex(${SERVER_TIME_MS}), 12, '0') || left(replace(gen_random_uuid()::text, '-', ''), 6),
    uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
  ON CONFLICT (one) DO NOTHING`

/**
 * Brings the schema to this service's version.
 *
 * @returns the versions that were applied
 * @throws SchemaTooNew
 */
export async function migrate(databaseUrl: string): Promise<readonly number[]> {
  return withConnection(databaseUrl, async (client) => {
    // First a read: it waits neither for a standby nor for a transaction that does.
    if ((await readSchemaState(client)).version >= SCHEMA_VERSION) return []
    await createVersionTable(client)
    const applied: number[] = []
    for (const migration of MIGRATIONS) {
      if (await applyOne(client, migration)) applied.push(migration.version)
    }
    return applied
  })
}

/** @throws SchemaTooNew */
export async function readSchemaState(client: pg.ClientBase): Promise<SchemaState> {
  const { rows } = await client.query<{ isThere: boolean }>(
    `SELECT to_regclass('schema_version') IS NOT NULL AS "isThere"`,
  )
  if (rows[0]?.isThere !== true) return { version: 0, oldestVersion: 0 }
  const state = (await client.query<SchemaState>(READ_VERSION)).rows[0]
  if (state === undefined) return { version: 0, oldestVersion: 0 }
  if (state.oldestVersion > SCHEMA_VERSION) throw new SchemaTooNew(state)
  return state
}

/** Each of these may be the error: a table has a type of its name, and rows in system tables. */
const MADE_BY_ANOTHER = [UNIQUE_VIOLATION, DUPLICATE_TABLE, DUPLICATE_OBJECT]

/** Two processes may do this at once: one of them then finds it done. */
async function createVersionTable(client: pg.ClientBase): Promise<void> {
  try {
    await client.query(CREATE_VERSION)
  } catch (error) {
    if (!MADE_BY_ANOTHER.includes(codeOf(error) ?? '')) throw error
    await client.query(CREATE_VERSION)
  }
}

/** One process at a time; if it fails, the connection is of no use. @returns whether it had to */
async function applyOne(client: pg.ClientBase, migration: Migration): Promise<boolean> {
  const { version, oldestVersion, sql } = migration
  await client.query('BEGIN')
  const state = await readRow<SchemaState>(client, `${READ_VERSION} FOR UPDATE`)
  if (state.oldestVersion > SCHEMA_VERSION) throw new SchemaTooNew(state)
  const isToApply = state.version < version
  if (isToApply) {
    await client.query(sql)
    await client.query(NEW_IDENTITY)
    await client.query('UPDATE schema_version SET version = $1, oldest_version = $2', [
      version,
      oldestVersion,
    ])
  }
  await client.query('COMMIT')
  return isToApply
}
