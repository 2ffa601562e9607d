// How many files, and so connections, this process may have open. Node itself raises the limit as
// far as it may when it starts.

import { readFileSync } from 'node:fs'

const LIMITS_FILE = '/proc/self/limits'

/** The limit, `Infinity` where it cannot be known. */
export function openFilesMax(): number {
  try {
    const [, softLimit] = /^Max open files +(\d+)/m.exec(readFileSync(LIMITS_FILE, 'utf8')) ?? []
    return softLimit === undefined ? Infinity : Number(softLimit)
  } catch (error) {
    // Other systems than Linux have no such file.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Infinity
    throw error
  }
}
