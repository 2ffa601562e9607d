// The statements of a lane. Every transaction takes locks in the same order, so that none deadlock:
// the stream's row, users by id, sensors by id, keys of events, tie-breaks.

import { TO_BEFORE } from './history-revisions.ts'
import { SERVER_TIME_MS } from '../server/server-time.ts'

/** How long a stream stays its owner's after its last commit. */
const LEASE = `statement_timestamp() + interval '10 seconds'`

/** A stream that nobody holds; preferably the lane's own one from before it lost its connection. */
export const TAKE_FREE_STREAM = `
  UPDATE streams SET fence = fence + 1, owner = $1, lease_until = ${LEASE}
  WHERE stream_id = (
    SELECT stream_id FROM streams
    WHERE stream_id > 0
      AND (lease_until IS NULL OR lease_until < statement_timestamp()
        OR (owner = $1 AND stream_id = $2))
    ORDER BY stream_id = $2 DESC, stream_id LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING stream_id AS stream, fence`

/** The forwarder's side of a new stream, before the stream. */
export const PREPARE_STREAM = `
  INSERT INTO stream_forwarded (stream_id)
  SELECT max(stream_id) + 1 FROM streams
  ON CONFLICT (stream_id) DO NOTHING`

/** No row: another process was faster. */
export const MAKE_STREAM = `
  INSERT INTO streams (stream_id, fence, owner, lease_until)
  SELECT stream_id, 1, $1, ${LEASE} FROM stream_forwarded
  WHERE stream_id = (SELECT max(stream_id) + 1 FROM streams)
  ON CONFLICT (stream_id) DO NOTHING RETURNING stream_id AS stream, fence`

/** Waits for the last owner's transaction: afterwards its outcome is final. */
export const TAKE_STREAM = `
  UPDATE streams SET fence = fence + 1, owner = $1, lease_until = ${LEASE}
  WHERE stream_id = $2`

export const LEAVE_STREAM = `
  UPDATE streams SET lease_until = NULL WHERE stream_id = $1 AND fence = $2`

/** All streams of a process, including those of lost connections. */
export const LEAVE_STREAMS = `
  UPDATE streams SET lease_until = NULL WHERE owner = $1`

export const FIND_GROUP = `
  SELECT 1 FROM journal WHERE stream_id = $1 AND seq = $2 AND group_id = $3`

/** No row: another owner has taken the stream. */
export const HOLD_STREAM = `
  SELECT head FROM streams WHERE stream_id = $1 AND fence = $2 FOR UPDATE`

export const LOCK_USERS = `
  SELECT user_id AS "userId", sensors FROM user_state
  WHERE user_id = ANY ($1::int[])
  ORDER BY user_id FOR NO KEY UPDATE`

/** Sensors of a deleted user keep their state until they are deleted too; mostly there are none. */
const NOT_OF_DELETED = 's.user_id <> ALL (ARRAY(SELECT user_id FROM user_deletions))'

export const FIND_SENSORS = `
  SELECT s.id, s.user_id AS "userId", s.serial_number AS "serialNumber",
    s.serial_number_key AS "serialNumberKey"
  FROM unnest($1::int[], $2::text[]) AS wanted (user_id, key)
  JOIN sensors AS s ON s.user_id = wanted.user_id AND s.serial_number_key = wanted.key
  WHERE s.deleted_at_ms IS NULL AND ${NOT_OF_DELETED}`

/** Fewer rows than asked for: a sensor or its user was deleted. No lock on deleted users. */
export const LOCK_SENSORS = `
  SELECT s.sensor_id AS id, s.user_id AS "userId", s.measured_at_ms AS "measuredAtMs",
    s.temp_celsius AS "tempCelsius", s.tie_break AS "tieBreakNs", s.pending, s.time_spans AS spans,
    coalesce(s.before_hour < floor(s.oldest_at_ms / 3600000.0), false) AS "hasRevision"
  FROM sensor_state AS s
  WHERE s.sensor_id = ANY ($1::int[]) AND ${NOT_OF_DELETED}
  ORDER BY s.sensor_id FOR NO KEY UPDATE OF s`

