// How a command gets at the operations: carried out by the running service, or, when none runs, in
// this process, which then holds DATA_DIR for itself as long as it takes.

import { loadConfig, readEnvironment } from '../config.ts'
import type { Config } from '../config.ts'
import type { Operations } from '../operations/operations.ts'
import { operationsSocketPath } from '../operations/socket-path.ts'
import { connectOperations } from './operations-client.ts'

/** Opens the operations for one piece of work and closes them after it. */
export async function withOperations<T>(work: (operations: Operations) => Promise<T>): Promise<T> {
  const config = loadConfig(readEnvironment())
  const client = await connectOperations(operationsSocketPath(config.dataDir))
  const opened = client ?? (await openHere(config))
  try {
    return await work(opened.operations)
  } finally {
    await opened.close()
  }
}

async function openHere(config: Config) {
  // Most commands find a service running and never need all of this.
  const { openOperations } = await import('../compose-operations.ts')
  return openOperations(config)
}
