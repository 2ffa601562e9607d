// What a move into a database leaves in DATA_DIR: where the data are now. Nobody opens them here
// again.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UnfitDataDir } from './data-dir.ts'
import { writeDurably } from './disk.ts'

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
  try {
    return JSON.parse(await readFile(join(dataDir, MOVED_FILE), 'utf8')) as MovedTo
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Durable when it resolves: from then on nobody opens the data here. */
export async function noteMoved(dataDir: string, moved: MovedTo): Promise<void> {
  await writeDurably(join(dataDir, MOVED_FILE), `${JSON.stringify(moved)}\n`)
}
