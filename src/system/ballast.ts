// A few megabytes of DATA_DIR that are there to be given up. SQLite cannot even be opened without
// room for its logs and their indexes: on a disk without any, a service that has to start again
// could not come up, and nobody could read what is there. It gives up its ballast then, takes it
// back at once from what is left, and takes the rest as soon as there is room.
//
// Killed anywhere, it leaves a shorter ballast; the next look makes it whole.

import { randomBytes } from 'node:crypto'
import { open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readDiskSpace } from './disk.ts'

const BALLAST_BYTES = 4 * 2 ** 20
/** What a group of submissions may take. */
const PROBE_BYTES = 2 ** 20
const PART_BYTES = 64 * 2 ** 10

/** Whether an error says that a write found no room, or more than its user may have. */
function isNoRoom(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}

export class Ballast {
  readonly #dataDir: string
  readonly #file: string
  readonly #probe: string
  #missingBytes = BALLAST_BYTES

  constructor(dataDir: string) {
    this.#dataDir = dataDir
    this.#file = join(dataDir, 'ballast')
    this.#probe = join(dataDir, 'ballast-probe')
  }

  /** What it lacked when it was last taken. */
  get missingBytes(): number {
    return this.#missingBytes
  }

  /** Gives it up where there is less room than it takes itself. */
  async giveUpIfFull(): Promise<void> {
    const { freeBytes } = await readDiskSpace(this.#dataDir)
    if (freeBytes < BALLAST_BYTES) await rm(this.#file, { force: true })
  }

  /** Takes as much of it as there is room for. */
  async take(): Promise<void> {
    this.#missingBytes = BALLAST_BYTES - (await sizeOf(this.#file))
    if (this.#missingBytes <= 0) return
    await append(this.#file, this.#missingBytes)
    this.#missingBytes = BALLAST_BYTES - (await sizeOf(this.#file))
  }

  /** Whether something can be written, whatever the volume says of its room. */
  async findsRoom(): Promise<boolean> {
    const written = await append(this.#probe, PROBE_BYTES)
    await rm(this.#probe, { force: true })
    return written === PROBE_BYTES
  }
}

/** @returns how much there was room for */
async function append(file: string, bytes: number): Promise<number> {
  let written = 0
  try {
    const handle = await open(file, 'a', 0o600)
    try {
      // Bytes that no file system can keep in less room than they take.
      for (; written < bytes; written += PART_BYTES) {
        await handle.writeFile(randomBytes(Math.min(PART_BYTES, bytes - written)))
      }
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (!isNoRoom(error)) throw error
  }
  return Math.min(written, bytes)
}

async function sizeOf(file: string): Promise<number> {
  const stats = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
  return stats?.size ?? 0
}
