// Secrets that are not in the environment itself: in a file that `<NAME>_FILE` names, or a
// credential of the plain name that systemd hands over.

import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'

const SECRET = /^(INFLUX_TOKEN|METRICS_TOKEN|DATABASE_URL|IDP_.+_CLIENT_SECRET)$/
const BYTES_MAX = 64 * 1024

/** A file that cannot be a secret; the message names it. */
export class SecretFault extends Error {}

/** Whether the value of a setting is never shown and may be in a file. */
export function isSecret(key: string): boolean {
  return SECRET.test(key)
}

/**
 * The text of a file or pipe without the line break at its end.
 *
 * @throws SecretFault if it cannot be read, is empty or larger than 64 KiB
 */
export function readSecret(path: string): string {
  const text = orFault(path, () => readText(path)).replace(/\r?\n$/, '')
  if (text === '') throw new SecretFault(`${path} is empty`)
  return text
}

/** @param folder `$CREDENTIALS_DIRECTORY` @returns `undefined`: there is no such credential */
export function readCredential(folder: string | undefined, key: string): string | undefined {
  if (folder === undefined) return undefined
  const path = join(folder, key)
  const isThere = orFault(path, () => statSync(path, { throwIfNoEntry: false })) !== undefined
  return isThere ? readSecret(path) : undefined
}

/** Reads to the end once: a pipe has nothing for a second reader. */
function readText(path: string): string {
  const stats = statSync(path)
  if (!stats.isFile() && !stats.isFIFO()) throw new SecretFault(`${path} is not a file`)
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(BYTES_MAX + 1)
    let length = 0
    for (let count = 1; count > 0 && length < bytes.length; length += count) {
      count = readSync(file, bytes, length, bytes.length - length, null)
    }
    if (length > BYTES_MAX) throw new SecretFault(`${path} is larger than 64 KiB`)
    return bytes.toString('utf8', 0, length)
  } finally {
    closeSync(file)
  }
}

function orFault<Result>(path: string, read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new SecretFault(`${path} cannot be read (${code})`, { cause: error })
  }
}
