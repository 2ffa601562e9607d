// The statements of a lane; `$1` is its shard, unless they say otherwise. Where tables are spread
// over machines, each runs on one of them: all its rows have the same shard. Every transaction
// takes locks in the same order, so that none deadlock: the stream's row, users by id, sensors by
// id, keys of events, tie-breaks.

import { TO_BEFORE } from './history-revisions.ts'
import { numberInShard, takeIds } from '../server/spread.ts'
import { SERVER_TIME_MS } from '../server/server-time.ts'

/** How long a stream stays its owner's after its last commit. */
const LEASE = `statement_timestamp() + interval '10 seconds'`

/** A stream that nobody holds; preferably the lane's own one from before it lost its connection. */
export const TAKE_FREE_STREAM = `
  UPDATE streams SET fence = fence + 1, owner = $2, lease_until = ${LEASE}
  WHERE shard = $1 AND stream_id = (
    SELECT stream_id FROM streams
    WHERE shard = $1 AND ${numberInShard('stream_id')} > 0
      AND (lease_until IS NULL OR lease_until < statement_timestamp()
        OR (owner = $2 AND stream_id = $3))
    ORDER BY stream_id = $3 DESC, stream_id LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING stream_id AS stream, fence`

/**
 * The forwarder's side of a new stream, before the stream. A statement for each: Citus sends
 * rows from one part of a statement to the next by way of all nodes.
 */
export const PREPARE_STREAM = `
  INSERT INTO stream_forwarded (shard, stream_id)
  SELECT shard, max(stream_id) + 1 FROM streams WHERE shard = $1 GROUP BY shard
  ON CONFLICT (shard, stream_id) DO NOTHING`

/** No row: another process was faster. */
export const MAKE_STREAM = `
  INSERT INTO streams (shard, stream_id, fence, owner, lease_until)
  SELECT shard, stream_id, 1, $2, ${LEASE} FROM stream_forwarded
  WHERE shard = $1 AND stream_id = (SELECT max(stream_id) + 1 FROM streams WHERE shard = $1)
  ON CONFLICT (shard, stream_id) DO NOTHING RETURNING stream_id AS stream, fence`

/** Waits for the last owner's transaction: afterwards its outcome is final. */
export const TAKE_STREAM = `
  UPDATE streams SET fence = fence + 1, owner = $2, lease_until = ${LEASE}
  WHERE shard = $1 AND stream_id = $3`

export const LEAVE_STREAM = `
  UPDATE streams SET lease_until = NULL WHERE shard = $1 AND stream_id = $2 AND fence = $3`

/** All streams of a process in the shards `$1`, including those of lost connections. */
export const LEAVE_STREAMS = `
  UPDATE streams SET lease_until = NULL WHERE shard = ANY ($1::smallint[]) AND owner = $2`

export const FIND_GROUP = `
  SELECT 1 FROM journal WHERE shard = $1 AND stream_id = $2 AND seq = $3 AND group_id = $4`

/** No row: another owner has taken the stream. */
export const HOLD_STREAM = `
  SELECT head FROM streams WHERE shard = $1 AND stream_id = $2 AND fence = $3 FOR UPDATE`

export const READ_FORWARDED = `
  SELECT stream_id AS stream, seq FROM stream_forwarded WHERE shard = $1`

export const LOCK_USERS = `
  SELECT user_id AS "userId", sensors FROM user_state
  WHERE shard = $1 AND user_id = ANY ($2::int[])
  ORDER BY user_id FOR NO KEY UPDATE`

/** Sensors of a deleted user keep their state until they are deleted too; mostly there are none. */
const NOT_OF_DELETED =
  's.user_id <> ALL (ARRAY(SELECT user_id FROM user_deletions WHERE shard = $1))'

export const FIND_SENSORS = `
  SELECT s.id, s.user_id AS "userId", s.serial_number AS "serialNumber",
    s.serial_number_key AS "serialNumberKey"
  FROM unnest($2::int[], $3::text[]) AS wanted (user_id, key)
  JOIN sensors AS s ON s.user_id = wanted.user_id AND s.serial_number_key = wanted.key
  WHERE s.shard = $1 AND s.deleted_at_ms IS NULL AND ${NOT_OF_DELETED}`

/** Fewer rows than asked for: a sensor or its user was deleted. No lock on deleted users. */
export const LOCK_SENSORS = `
  SELECT s.sensor_id AS id, s.measured_at_ms AS "measuredAtMs", s.temp_celsius AS "tempCelsius",
    s.tie_break AS "tieBreakNs", s.pending, s.time_spans AS spans,
    coalesce(s.before_hour < floor(s.oldest_at_ms / 3600000.0), false) AS "hasRevision"
  FROM sensor_state AS s
  WHERE s.shard = $1 AND s.sensor_id = ANY ($2::int[]) AND ${NOT_OF_DELETED}
  ORDER BY s.sensor_id FOR NO KEY UPDATE OF s`

