// Where a running service takes operations: a unix socket in DATA_DIR, which its owner alone can
// open.

import { join, relative, resolve } from 'node:path'
import { OperationError } from '../operations/failure.ts'

export const SOCKET_FILE = 'thermolog.sock'

/** The kernel keeps a socket's path in 108 bytes with a final zero. */
const PATH_BYTES_MAX = 107

/**
 * The shorter of the absolute path and the one from the working directory.
 *
 * @throws OperationError when both are longer than a socket's path may be
 */
export function operationsSocketPath(dataDir: string): string {
  const absolute = resolve(dataDir, SOCKET_FILE)
  const fromHere = join(relative('', resolve(dataDir)) || '.', SOCKET_FILE)
  const path = Buffer.byteLength(fromHere) < Buffer.byteLength(absolute) ? fromHere : absolute
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return path
  throw new OperationError({
    kind: 'usage',
    message: `the path of DATA_DIR is too long for a socket: ${absolute}`,
    hint: `At most ${PATH_BYTES_MAX} bytes: start from a directory near it, or use a shorter one.`,
  })
}
