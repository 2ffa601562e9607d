// The statements of a move into a database.

/**
 * The table is there while a data directory is moved in, and every process keeps away: all that the
 * database has is of the move.
 */
export const CREATE_MOVING = 'CREATE TABLE moving (store_id text NOT NULL)'
export const MARK_MOVING = 'INSERT INTO moving (store_id) VALUES ($1)'
export const END_MOVING = 'DROP TABLE IF EXISTS moving'
export const IS_MOVING = `SELECT to_regclass('moving') IS NOT NULL AS "isMoving"`
export const READ_MOVING = 'SELECT store_id AS "storeId" FROM moving'

/** One without users has links to become the first one. */
const TABLES = `
  users, user_state, access_tokens, identities, sign_in_links, sensors, sensor_state,
  history_revisions, accepted_per_day, set_aside, refused, refused_totals, skipped_series,
  tie_breaks, measurements, measurements_hour, measurements_day, ledger`
/**
 * Every connection of a process reads the identity first, together with whether data are moved in.
 * Others wait behind it, so it does not wait for long.
 */
export const LOCK_TABLES = `
  SET LOCAL lock_timeout = '2s'; LOCK TABLE data_identity, ${TABLES} IN ACCESS EXCLUSIVE MODE`
/** Processes, and what a move that was killed has under way. */
export const OTHERS_WORK = `
  SELECT count(*) > 0 AS "isBusy" FROM pg_stat_activity
  WHERE datname = current_database() AND application_name IN ('thermolog', 'thermolog move')
    AND pid <> pg_backend_pid()`
const TO_BE_EMPTY = [
  'users',
  'sensors',
  'ledger',
  'measurements',
  'user_deletions',
  'sensor_deletions',
  'journal',
]
/** What was there, or is still to be deleted of it. */
export const HAS_DATA = `
  SELECT ${TO_BE_EMPTY.map((table) => `EXISTS (SELECT 1 FROM ${table} LIMIT 1)`).join(' OR ')}
    AS "hasData"`
export const ANALYZE_TABLES = `ANALYZE ${TABLES}, user_deletions, sensor_deletions`
export const EMPTY_TABLES = `TRUNCATE ${TABLES}`
/** Whoever looks which data are in it finds none. */
export const FORGET_IDENTITY = "UPDATE data_identity SET id = ''"

export const COLUMN_TYPES = `
  SELECT attname AS name, t.typname AS type
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped`

// Keys come in the order of their encryption: built once at the end, the index takes a fraction.
export const DROP_LEDGER_KEY = 'ALTER TABLE ledger DROP CONSTRAINT IF EXISTS ledger_pkey'
export const MAKE_LEDGER_KEY = 'ALTER TABLE ledger ADD PRIMARY KEY (user_id, key)'

export const READ_STORE_ID = 'SELECT id FROM data_identity'
export const SET_IDENTITY = 'UPDATE data_identity SET id = $1, restored_to_ms = $2'
export const SET_SEQUENCE = `
  SELECT setval((CASE WHEN $1::text = 'sensors' THEN 'sensor_ids'
    ELSE pg_get_serial_sequence($1, 'id') END)::regclass, $2::bigint)`

export const COUNT_DAYS = `
  DECLARE counted_days CURSOR FOR
  SELECT sensor_id AS "sensorId", floor(at_ms / 86400000.0)::int AS day,
    count(*)::int AS measurements
  FROM measurements GROUP BY 1, 2 ORDER BY 1, 2`
export const FETCH_DAYS = 'FETCH 10000 FROM counted_days'
