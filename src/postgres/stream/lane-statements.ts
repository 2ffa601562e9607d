// The statements of a lane. Every transaction takes locks in the same order, so that none deadlock:
// the stream's row, users by id, sensors by id, keys of events, tie-breaks.

import { TO_BEFORE } from './history-revisions.ts'
import { SERVER_TIME_MS } from '../server/server-time.ts'

/** How long a stream stays its owner's after its last commit. */
const LEASE = `clock_timestamp() + interval '10 seconds'`

/** A stream that nobody holds; preferably the lane's own one from before it lost its connection. */
export const TAKE_FREE_STREAM = `
  UPDATE streams SET fence = fence + 1, owner = $1, lease_until = ${LEASE}
  WHERE shard = 0 AND stream_id = (
    SELECT stream_id FROM streams
    WHERE shard = 0 AND stream_id > 0
      AND (lease_until IS NULL OR lease_until < clock_timestamp()
        OR (owner = $1 AND stream_id = $2))
    ORDER BY stream_id = $2 DESC, stream_id LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING stream_id AS stream, fence`

export const MAKE_STREAM = `
  WITH made AS (
    INSERT INTO streams (shard, stream_id, fence, owner, lease_until)
    SELECT 0, max(stream_id) + 1, 1, $1, ${LEASE} FROM streams WHERE shard = 0
    ON CONFLICT (shard, stream_id) DO NOTHING RETURNING shard, stream_id, fence
  ), forwarded AS (
    INSERT INTO stream_forwarded (shard, stream_id) SELECT shard, stream_id FROM made
  )
  SELECT stream_id AS stream, fence FROM made`

/** Waits for the last owner's transaction: afterwards its outcome is final. */
export const TAKE_STREAM = `
  UPDATE streams SET fence = fence + 1, owner = $1, lease_until = ${LEASE}
  WHERE shard = 0 AND stream_id = $2
  RETURNING stream_id AS stream, fence`

export const LEAVE_STREAM = `
  UPDATE streams SET lease_until = NULL WHERE shard = 0 AND stream_id = $1 AND fence = $2`

/** All streams of a process, including those of lost connections. */
export const LEAVE_STREAMS = `
  UPDATE streams SET lease_until = NULL WHERE shard = 0 AND owner = $1`

export const FIND_GROUP = `
  SELECT 1 FROM journal WHERE shard = 0 AND stream_id = $1 AND seq = $2 AND group_id = $3`

/** No row: another owner has taken the stream. */
export const HOLD_STREAM = `
  SELECT head FROM streams WHERE shard = 0 AND stream_id = $1 AND fence = $2 FOR UPDATE`

export const READ_FORWARDED = `
  SELECT stream_id AS stream, seq FROM stream_forwarded WHERE shard = 0`

export const LOCK_USERS = `
  SELECT s.user_id AS "userId", s.sensors
  FROM unnest($1::smallint[], $2::int[]) AS wanted (shard, user_id)
  JOIN user_state AS s ON s.shard = wanted.shard AND s.user_id = wanted.user_id
  ORDER BY s.shard, s.user_id FOR NO KEY UPDATE OF s`

/** Sensors of a deleted user keep their state until they are deleted too; mostly there are none. */
const NOT_OF_DELETED = 's.user_id <> ALL (ARRAY(SELECT user_id FROM user_deletions))'

export const FIND_SENSORS = `
  SELECT s.id, s.user_id AS "userId", s.serial_number AS "serialNumber",
    s.serial_number_key AS "serialNumberKey"
  FROM unnest($1::smallint[], $2::int[], $3::text[]) AS wanted (shard, user_id, key)
  JOIN sensors AS s ON s.shard = wanted.shard AND s.user_id = wanted.user_id
    AND s.serial_number_key = wanted.key AND s.deleted_at_ms IS NULL
  WHERE ${NOT_OF_DELETED}`

/** Fewer rows than asked for: a sensor or its user was deleted. No lock on deleted users. */
export const LOCK_SENSORS = `
  SELECT s.sensor_id AS id, s.measured_at_ms AS "measuredAtMs", s.temp_celsius AS "tempCelsius",
    s.tie_break AS "tieBreakNs", s.pending, s.time_spans AS spans,
    coalesce(s.before_hour < floor(s.oldest_at_ms / 3600000.0), false) AS "hasRevision"
  FROM unnest($1::smallint[], $2::int[]) AS wanted (shard, sensor_id)
  JOIN sensor_state AS s ON s.shard = wanted.shard AND s.sensor_id = wanted.sensor_id
  WHERE ${NOT_OF_DELETED}
  ORDER BY s.shard, s.sensor_id FOR NO KEY UPDATE OF s`

