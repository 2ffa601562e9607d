// Keeps the log (WAL) of ledger.db short. The look-up thread is reading the file half of the time,
// and SQLite restarts its log only at a moment without readers: left alone, it would grow to
// hundreds of megabytes, and every commit would then copy and sync what it has added to the file
// itself.

import type { Connection } from '../database.ts'

/** About how much is written between two checkpoints. */
const LOG_BYTES_MAX = 32 * 2 ** 20

/** Readers take some milliseconds; backups are not waited for. */
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

  /** About this much was committed. */
  noteWritten(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes < LOG_BYTES_MAX) return
    this.#bytes = 0
    this.#db.pragma('wal_checkpoint(RESTART)')
  }
}
