// When measurements were received, which a clock is compared with at a start.

import type { Receipts } from '../../ports/system.ts'
import type { Connection } from '../database.ts'

const RECEIPTS = `
  SELECT (SELECT ifnull(max(last_seen_at_ms), 0) FROM sensor_latest) AS newestMs,
    (SELECT ifnull(max(received_at_ms), 0) FROM accepted_clock) AS acceptedMs`
const ACCEPT = `
  INSERT INTO accepted_clock (id, received_at_ms) VALUES (1, ?)
  ON CONFLICT (id) DO UPDATE SET received_at_ms = excluded.received_at_ms`

export function readReceipts(db: Connection): Receipts {
  return db.prepare<[], Receipts>(RECEIPTS).get()!
}

/** The clock may be before this receipt. */
export function acceptReceipt(db: Connection, receivedAtMs: number): void {
  db.prepare(ACCEPT).run(receivedAtMs)
}