export const FIND_KNOWN = `
  SELECT uuid_send(l.key) AS bits, l.user_id AS "userId", l.at_ms AS "measuredAtMs",
    l.temp_celsius AS "tempCelsius", l.sensor_id AS "sensorId",
    s.serial_number AS "serialNumber", s.serial_number_key AS "serialNumberKey"
  FROM unnest($1::smallint[], $2::uuid[], $3::int[]) AS wanted (shard, key, user_id)
  JOIN ledger AS l ON l.shard = wanted.shard AND l.key = wanted.key
    AND l.user_id = wanted.user_id
  JOIN sensors AS s ON s.shard = l.shard AND s.id = l.sensor_id`

export const FIND_TIE_BREAKS = `
  SELECT t.sensor_id AS "sensorId", t.at_ms AS "atMs", t.next
  FROM unnest($1::smallint[], $2::int[], $3::bigint[]) AS wanted (shard, sensor_id, at_ms)
  JOIN tie_breaks AS t ON t.shard = wanted.shard AND t.sensor_id = wanted.sensor_id
    AND t.at_ms = wanted.at_ms`

/** Fewer rows than given: some of the events were known. */
export const INSERT_EVENTS = `
  INSERT INTO ledger (shard, key, user_id, sensor_id, at_ms, temp_celsius)
  SELECT * FROM
    unnest($1::smallint[], $2::uuid[], $3::int[], $4::int[], $5::bigint[], $6::float8[])
  ON CONFLICT (shard, key, user_id) DO NOTHING`

export const REGISTER_SENSORS = `
  INSERT INTO sensors
    (id, shard, user_id, serial_number, serial_number_key, alias, created_at_ms, info_at_ms,
      changed_at_settings)
  SELECT nextval('sensor_ids'), u.shard, u.user_id, u.serial_number, u.key, u.alias, u.at_ms,
    u.at_ms, (SELECT s.settings + 1 FROM user_state AS s
      WHERE s.shard = u.shard AND s.user_id = u.user_id)
  FROM unnest($1::smallint[], $2::int[], $3::text[], $4::text[], $5::text[], $6::bigint[])
    AS u (shard, user_id, serial_number, key, alias, at_ms)
  RETURNING id, user_id AS "userId", serial_number_key AS "serialNumberKey"`

export const ADD_SENSOR_STATES = `
  INSERT INTO sensor_state (shard, sensor_id, user_id)
  SELECT * FROM unnest($1::smallint[], $2::int[], $3::int[])`

export const COUNT_SENSORS = `
  UPDATE user_state AS s SET sensors = s.sensors + added.count, settings = s.settings + 1
  FROM unnest($1::smallint[], $2::int[], $3::int[]) AS added (shard, user_id, count)
  WHERE s.shard = added.shard AND s.user_id = added.user_id`

export const UPDATE_SENSORS = `
  UPDATE sensor_state AS s
  SET measured_at_ms = u.measured_at_ms, temp_celsius = u.temp_celsius, tie_break = u.tie_break,
    last_seen_at_ms = u.seen_at_ms, pending = u.pending, time_spans = u.spans,
    version = s.version + 1, stream_id = $10, seq = $11, oldest_at_ms = u.oldest_at_ms,
    ${TO_BEFORE}
  FROM unnest($1::smallint[], $2::int[], $3::bigint[], $4::float8[], $5::int[], $6::bigint[],
      $7::text[], $8::bytea[], $9::bigint[])
    AS u (shard, sensor_id, measured_at_ms, temp_celsius, tie_break, seen_at_ms, pending, spans,
      oldest_at_ms)
  WHERE s.shard = u.shard AND s.sensor_id = u.sensor_id`

export const NOTE_TIE_BREAKS = `
  INSERT INTO tie_breaks (shard, sensor_id, at_ms, next)
  SELECT * FROM unnest($1::smallint[], $2::int[], $3::bigint[], $4::int[])
  ON CONFLICT (shard, sensor_id, at_ms) DO UPDATE SET next = excluded.next`

export const COUNT_DAYS = `
  INSERT INTO accepted_per_day AS d (shard, sensor_id, day, measurements)
  SELECT * FROM unnest($1::smallint[], $2::int[], $3::int[], $4::int[])
  ON CONFLICT (shard, sensor_id, day)
    DO UPDATE SET measurements = d.measurements + excluded.measurements`

export const INSERT_ROW = `
  INSERT INTO journal
    (shard, stream_id, seq, group_id, committed_at_ms, measurements, sensor_infos, entries)
  VALUES (0, $1, $2, $3, ${SERVER_TIME_MS}, $4, $5, $6)`

export const ADVANCE_STREAM = `
  UPDATE streams SET head = $2, lease_until = ${LEASE} WHERE shard = 0 AND stream_id = $1`
