// From when on a sensor's history has changed since a row of the journal. The sensor's state has
// the oldest times of its last two rows; those of earlier rows are kept as revisions, one an hour.

import { EVERYTHING_HOUR } from '../../control/sensor-changes.ts'
import { historyChangesMsMax } from '../../domain/limits.ts'
import { HOUR_MS } from '../../domain/time.ts'

/** For the update of a sensor's state `s` by a new row: its last row becomes the one before. */
export const TO_BEFORE = `
    before_hour = floor(s.oldest_at_ms / ${HOUR_MS}.0), before_stream = s.stream_id,
    before_seq = s.seq`

/** Keeps what the update will overwrite: run it before, with the sensors locked. */
const KEEP = `
  INSERT INTO history_revisions (sensor_id, hour, stream_id, seq, version, at_ms)
  SELECT s.sensor_id, s.before_hour, s.before_stream, s.before_seq, s.version - 1,
    s.last_seen_at_ms
  FROM sensor_state AS s
  WHERE s.sensor_id = ANY ($1::int[])
    AND s.before_hour < floor(s.oldest_at_ms / ${HOUR_MS}.0)
  ON CONFLICT (sensor_id, hour) DO UPDATE SET stream_id = excluded.stream_id,
    seq = excluded.seq, version = excluded.version, at_ms = excluded.at_ms`
const OLD = `
  FROM history_revisions AS h
  WHERE h.sensor_id = ANY ($1::int[])
    AND h.at_ms < $2::bigint AND h.hour > ${EVERYTHING_HOUR}`
const MERGE_OLD = `
  INSERT INTO history_revisions (sensor_id, hour, stream_id, seq, version, at_ms)
  SELECT DISTINCT ON (h.sensor_id) h.sensor_id, ${EVERYTHING_HOUR},
    h.stream_id, h.seq, h.version, h.at_ms
  ${OLD} ORDER BY h.sensor_id, h.version DESC
  ON CONFLICT (sensor_id, hour) DO UPDATE SET stream_id = excluded.stream_id,
    seq = excluded.seq, version = excluded.version, at_ms = excluded.at_ms`
const DELETE_OLD = `
  DELETE FROM history_revisions
  WHERE sensor_id = ANY ($1::int[])
    AND at_ms < $2::bigint AND hour > ${EVERYTHING_HOUR}`

/**
 * Statements that keep a revision of each sensor that needs one, and merge those that are too old:
 * to be run in this order, in the transaction that has locked the sensors.
 *
 * @param ids of the sensors, as a value for the driver
 */
export function revisionStatements(
  ids: unknown,
  nowMs: number,
): readonly { readonly text: string; readonly values: unknown[] }[] {
  const old = [ids, nowMs - historyChangesMsMax]
  return [
    { text: KEEP, values: [ids] },
    { text: MERGE_OLD, values: old },
    { text: DELETE_OLD, values: old },
  ]
}

/** The heads of all streams, by their numbers: without gaps. */
export const HEADS = '(SELECT array_agg(head ORDER BY stream_id)::float8[] FROM streams)'

/** Whether a row lies beyond the heads `$4` that a client has seen. */
export function isUnseen(stream: string, seq: string): string {
  return `${seq} > coalesce(($4::bigint[])[${stream} + 1], 0)`
}

/**
 * The oldest time that the sensor with the state `t` received beyond these heads; null: nothing. A
 * client that has seen the last row has seen those before, so most sensors' revisions are not read.
 */
export const HISTORY_FROM = `
  CASE WHEN ${isUnseen('t.stream_id', 't.seq')} THEN least(t.oldest_at_ms,
    CASE WHEN ${isUnseen('t.before_stream', 't.before_seq')}
      THEN t.before_hour::bigint * ${HOUR_MS} END,
    (SELECT min(h.hour)::bigint * ${HOUR_MS} FROM history_revisions AS h
      WHERE h.sensor_id = t.sensor_id
        AND ${isUnseen('h.stream_id', 'h.seq')})) END`