export const FIND_KNOWN = `
  SELECT uuid_send(l.key) AS bits, l.user_id AS "userId", l.at_ms AS "measuredAtMs",
    l.temp_celsius AS "tempCelsius", l.sensor_id AS "sensorId",
    s.serial_number AS "serialNumber", s.serial_number_key AS "serialNumberKey"
  FROM unnest($2::uuid[], $3::int[]) AS wanted (key, user_id)
  JOIN ledger AS l ON l.key = wanted.key AND l.user_id = wanted.user_id
  JOIN sensors AS s ON s.shard = l.shard AND s.id = l.sensor_id
  WHERE l.shard = $1`

export const FIND_TIE_BREAKS = `
  SELECT t.sensor_id AS "sensorId", t.at_ms AS "atMs", t.next
  FROM unnest($2::int[], $3::bigint[]) AS wanted (sensor_id, at_ms)
  JOIN tie_breaks AS t ON t.sensor_id = wanted.sensor_id AND t.at_ms = wanted.at_ms
  WHERE t.shard = $1`

/** Fewer rows than given: some of the events were known. */
export const INSERT_EVENTS = `
  INSERT INTO ledger (shard, key, user_id, sensor_id, at_ms, temp_celsius)
  SELECT $1::smallint, u.*
  FROM unnest($2::uuid[], $3::int[], $4::int[], $5::bigint[], $6::float8[]) AS u
  ON CONFLICT (shard, user_id, key) DO NOTHING`

/** Reserves ids of sensors, `$1` of them; only the server of DATABASE_URL gives them. */
export const TAKE_SENSOR_IDS = takeIds('sensor_ids')

/** Their ids were reserved before. */
export const REGISTER_SENSORS = `
  INSERT INTO sensors
    (shard, id, user_id, serial_number, serial_number_key, alias, created_at_ms,
      changed_at_settings)
  SELECT s.shard, u.id, u.user_id, u.serial_number, u.key, u.alias, u.at_ms, s.settings + 1
  FROM unnest($2::int[], $3::int[], $4::text[], $5::text[], $6::text[], $7::bigint[])
    AS u (id, user_id, serial_number, key, alias, at_ms)
  JOIN user_state AS s ON s.user_id = u.user_id
  WHERE s.shard = $1`

export const ADD_SENSOR_STATES = `
  INSERT INTO sensor_state (shard, sensor_id, user_id)
  SELECT $1::smallint, u.* FROM unnest($2::int[], $3::int[]) AS u`

export const COUNT_SENSORS = `
  UPDATE user_state AS s SET sensors = s.sensors + added.count, settings = s.settings + 1
  FROM unnest($2::int[], $3::int[]) AS added (user_id, count)
  WHERE s.shard = $1 AND s.user_id = added.user_id`

export const UPDATE_SENSORS = `
  UPDATE sensor_state AS s
  SET measured_at_ms = u.measured_at_ms, temp_celsius = u.temp_celsius, tie_break = u.tie_break,
    last_seen_at_ms = u.seen_at_ms, pending = u.pending, time_spans = u.spans,
    version = s.version + 1, stream_id = $10, seq = $11, oldest_at_ms = u.oldest_at_ms,
    ${TO_BEFORE}
  FROM unnest($2::int[], $3::bigint[], $4::float8[], $5::int[], $6::bigint[], $7::text[],
      $8::bytea[], $9::bigint[])
    AS u (sensor_id, measured_at_ms, temp_celsius, tie_break, seen_at_ms, pending, spans,
      oldest_at_ms)
  WHERE s.shard = $1 AND s.sensor_id = u.sensor_id`

export const NOTE_GIVEN_WAY = `
  UPDATE sensor_state AS s SET gave_way_at_ms = greatest(s.gave_way_at_ms, u.at_ms)
  FROM unnest($2::int[], $3::bigint[]) AS u (sensor_id, at_ms)
  WHERE s.shard = $1 AND s.sensor_id = u.sensor_id`

export const NOTE_TIE_BREAKS = `
  INSERT INTO tie_breaks (shard, sensor_id, at_ms, next)
  SELECT $1::smallint, u.* FROM unnest($2::int[], $3::bigint[], $4::int[]) AS u
  ON CONFLICT (shard, sensor_id, at_ms) DO UPDATE SET next = excluded.next`

export const COUNT_DAYS = `
  INSERT INTO accepted_per_day AS d (shard, sensor_id, day, measurements)
  SELECT $1::smallint, u.* FROM unnest($2::int[], $3::int[], $4::int[]) AS u
  ON CONFLICT (shard, sensor_id, day)
    DO UPDATE SET measurements = d.measurements + excluded.measurements`

export const INSERT_ROW = `
  INSERT INTO journal
    (shard, stream_id, seq, group_id, committed_at_ms, measurements, entries)
  VALUES ($1, $2, $3, $4, ${SERVER_TIME_MS}, $5, $6)`

export const ADVANCE_STREAM = `
  UPDATE streams SET head = $3, lease_until = ${LEASE} WHERE shard = $1 AND stream_id = $2`
