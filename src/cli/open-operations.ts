// Gives commands access to the operations: the running service carries them out or, if none runs,
// this process, which then locks DATA_DIR as long as the command takes.

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
 * Opens the operations for one task and closes them afterwards.
 *
 * @param read `readSettings` for commands that may start a new DATA_DIR
 */
export async function withOperations<T>(
  work: (operations: Operations) => Promise<T>,
  read: () => Promise<Config> = readSettingsWithData,
): Promise<T> {
  const config = await read()
  const client = config.database === undefined ? await connectService(config) : undefined
  const opened = client ?? (await openHere(config))
  try {
    return await work(opened.operations)
  } finally {
    await opened.close()
  }
}

/**
 * The service running on DATA_DIR.
 *
 * @returns `undefined` if none runs, or none that could create a socket
 * @throws OperationError if there is a socket that cannot be opened
 */
export async function connectService({ dataDir }: Config): Promise<OperationsClient | undefined> {
  try {
    return await connectOperations(operationsSocketPath(dataDir))
  } catch (error) {
    // The path may be too long from here although the service, started elsewhere, could use it.
    const isTooLong = error instanceof OperationError && error.failure.kind === 'usage'
    if (isTooLong && !existsSync(join(dataDir, SOCKET_FILE))) return undefined
    throw error
  }
}

async function openHere(config: Config) {
  // Most commands find a running service and need none of this.
  const { openOperations } = await import('../data-dir/operations.ts')
  return openOperations(config)
}
