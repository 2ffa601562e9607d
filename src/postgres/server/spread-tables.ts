// Spreads the tables over the workers of a Citus cluster by their shard, so that all of a user is
// on one worker. Users, tokens and what else is small stay on the coordinator: copies on each
// worker would be written only while all are there, and by one transaction at a time. All of it is
// one transaction: whoever is killed has spread nothing.

import type pg from 'pg'
import { firstStreamOf } from '../../domain/shard.ts'
import type { WorkProgress } from '../../ports/system.ts'
import { readRow } from './connection.ts'
import { FIRST_STREAM, SHARD_OF_USER } from './spread.ts'

/**
 * How many shards: of at most as many workers each has one. With twice as many, single submissions
 * take twice the processor time, because half as many share a commit (measured with 64 in flight).
 */
const SHARDS = 16

const OF_USERS = [
  'sensors',
  'user_state',
  'user_deletions',
  'sensor_state',
  'sensor_deletions',
  'ledger',
  'set_aside',
]
/** Without a user's id. */
const OF_SENSORS = ['tie_breaks', 'accepted_per_day', 'measurements_hour', 'measurements_day']
/** Their rows stay in the first shard. */
const OF_STREAMS = ['streams', 'stream_forwarded', 'journal', 'history_revisions']
const COPIED = ['data_identity']
/** Stays on the coordinator, but Citus counts its writes: as of another node. */
const COUNTED = 'whole_commits'

const HAS_CITUS = `SELECT to_regclass('pg_dist_node') IS NOT NULL AS "hasCitus"`
const STATE = `
  SELECT (SELECT groupid FROM pg_dist_local_group) AS "group",
    (SELECT extversion FROM pg_extension WHERE extname = 'citus') AS version,
    EXISTS (SELECT 1 FROM pg_class WHERE oid = to_regclass('shards')
      AND oid NOT IN (SELECT logicalrelid FROM pg_dist_partition)) AS "isLocal",
    (SELECT count(*) FROM pg_dist_node
      WHERE noderole = 'primary' AND isactive AND shouldhaveshards AND groupid > 0)::int AS workers`

export interface CitusState {
  /** 0: the coordinator. */
  readonly group: number
  readonly version: string
  /** Whether there are tables, all on the coordinator. */
  readonly isLocal: boolean
  /** That can have shards. */
  readonly workers: number
}

/** `undefined`: the server is not of Citus. */
export async function readCitus(client: pg.ClientBase): Promise<CitusState | undefined> {
  const { hasCitus } = await readRow<{ hasCitus: boolean }>(client, HAS_CITUS)
  return hasCitus ? readRow<CitusState>(client, STATE) : undefined
}

/** The only one that was tried. */
const TRIED = '13.2'

export function citusFaults({ group }: CitusState): string[] {
  if (group === 0) return []
  return ['it is a worker of Citus: name the coordinator in DATABASE_URL']
}

export function citusWarnings({ version, isLocal, workers }: CitusState): string[] {
  const warnings: string[] = []
  if (!version.startsWith(`${TRIED}-`)) {
    warnings.push(`Citus ${version} was never tried: ${TRIED} was`)
  }
  const spread = 'stop all processes, and run `thermolog database migrate`'
  if (workers === 0) {
    warnings.push(`Citus has no workers, so all data are on the coordinator: add some, ${spread}`)
  } else if (isLocal) warnings.push(`the tables are not spread over the workers: ${spread}`)
  return warnings
}

const SETTINGS = `
  SET LOCAL citus.multi_shard_modify_mode = 'sequential'; SET LOCAL client_min_messages = error;
  SET LOCAL statement_timeout = 0`
/** Every connection of a process reads the identity first: it waits, and then sees the shards. */
const LOCK_IDENTITY = `
  SET LOCAL lock_timeout = '10s'; LOCK TABLE data_identity IN ACCESS EXCLUSIVE MODE`
// A number for each shard of Citus: its rows have it, and no other shard's do. 0 is one of them.
const NUMBER_SHARDS = `
  INSERT INTO shards (shard)
  SELECT min(number) FROM (
    SELECT number::smallint, get_shard_id_for_distribution_column('shards', number::smallint) AS id
    FROM generate_series(0, 32767) AS number) AS numbers
  GROUP BY id HAVING min(number) > 0`
const READ_NUMBERS = 'SELECT array_agg(shard ORDER BY shard)::int[] AS numbers FROM shards'
const SPREAD = `
  SELECT create_distributed_table($1::text::regclass, 'shard', colocate_with := 'shards')`
const COPY = 'SELECT create_reference_table($1::text::regclass)'
const COUNT_WRITES = 'SELECT citus_add_local_table_to_metadata($1::text::regclass)'
/** Of rows that were copied; only when all were, because it also empties what refers to them. */
const FORGET_COPIED = `
  SELECT truncate_local_data_after_distributing_table(name::regclass)
  FROM unnest($1::text[]) AS name`
