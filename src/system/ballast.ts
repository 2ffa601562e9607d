// A few megabytes reserved in DATA_DIR for emergencies. SQLite cannot even open its files without
// space for its logs and their indexes: on a full disk a service that has to restart could not
// start, and nobody could read the data. It then releases the ballast, reserves at once what is
// left of it, and the rest as soon as there is space.
//
// If it is killed at any point, the ballast is shorter, and the next check completes it.

import { randomBytes } from 'node:crypto'
import { open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readDiskSpace } from './disk.ts'

const BALLAST_BYTES = 4 * 2 ** 20
/** The most that a group of submissions takes. */
const PROBE_BYTES = 2 ** 20
const PART_BYTES = 64 * 2 ** 10

/** Whether a write failed for lack of space, or because of a quota. */
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

  /** What was missing when it was last reserved. */
  get missingBytes(): number {
    return this.#missingBytes
  }

  /** Releases it if there is less free space than its own size. */
  async giveUpIfFull(): Promise<void> {
    const { freeBytes } = await readDiskSpace(this.#dataDir)
    if (freeBytes < BALLAST_BYTES) await rm(this.#file, { force: true })
  }

  /** Reserves as much of it as there is space for. */
  async take(): Promise<void> {
    this.#missingBytes = BALLAST_BYTES - (await sizeOf(this.#file))
    if (this.#missingBytes <= 0) return
    await append(this.#file, this.#missingBytes)
    this.#missingBytes = BALLAST_BYTES - (await sizeOf(this.#file))
  }

  /** Whether something can be written, whatever the volume reports as free. */
  async findsRoom(): Promise<boolean> {
    const written = await append(this.#probe, PROBE_BYTES)
    await rm(this.#probe, { force: true })
    return written === PROBE_BYTES
  }
}

/** @returns how much there was space for */
async function append(file: string, bytes: number): Promise<number> {
  let written = 0
  try {
    const handle = await open(file, 'a', 0o600)
    try {
      // Bytes that no file system can compress.
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
