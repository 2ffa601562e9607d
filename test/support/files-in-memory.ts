// Where tests keep their files: most of what the file system of a disk does for them is for files
// that are gone at once.

import { statfsSync } from 'node:fs'

const FOLDER = '/dev/shm'
/** What a run takes at most, and room for others. */
const FREE_BYTES_MIN = 8 * 2 ** 30

/** Has tests make their files in memory where there is room, unless TMPDIR names a place. */
export function keepFilesInMemory(): void {
  if (process.env['TMPDIR'] !== undefined || freeBytes() < FREE_BYTES_MIN) return
  process.env['TMPDIR'] = FOLDER
}

function freeBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(FOLDER)
    return Math.min(bavail * bsize, process.availableMemory())
  } catch {
    return 0
  }
}
