// Keeping the log (WAL) of ledger.db short. The look-up thread reads the file half of the time, and
// SQLite begins its log anew only in a moment without readers: left to itself it grows to hundreds
// of megabytes, and every commit then copies and syncs what it has added to the file itself.

import type { Connection } from '../database.ts'

/** Written between two checkpoints, about. */
const LOG_BYTES_MAX = 32 * 2 ** 20

/** Readers take some milliseconds; a backup is not waited for. */
const READERS_WAIT_MS = 50

export class LogKeeper {
  readonly #db: Connection
  #bytes = 0

  /** @param db the only writer of its file */
  constructor(db: Connection) {
    this.#db = db
    db.pragma('wal_autocheckpoint = 0')
    db.pragma(`busy_timeout = ${READERS_WAIT_MS}`)
  }

  /** So much was committed, about. */
  noteWritten(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes < LOG_BYTES_MAX) return
    this.#bytes = 0
    this.#db.pragma('wal_checkpoint(RESTART)')
  }
}