export const FIND_KNOWN = `
  SELECT uuid_send(l.key) AS bits, l.user_id AS "userId", l.at_ms AS "measuredAtMs",
    l.temp_celsius AS "tempCelsius", l.sensor_id AS "sensorId",
    s.serial_number AS "serialNumber", s.serial_number_key AS "serialNumberKey"
  FROM unnest($1::uuid[], $2::int[]) AS wanted (key, user_id)
  JOIN ledger AS l ON l.key = wanted.key AND l.user_id = wanted.user_id
  JOIN sensors AS s ON s.id = l.sensor_id`

export const FIND_TIE_BREAKS = `
  SELECT t.sensor_id AS "sensorId", t.at_ms AS "atMs", t.next
  FROM unnest($1::int[], $2::bigint[]) AS wanted (sensor_id, at_ms)
  JOIN tie_breaks AS t ON t.sensor_id = wanted.sensor_id AND t.at_ms = wanted.at_ms`

/** Fewer rows than given: some of the events were known. */
export const INSERT_EVENTS = `
  INSERT INTO ledger (key, user_id, sensor_id, at_ms, temp_celsius)
  SELECT * FROM unnest($1::uuid[], $2::int[], $3::int[], $4::bigint[], $5::float8[]) AS u
  ON CONFLICT (user_id, key) DO NOTHING`

/** `$1` of them. */
export const TAKE_SENSOR_IDS = `
  SELECT nextval('sensor_ids')::int AS id FROM generate_series(1, $1)`

/** With ids that were taken before. */
export const REGISTER_SENSORS = `
  INSERT INTO sensors
    (id, user_id, serial_number, serial_number_key, alias, created_at_ms, changed_at_settings)
  SELECT u.id, u.user_id, u.serial_number, u.key, u.alias, u.at_ms, s.settings + 1
  FROM unnest($1::int[], $2::int[], $3::text[], $4::text[], $5::text[], $6::bigint[])
    AS u (id, user_id, serial_number, key, alias, at_ms)
  JOIN user_state AS s ON s.user_id = u.user_id`

export const ADD_SENSOR_STATES = `
  INSERT INTO sensor_state (sensor_id, user_id)
  SELECT * FROM unnest($1::int[], $2::int[]) AS u`

export const COUNT_SENSORS = `
  UPDATE user_state AS s SET sensors = s.sensors + added.count, settings = s.settings + 1
  FROM unnest($1::int[], $2::int[]) AS added (user_id, count)
  WHERE s.user_id = added.user_id`

export const UPDATE_SENSORS = `
  UPDATE sensor_state AS s
  SET measured_at_ms = u.measured_at_ms, temp_celsius = u.temp_celsius, tie_break = u.tie_break,
    last_seen_at_ms = u.seen_at_ms, pending = u.pending, time_spans = u.spans,
    version = s.version + 1, stream_id = $9, seq = $10, oldest_at_ms = u.oldest_at_ms,
    ${TO_BEFORE}
  FROM unnest($1::int[], $2::bigint[], $3::float8[], $4::int[], $5::bigint[], $6::text[],
      $7::bytea[], $8::bigint[])
    AS u (sensor_id, measured_at_ms, temp_celsius, tie_break, seen_at_ms, pending, spans,
      oldest_at_ms)
  WHERE s.sensor_id = u.sensor_id`

export const NOTE_GIVEN_WAY = `
  UPDATE sensor_state AS s SET gave_way_at_ms = greatest(s.gave_way_at_ms, u.at_ms)
  FROM unnest($1::int[], $2::bigint[]) AS u (sensor_id, at_ms)
  WHERE s.sensor_id = u.sensor_id`

export const NOTE_TIE_BREAKS = `
  INSERT INTO tie_breaks (sensor_id, at_ms, next)
  SELECT * FROM unnest($1::int[], $2::bigint[], $3::int[]) AS u
  ON CONFLICT (sensor_id, at_ms) DO UPDATE SET next = excluded.next`

export const COUNT_DAYS = `
  INSERT INTO accepted_per_day AS d (sensor_id, day, measurements)
  SELECT * FROM unnest($1::int[], $2::int[], $3::int[]) AS u
  ON CONFLICT (sensor_id, day)
    DO UPDATE SET measurements = d.measurements + excluded.measurements`

export const INSERT_ROW = `
  INSERT INTO journal
    (stream_id, seq, group_id, committed_at_ms, measurements, entries)
  VALUES ($1, $2, $3, ${SERVER_TIME_MS}, $4, $5)`

export const ADVANCE_STREAM = `
  UPDATE streams SET head = $2, lease_until = ${LEASE} WHERE stream_id = $1`
