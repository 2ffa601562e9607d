// A start on a full disk makes room first: it moves each log into its file where the file has the
// pages already, or where there is room for those that it lacks, and gives up the log's space.

import { existsSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Connection } from '../database.ts'
import { DATA_FILES, isStorageFull, openTagged } from '../database.ts'
import { Witness } from './witness.ts'

/**
 * To be called before anything is written, with the files checked and open for reading. It may be
 * killed anywhere. A log that finds no room stays as it is.
 */
export function emptyLogs(dataDir: string): void {
  let full = DATA_FILES.map((name) => join(dataDir, name)).filter((file) => existsSync(file))
  for (;;) {
    const left = full.filter((file) => !emptyLog(file))
    // An emptied log may be the room for another one.
    if (left.length === full.length) return
    full = left
  }
}

/** Whether the volume has room for what the file lacks of its log. */
export function hasRoomToMove(db: Connection): boolean {
  const [pages, pageBytes] = ['page_count', 'page_size'].map((pragma) =>
    Number(db.pragma(pragma, { simple: true })),
  ) as [number, number]
  const missingBytes = pages * pageBytes - statSync(db.name).size
  const { bavail, bsize } = statfsSync(dirname(db.name))
  return missingBytes <= Math.max(0, bavail * bsize)
}

/** @returns whether the log is empty now */
function emptyLog(file: string): boolean {
  const db = openTagged(file)
  try {
    db.pragma('busy_timeout = 0')
    if (!hasRoomToMove(db)) return false
    const moveFrames = db.prepare<[], { log: number; checkpointed: number }>(
      'PRAGMA wal_checkpoint(PASSIVE)',
    )
    const { log = 0, checkpointed = 0 } = moveFrames.get() ?? {}
    if (checkpointed < log) return false
    // All of it is in the file, on disk: without this, an empty log would be taken for a loss.
    const witness = new Witness(dirname(file), basename(file))
    witness.clear()
    witness.close()
    db.pragma('wal_checkpoint(TRUNCATE)')
    return true
  } catch (error) {
    if (!isStorageFull(error)) throw error
    return false
  } finally {
    db.close()
  }
}
