// Reads a secret that is in a file or pipe instead of the environment.

import { closeSync, openSync, readSync, statSync } from 'node:fs'

const BYTES_MAX = 64 * 1024

/**
 * The text of a file or pipe without the line break at its end. It is read once: a pipe has nothing
 * for a second reader.
 *
 * @throws Error that says what is wrong with it, if it is not one with a text of at most 64 KiB
 */
export function readSecret(path: string): string {
  const stats = statSync(path)
  if (!stats.isFile() && !stats.isFIFO()) throw new Error('is not a file')
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(BYTES_MAX + 1)
    let length = 0
    for (let count = 1; count > 0 && length < bytes.length; length += count) {
      count = readSync(file, bytes, length, bytes.length - length, null)
    }
    if (length > BYTES_MAX) throw new Error('is larger than 64 KiB')
    const text = bytes.toString('utf8', 0, length).replace(/\r?\n$/, '')
    if (text === '') throw new Error('is empty')
    return text
  } finally {
    closeSync(file)
  }
}
