// The statements that forward the journal.

import { SERVER_TIME_MS } from '../server/server-time.ts'

/** How long a lease lasts after its last renewal. */
const LEASE = `statement_timestamp() + interval '3 seconds'`

const IS_FREE = '(f.lease_until IS NULL OR f.lease_until < statement_timestamp())'

/** Streams with rows to write that nobody forwards: two at most, to leave others some. */
export const FIND_FREE = `
  SELECT f.stream_id AS stream
  FROM stream_forwarded AS f
  JOIN streams AS s ON s.stream_id = f.stream_id
  WHERE s.head > f.seq AND ${IS_FREE}
  ORDER BY f.stream_id LIMIT 2`

/** No row: another process was faster. */
export const TAKE_LEASE = `
  UPDATE stream_forwarded AS f
  SET owner = $2, fence = f.fence + 1, lease_until = ${LEASE}
  WHERE f.stream_id = $1 AND ${IS_FREE}
  RETURNING f.stream_id AS stream, f.fence, f.seq`

/** The leases of missing streams are lost. */
export const RENEW_LEASES = `
  UPDATE stream_forwarded AS f SET lease_until = ${LEASE}
  FROM unnest($1::int[], $2::bigint[]) AS held (stream_id, fence)
  WHERE f.stream_id = held.stream_id AND f.fence = held.fence
  RETURNING f.stream_id AS stream`

export const LEAVE_LEASES = `
  UPDATE stream_forwarded AS f SET lease_until = NULL
  FROM unnest($1::int[], $2::bigint[]) AS held (stream_id, fence)
  WHERE f.stream_id = held.stream_id AND f.fence = held.fence`

/** No row: the lease is lost. */
export const IS_LEASED = `
  SELECT 1 FROM stream_forwarded WHERE stream_id = $1 AND fence = $2`

/** No row: the lease is lost. */
export const NOTE_FORWARDED = `
  UPDATE stream_forwarded SET seq = greatest(seq, $3), lease_until = ${LEASE}
  WHERE stream_id = $1 AND fence = $2`

/**
 * No row: the sensor is deleted, and nothing of it is set aside. Waits for a deletion under way; a
 * later one waits for this transaction before it deletes what is set aside.
 */
export const KEEP_SENSOR = `
  SELECT user_id AS "userId" FROM sensor_state WHERE sensor_id = $1 FOR KEY SHARE`

export const SET_ASIDE = `
  INSERT INTO set_aside
    (sensor_id, user_id, measured_at_ms, tie_break_ns, temp_celsius, reason, set_aside_at_ms)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (sensor_id, measured_at_ms, tie_break_ns) DO NOTHING`

/** The stream whose next row is the oldest; no row: none has a next one. */
export const NEXT_STREAM = `
  SELECT held.stream_id AS stream
  FROM unnest($1::int[], $2::bigint[]) AS held (stream_id, seq)
  CROSS JOIN LATERAL (
    SELECT committed_at_ms FROM journal AS j
    WHERE j.stream_id = held.stream_id AND j.seq > held.seq
    ORDER BY j.seq LIMIT 1) AS next
  ORDER BY next.committed_at_ms, held.stream_id LIMIT 1`

/** The rows in (seq, through]: at least one, at most so many measurements. */
export const READ_ROWS = `
  SELECT seq, entries
  FROM (
    SELECT *, row_number() OVER by_seq AS place, sum(measurements) OVER by_seq AS total
    FROM (
      SELECT * FROM journal WHERE stream_id = $1 AND seq > $2 AND seq <= $3
      ORDER BY seq LIMIT 1000) AS rows
    WINDOW by_seq AS (ORDER BY seq)) AS counted
  WHERE place = 1 OR total <= $4
  ORDER BY seq`

/** Whether there are rows to claim: after those claimed by this process, or in free streams. */
export const HAS_ROWS = `
  SELECT 1 FROM streams AS s
  JOIN stream_forwarded AS f ON f.stream_id = s.stream_id
  LEFT JOIN unnest($1::int[], $2::bigint[]) AS held (stream_id, seq)
    ON held.stream_id = s.stream_id
  WHERE s.head > coalesce(held.seq, f.seq) AND (held.seq IS NOT NULL OR ${IS_FREE})
  LIMIT 1`

/** Deletes the oldest forwarded rows, older than `$1`: no lane looks them up any more. */
export const PRUNE = `
  WITH done AS MATERIALIZED (
    SELECT f.stream_id, max(oldest.seq) AS seq, bounds.before_ms
    FROM stream_forwarded AS f
    CROSS JOIN (SELECT ${SERVER_TIME_MS} - $1::bigint AS before_ms) AS bounds
    CROSS JOIN LATERAL (
      SELECT seq, committed_at_ms FROM journal AS j
      WHERE j.stream_id = f.stream_id AND j.seq <= f.seq
      ORDER BY j.seq LIMIT 1000) AS oldest
    WHERE oldest.committed_at_ms < bounds.before_ms
    GROUP BY f.stream_id, bounds.before_ms)
  DELETE FROM journal AS j USING done
  WHERE j.stream_id = done.stream_id AND j.seq <= done.seq
    AND j.committed_at_ms < done.before_ms`

export const READ_FORWARDED = 'SELECT stream_id AS stream, seq FROM stream_forwarded'

export const SUM_BACKLOG = `
  SELECT coalesce(sum(j.measurements), 0)::bigint AS entries,
    min(j.committed_at_ms) AS "oldestAtMs"
  FROM stream_forwarded AS f
  JOIN journal AS j ON j.stream_id = f.stream_id AND j.seq > f.seq`
