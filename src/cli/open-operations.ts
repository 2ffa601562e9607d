// How a command gets at the operations: carried out by the running service, or, when none runs, in
// this process, which then holds DATA_DIR for itself as long as it takes.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { Operations } from '../operations/operations.ts'
import { OperationError } from '../operations/operations.ts'
import { operationsSocketPath, SOCKET_FILE } from '../socket/path.ts'
import { connectOperations } from '../socket/client.ts'
import type { OperationsClient } from '../socket/client.ts'
import { readSettingsWithData } from './read-settings.ts'

/**
 * Opens the operations for one piece of work and closes them after it.
 *
 * @param read `readSettings` for what may be the first of all data
 */
export async function withOperations<T>(
  work: (operations: Operations) => Promise<T>,
  read: () => Promise<Config> = readSettingsWithData,
): Promise<T> {
  const config = await read()
  const client = await connectService(config)
  const opened = client ?? (await openHere(config))
  try {
    return await work(opened.operations)
  } finally {
    await opened.close()
  }
}

/**
 * The service that runs on DATA_DIR.
 *
 * @returns `undefined` when none does, or none that could make a socket
 * @throws OperationError when there is a socket that cannot be opened
 */
export async function connectService({ dataDir }: Config): Promise<OperationsClient | undefined> {
  try {
    return await connectOperations(operationsSocketPath(dataDir))
  } catch (error) {
    // Where its path is too long from here, the service may have been started from nearer to it.
    const isTooLong = error instanceof OperationError && error.failure.kind === 'usage'
    if (isTooLong && !existsSync(join(dataDir, SOCKET_FILE))) return undefined
    throw error
  }
}

async function openHere(config: Config) {
  // Most commands find a service running and never need all of this.
  const { openOperations } = await import('../data-dir/operations.ts')
  return openOperations(config)
}
