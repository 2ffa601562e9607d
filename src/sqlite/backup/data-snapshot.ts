// Pins one moment of DATA_DIR, for a copy taken while a service writes at full speed.
//
// control.db (C), ledger.db (L) and measurements.db (M) have a writer each, so three copies made
// one after the other would not fit together. What must hold:
// - A journal row leaves C only after L has sealed it and M has it. So L and M must not be older
// than C: an event would be in none of the three.
// - L must not be newer than C: an event unknown to C would be answered `duplicate` without being
// anywhere. Nor may M: its sensors and tie-breaks would be given a second time.
// So read transactions begin on L and M, then one on C; they show one moment if nothing was
// committed to any of the files in between. No lock is taken: if there was a commit, all three
// begin again.
//
// An open read transaction prevents the log of its file from being emptied, so each ends as soon as
// its file is copied: first C, whose log grows fastest, last M, which is the largest.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import {
  CONTROL_FILE,
  DATA_FILES,
  EMBEDDED_STORE,
  LEDGER_FILE,
  MEASUREMENTS_FILE,
} from '../database.ts'
import { PinnedFile } from './pinned-file.ts'

/** The two milliseconds between two commits are enough for ten attempts. */
const ATTEMPTS_MAX = 20_000

const STORE = 'SELECT name FROM measurement_store WHERE id = 1'

export interface SnapshotFile {
  readonly name: string
  readonly bytes: number
}

export class DataSnapshot {
  /** The measurement store in use. */
  readonly storeName: string
  /** In the order in which to copy them. */
  readonly files: readonly SnapshotFile[]
  readonly #pinned: Map<string, PinnedFile>

  private constructor(pinned: Map<string, PinnedFile>, storeName: string) {
    this.#pinned = pinned
    this.storeName = storeName
    this.files = [...pinned].map(([name, { bytes }]) => ({ name, bytes }))
  }

  /** @throws Error if `dataDir` is empty or incomplete */
  static async take(dataDir: string): Promise<DataSnapshot> {
    const opened = new Map<string, PinnedFile>()
    try {
      for (const name of DATA_FILES) {
        const file = join(dataDir, name)
        if (existsSync(file)) opened.set(name, new PinnedFile(file))
      }
      const storeName = await pin(opened, dataDir)
      return new DataSnapshot(opened, storeName)
    } catch (error) {
      closeAll(opened)
      throw error
    }
  }

  /**
   * Copies a file as it was at that moment, and ends its transaction.
   *
   * @param target is created
   */
  async copy(name: string, target: string, onBytes: (bytes: number) => void): Promise<void> {
    const file = this.#pinned.get(name)
    if (file === undefined) throw new Error(`BUG: ${name} is copied already`)
    await file.copy(target, onBytes)
    this.#pinned.delete(name)
    file.close()
  }

  close(): void {
    closeAll(this.#pinned)
  }
}

/**
 * Begins a transaction on each file, all at one moment. @returns the store in use at that moment
 */
async function pin(opened: Map<string, PinnedFile>, dataDir: string): Promise<string> {
  const control = opened.get(CONTROL_FILE)
  if (control === undefined) throw new Error(`${dataDir} has no data: there is no ${CONTROL_FILE}`)
  // C last.
  const files = [...opened.values()].toReversed()
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    for (const file of files) file.pin()
    if (files.every((file) => file.isNewest())) return keepNeeded(opened, control, dataDir)
    for (const file of files) file.unpin()
    await setImmediate()
  }
  throw new Error(`${CONTROL_FILE} changes too fast for a copy: try again`)
}

function keepNeeded(opened: Map<string, PinnedFile>, control: PinnedFile, dataDir: string): string {
  const storeName = control.db.prepare<[], string>(STORE).pluck().get() ?? EMBEDDED_STORE
  if (storeName !== EMBEDDED_STORE) {
    opened.get(MEASUREMENTS_FILE)?.close()
    opened.delete(MEASUREMENTS_FILE)
  }
  const wanted = [LEDGER_FILE, ...(storeName === EMBEDDED_STORE ? [MEASUREMENTS_FILE] : [])]
  const missing = wanted.filter((name) => !opened.has(name))
  if (missing.length > 0) throw new Error(`${dataDir} lacks ${missing.join(' and ')}`)
  return storeName
}

function closeAll(opened: Map<string, PinnedFile>): void {
  for (const file of opened.values()) file.close()
  opened.clear()
}
