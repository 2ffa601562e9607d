// One moment of DATA_DIR, for a copy that is taken while a service writes at full rate.
//
// control.db (C), ledger.db (L) and measurements.db (M) have a writer each, so three copies taken
// one after the other would not fit together. What has to hold:
//   - A journal row leaves C only when L has sealed it and M has it. So L and M must not be older
//     than C: an event would be in none of the three.
//   - L must not be newer than C: an event that C does not know would be answered `duplicate` and
//     be nowhere. Nor must M: its sensors and tie-breaks would be given a second time.
// So read transactions on L and M begin while C stays as it is: PRAGMA data_version of C is the
// same before them and inside the transaction on C that begins last. What was sealed or forwarded
// in that instant is still in the journal of C, and to seal or forward it again changes nothing.
// No lock is taken: when a commit came in between, all three begin anew.
//
// An open read transaction keeps the log of its file from being emptied, so each ends as soon as
// its file is copied: first C, whose log grows fastest, at last M, which is the largest.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import {
  CONTROL_FILE,
  EMBEDDED_STORE,
  LEDGER_FILE,
  MEASUREMENTS_FILE,
  openForReading,
} from '../database.ts'
import type { Connection } from '../database.ts'

/** Two milliseconds between two commits are room for ten of them. */
const ATTEMPTS_MAX = 20_000

/** Copied before others get a turn: about 8 MiB. */
const PAGES_PER_STEP = 2_000

const STORE = 'SELECT name FROM measurement_store WHERE id = 1'

export interface SnapshotFile {
  readonly name: string
  readonly bytes: number
}

export class DataSnapshot {
  /** The measurement store in use. */
  readonly storeName: string
  /** In the order in which they are to be copied. */
  readonly files: readonly SnapshotFile[]
  readonly #connections: Map<string, Connection>

  private constructor(connections: Map<string, Connection>, storeName: string) {
    this.#connections = connections
    this.storeName = storeName
    this.files = [...connections].map(([name, db]) => ({ name, bytes: sizeOf(db) }))
  }

  /** @throws Error when there is nothing in `dataDir`, or not all of it */
  static async take(dataDir: string): Promise<DataSnapshot> {
    const connections = new Map<string, Connection>()
    try {
      for (const name of [CONTROL_FILE, LEDGER_FILE, MEASUREMENTS_FILE]) {
        const file = join(dataDir, name)
        if (existsSync(file)) connections.set(name, openForReading(file))
      }
      const storeName = await pin(connections, dataDir)
      return new DataSnapshot(connections, storeName)
    } catch (error) {
      closeAll(connections)
      throw error
    }
  }

  /**
   * Copies a file as it was at that moment, and lets go of it.
   *
   * @param target is made
   */
  async copy(name: string, target: string, onBytes: (bytes: number) => void): Promise<void> {
    const db = this.#connections.get(name)
    if (db === undefined) throw new Error(`BUG: ${name} is copied already`)
    const pageBytes = Number(db.pragma('page_size', { simple: true }))
    let copiedPages = 0
    // On a connection with an open transaction the copy is of what that sees.
    await db.backup(target, {
      progress: ({ totalPages, remainingPages }) => {
        const pages = totalPages - remainingPages
        onBytes((pages - copiedPages) * pageBytes)
        copiedPages = pages
        return PAGES_PER_STEP
      },
    })
    this.#connections.delete(name)
    db.close()
  }

  close(): void {
    closeAll(this.#connections)
  }
}

/** Begins a transaction on each file, all of one moment. @returns the store in use then */
async function pin(connections: Map<string, Connection>, dataDir: string): Promise<string> {
  const control = connections.get(CONTROL_FILE)
  if (control === undefined) throw new Error(`${dataDir} has no data: there is no ${CONTROL_FILE}`)
  const others = [...connections.values()].filter((db) => db !== control)
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const version = versionOf(control)
    for (const db of others) begin(db)
    begin(control)
    if (versionOf(control) === version) return keepNeeded(connections, control, dataDir)
    for (const db of connections.values()) db.exec('ROLLBACK')
    await setImmediate()
  }
  throw new Error(`${CONTROL_FILE} changes too fast for a copy: try again`)
}

function keepNeeded(
  connections: Map<string, Connection>,
  control: Connection,
  dataDir: string,
): string {
  const storeName = control.prepare<[], string>(STORE).pluck().get() ?? EMBEDDED_STORE
  if (storeName !== EMBEDDED_STORE) {
    connections.get(MEASUREMENTS_FILE)?.close()
    connections.delete(MEASUREMENTS_FILE)
  }
  const wanted = [LEDGER_FILE, ...(storeName === EMBEDDED_STORE ? [MEASUREMENTS_FILE] : [])]
  const missing = wanted.filter((name) => !connections.has(name))
  if (missing.length > 0) throw new Error(`${dataDir} lacks ${missing.join(' and ')}`)
  return storeName
}

function begin(db: Connection): void {
  db.exec('BEGIN')
  // A transaction sees the moment of its first read.
  db.prepare('SELECT count(*) FROM sqlite_schema').get()
}

/** Another number once another connection has committed. */
function versionOf(db: Connection): unknown {
  return db.pragma('data_version', { simple: true })
}

function sizeOf(db: Connection): number {
  const pages = Number(db.pragma('page_count', { simple: true }))
  return pages * Number(db.pragma('page_size', { simple: true }))
}

function closeAll(connections: Map<string, Connection>): void {
  for (const db of connections.values()) db.close()
  connections.clear()
}
