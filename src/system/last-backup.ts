// What a backup leaves in DATA_DIR: when it was taken. It is for people and alerts alone: no backup
// fails because it could not be noted, and a note that cannot be read counts as none. After a crash
// it is the one of this backup or of the one before.

import { chown, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { writeDurably } from './disk.ts'

export const LAST_BACKUP_FILE = 'last-backup.json'
/** Two paths of the greatest length, and more. */
const NOTE_BYTES_MAX = 16 * 1024

export interface LastBackup {
  readonly takenAtMs: number
  /** The absolute path; `null`: it went to standard output. */
  readonly file: string | null
}

/** As it is in the file. */
interface Note {
  /** ISO 8601, in UTC. */
  readonly taken_at: string
  readonly file: string | null
}

/** Durable when it resolves. @throws Error if nothing can be written there */
export async function noteBackup(dataDir: string, { taken_at, file }: Note): Promise<void> {
  const note: Note = { taken_at, file: file === null ? null : resolve(file) }
  const target = join(dataDir, LAST_BACKUP_FILE)
  await writeDurably(target, `${JSON.stringify(note)}\n`)
  // Whoever made the backup, it is the service that reads it.
  const { uid, gid } = await stat(dataDir)
  if (process.getuid?.() === 0) await chown(target, uid, gid)
}

/** `undefined`: none is known. */
export async function readLastBackup(dataDir: string): Promise<LastBackup | undefined> {
  try {
    const path = join(dataDir, LAST_BACKUP_FILE)
    const stats = await stat(path)
    if (!stats.isFile() || stats.size > NOTE_BYTES_MAX) return undefined
    const text = await readFile(path, 'utf8')
    const { taken_at, file } = JSON.parse(text) as Record<keyof Note, unknown>
    const takenAtMs = Date.parse(String(taken_at))
    if (Number.isNaN(takenAtMs)) return undefined
    return { takenAtMs, file: typeof file === 'string' ? file : null }
  } catch {
    return undefined
  }
}