const FORGET_PLACES = `
  UPDATE sensor_state SET stream_id = ${FIRST_STREAM}, seq = 0, pending = '', before_hour = NULL,
    before_stream = NULL, before_seq = NULL`
const NEW_EPOCH = `
  UPDATE data_identity SET shards = $1, epoch = left(replace(gen_random_uuid()::text, '-', ''), 16)`
const IS_FORWARDED = `
  SELECT NOT EXISTS (
    SELECT 1 FROM streams s JOIN stream_forwarded f USING (shard, stream_id)
    WHERE s.head > f.seq) AS "isForwarded"`

/** Processes, and what a move that was killed has under way. */
export const OTHERS_WORK = `
  SELECT count(*) > 0 AS "isBusy" FROM pg_stat_activity
  WHERE datname = current_database() AND application_name IN ('thermolog', 'thermolog move')
    AND pid <> pg_backend_pid()`

/** Tables that hold data cannot be spread now. */
export class CannotSpread extends Error {
  readonly remedy: string

  constructor(reason: string, remedy: string, options?: ErrorOptions) {
    super(`the tables cannot be spread over the workers: ${reason}`, options)
    this.remedy = remedy
  }
}

/** @throws CannotSpread */
export async function refuseOthers(client: pg.ClientBase): Promise<void> {
  await client.query(LOCK_IDENTITY)
  const { isBusy } = await readRow<{ isBusy: boolean }>(client, OTHERS_WORK)
  if (isBusy) throw othersWork()
}

export function othersWork(options?: ErrorOptions): CannotSpread {
  const remedy = 'Stop them, and run it again.'
  return new CannotSpread('processes work on the database', remedy, options)
}

/**
 * Spreads the tables, in the caller's transaction.
 *
 * @throws CannotSpread
 */
export async function spreadTables(client: pg.ClientBase, progress: WorkProgress): Promise<void> {
  const tables = [...OF_USERS, ...OF_SENSORS, ...OF_STREAMS]
  progress.begin('spreading tables', tables.length + COPIED.length + 1, 'table')
  await client.query(SETTINGS)
  const { isForwarded } = await readRow<{ isForwarded: boolean }>(client, IS_FORWARDED)
  if (!isForwarded) {
    throw new CannotSpread(
      'accepted measurements are not in the store yet',
      'Run the service until they are, and stop it.',
    )
  }
  const numbers = await makeShards(client)
  await assignShards(client, numbers)
  await spreadMeasurements(client)
  progress.advance(1)
  for (const table of tables) {
    await client.query(SPREAD, [table])
    progress.advance(1)
  }
  for (const table of COPIED) {
    await client.query(COPY, [table])
    progress.advance(1)
  }
  await client.query(COUNT_WRITES, [COUNTED])
  for (const number of numbers.filter((one) => one > 0)) {
    for (const table of ['streams', 'stream_forwarded']) {
      const first = [number, firstStreamOf(number)]
      await client.query(`INSERT INTO ${table} (shard, stream_id) VALUES ($1, $2)`, first)
    }
  }
  await client.query(FORGET_COPIED, [['shards', ...tables, ...COPIED]])
}

async function makeShards(client: pg.ClientBase): Promise<readonly number[]> {
  await client.query(`SELECT create_distributed_table('shards', 'shard', shard_count := ${SHARDS})`)
  await client.query(NUMBER_SHARDS)
  return (await readRow<{ numbers: number[] }>(client, READ_NUMBERS)).numbers
}

/** Before, all rows were in one shard, and in other streams. */
async function assignShards(client: pg.ClientBase, numbers: readonly number[]): Promise<void> {
  for (const table of OF_USERS) {
    await client.query(`UPDATE ${table} SET shard = ${SHARD_OF_USER}`, [numbers])
  }
  for (const table of OF_SENSORS) {
    await client.query(
      `UPDATE ${table} AS own SET shard = s.shard FROM sensors AS s WHERE s.id = own.sensor_id`,
    )
  }
  await client.query('TRUNCATE history_revisions')
  await client.query(FORGET_PLACES)
  await client.query(NEW_EPOCH, [numbers])
}

/** Citus keeps shards small itself: they need no partitions, which would be tables in each. */
async function spreadMeasurements(client: pg.ClientBase): Promise<void> {
  await client.query('ALTER TABLE measurements RENAME TO measurements_by_week')
  await client.query('CREATE TABLE measurements (LIKE measurements_by_week INCLUDING ALL)')
  await client.query(SPREAD, ['measurements'])
  await client.query(`
    INSERT INTO measurements (at_ms, temp_celsius, sensor_id, tie_break_ns, shard)
    SELECT m.at_ms, m.temp_celsius, m.sensor_id, m.tie_break_ns, s.shard
    FROM measurements_by_week AS m JOIN sensors AS s ON s.id = m.sensor_id`)
  await client.query('DROP TABLE measurements_by_week')
}
