// When measurements were received, which a clock is compared with at a start.

import type { Connection } from '../database.ts'

// What was received before an operator accepted the clock says nothing.
const NEWEST_RECEIPT = `
  SELECT ifnull(max(last_seen_at_ms), 0) FROM sensor_latest
  WHERE data_seq > ifnull((SELECT seq FROM accepted_clock), 0)`
const ACCEPT_CLOCK = `
  INSERT INTO accepted_clock (id, seq)
  SELECT 1, seq FROM sqlite_sequence WHERE name = 'journal'
  ON CONFLICT (id) DO UPDATE SET seq = excluded.seq`

/** By the clock of then; 0: there is none. */
export function readNewestReceiptMs(db: Connection): number {
  return db.prepare<[], number>(NEWEST_RECEIPT).pluck().get() ?? 0
}

/** The clock may be before whatever was received until now. */
export function acceptClock(db: Connection): void {
  db.prepare(ACCEPT_CLOCK).run()
}
