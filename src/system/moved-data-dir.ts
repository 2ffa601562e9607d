// What a move into a database leaves in DATA_DIR, in this order:
//   moving   the id of the attempt: since it began, nobody else has owned the directory, so what
//            was read of it before is still true. Whoever opens it otherwise removes this.
//   moved    where the data are now: nobody opens them here again.

import { existsSync } from 'node:fs'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { UnfitDataDir } from './data-dir.ts'
import { syncFolder } from './disk.ts'

const MOVING_FILE = 'moving'
const MOVED_FILE = 'moved'

export interface MovedTo {
  /** The URL of the database, without its password. */
  readonly database: string
  /** ISO 8601. */
  readonly at: string
}

/** @throws UnfitDataDir if a database has the data now */
export async function refuseMoved(dataDir: string): Promise<void> {
  const moved = await readMoved(dataDir)
  if (moved === undefined) return
  const { database, at } = moved
  const remedy = `set DATABASE_URL to that database instead`
  throw new UnfitDataDir(dataDir, `its data were moved to ${database} at ${at}: ${remedy}`)
}

/** `undefined`: they are here. */
export async function readMoved(dataDir: string): Promise<MovedTo | undefined> {
  const text = await readIfThere(join(dataDir, MOVED_FILE))
  return text === undefined ? undefined : (JSON.parse(text) as MovedTo)
}

/** Durable when it resolves: from then on nobody opens the data here. */
export async function noteMoved(dataDir: string, moved: MovedTo): Promise<void> {
  await writeDurably(dataDir, MOVED_FILE, `${JSON.stringify(moved)}\n`)
}

/** The attempt that the directory has not been used since. */
export function readMoving(dataDir: string): Promise<string | undefined> {
  return readIfThere(join(dataDir, MOVING_FILE))
}

export async function noteMoving(dataDir: string, attempt: string): Promise<void> {
  await writeDurably(dataDir, MOVING_FILE, attempt)
}

/** For whoever is about to change the data: an interrupted move has to begin again. */
export async function forgetMoving(dataDir: string): Promise<void> {
  if (!existsSync(join(dataDir, MOVING_FILE))) return
  await rm(join(dataDir, MOVING_FILE))
  await syncFolder(dataDir)
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The file has all of the text, or is not there. */
async function writeDurably(dataDir: string, name: string, text: string): Promise<void> {
  const unfinished = join(dataDir, `${name}.unfinished`)
  const handle = await open(unfinished, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(unfinished, join(dataDir, name))
  await syncFolder(dataDir)
}
