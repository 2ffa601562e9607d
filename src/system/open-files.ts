// How many files, and thus connections, this process may have open. Node raises the limit as far as
// allowed when it starts.

import { readFileSync } from 'node:fs'

const LIMITS_FILE = '/proc/self/limits'

/** The limit, `Infinity` if unknown. */
export function openFilesMax(): number {
  try {
    const [, softLimit] = /^Max open files +(\d+)/m.exec(readFileSync(LIMITS_FILE, 'utf8')) ?? []
    return softLimit === undefined ? Infinity : Number(softLimit)
  } catch (error) {
    // Only Linux has this file.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Infinity
    throw error
  }
}
