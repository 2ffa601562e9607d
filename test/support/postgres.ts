// How tests find a real PostgreSQL: TEST_POSTGRES_URL, else the programs on PATH or in their usual
// folder, started by the test. One is shared by all tests of a process. Where there is none the
// tests that need it are left out; with REQUIRE_POSTGRES=1 they fail.

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { migrate } from '../../src/postgres/server/migrate.ts'
import { atEndOfRun } from './end-of-run.ts'
import { leaveOut } from './left-out.ts'
import type { Missing } from './left-out.ts'
import { postgresPrograms, PostgresServer } from './postgres-server.ts'

const START_MS_MAX = 60_000
/** A copy is data of its own. */
const NEW_IDENTITY = `
  UPDATE data_identity SET id = replace(gen_random_uuid()::text, '-', ''),
    cursor_secret = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())`

/** Where tests make databases of their own. */
export interface TestPostgres {
  url(database: string): string
}

let shared: Promise<TestPostgres | undefined> | undefined
let started: PostgresServer | undefined
/** What migrated databases are copied from while a suite runs. */
let migrated: Promise<TestDatabase> | undefined

/**
 * Says that the tests of the suite need PostgreSQL.
 *
 * @returns where it is; to be called in tests and hooks, not before
 */
export function usePostgres(): () => TestPostgres {
  let postgres: TestPostgres | undefined
  before(async function () {
    this.timeout(START_MS_MAX)
    shared ??= findPostgres()
    postgres = await shared
    if (postgres === undefined) leaveOutSuite(this, 'PostgreSQL')
  })
  after(async () => {
    const template = migrated
    migrated = undefined
    await (await template)?.remove()
  })
  return () => {
    if (postgres === undefined) throw new Error('PostgreSQL is looked for in a hook')
    return postgres
  }
}

/** Says that the tests of the suite need a PostgreSQL that they may stop and kill. */
export function usePostgresServer(): () => PostgresServer {
  let server: PostgresServer | undefined
  before(async function () {
    this.timeout(START_MS_MAX)
    const programs = postgresPrograms()
    if (programs === undefined) leaveOutSuite(this, 'PostgreSQL to stop and kill')
    server = await PostgresServer.start(programs)
  })
  after(() => server?.remove())
  return () => {
    if (server === undefined) throw new Error('PostgreSQL is started in a hook')
    return server
  }
}

export interface TestDatabase {
  readonly name: string
  readonly url: string
  remove(): Promise<void>
}

/**
 * Makes a database of a test's own.
 *
 * @param template that nobody is connected to; default: it is empty
 */
export async function newDatabase(
  postgres: TestPostgres,
  template?: TestDatabase,
): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const copied = template === undefined ? '' : ` TEMPLATE ${template.name}`
  await runOnce(postgres.url('postgres'), `CREATE DATABASE ${name}${copied}`)
  return {
    name,
    url: postgres.url(name),
    remove: async () => {
      await runOnce(postgres.url('postgres'), `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

/**
 * Has the server's clock stand still in a database, as that of a process does: connections from
 * now on find the functions before the server's own.
 */
export async function setServerClock({ name, url }: TestDatabase, nowMs: number): Promise<void> {
  const at = `to_timestamp(${nowMs} / 1000.0)`
  await runOnce(url, 'CREATE SCHEMA still')
  for (const clock of ['clock_timestamp', 'statement_timestamp']) {
    await runOnce(
      url,
      `CREATE FUNCTION still.${clock}() RETURNS timestamptz LANGUAGE sql AS 'SELECT ${at}'`,
    )
  }
  await runOnce(url, `ALTER DATABASE ${name} SET search_path = public, still, pg_catalog`)
}

/** Makes a database of a test's own that is migrated: a copy takes a tenth of the time. */
export async function newMigratedDatabase(postgres: TestPostgres): Promise<TestDatabase> {
  migrated ??= newTemplate(postgres)
  const database = await newDatabase(postgres, await migrated)
  await runOnce(database.url, NEW_IDENTITY)
  return database
}

async function newTemplate(postgres: TestPostgres): Promise<TestDatabase> {
  const template = await newDatabase(postgres)
  await migrate(template.url)
  return template
}

/** Runs one statement on a connection of its own. @returns its rows */
export async function runOnce(url: string, sql: string): Promise<readonly pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<pg.QueryResultRow>(sql)).rows
  } finally {
    await client.end()
  }
}

atEndOfRun(async () => {
  await started?.remove()
})

function leaveOutSuite(context: Mocha.Context, missing: Missing): never {
  if (process.env['REQUIRE_POSTGRES'] === '1') {
    throw new Error(`REQUIRE_POSTGRES=1, but no ${missing}`)
  }
  return leaveOut(context, missing)
}

async function findPostgres(): Promise<TestPostgres | undefined> {
  const given = process.env['TEST_POSTGRES_URL']
  if (given !== undefined) {
    // The path of the URL is the database.
    return { url: (database) => given.replace(/^([a-z]+:\/\/[^/?]*)(\/[^?]*)?/, `$1/${database}`) }
  }
  const programs = postgresPrograms()
  if (programs === undefined) return undefined
  started = await PostgresServer.start(programs)
  return started
}
