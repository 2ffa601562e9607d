// The server of DATABASE_URL, for commands: whether it is safe to use, and its tables brought up to
// date.

import type { DatabaseConfig } from '../config.ts'
import { failed } from '../operations/failure.ts'
import { withConnection } from '../postgres/server/connection.ts'
import { migrate, readSchemaState } from '../postgres/server/migrate.ts'
import { checkServer } from '../postgres/server/server-check.ts'
import type { ServerState } from '../postgres/server/server-check.ts'
import { countingFault } from '../postgres/stream/counting-check.ts'

/**
 * All that a start of the service checks, changing nothing.
 *
 * @throws OperationError if the server is out of reach
 */
export function checkDatabase({ url, durability }: DatabaseConfig): Promise<ServerState> {
  return orFailed(async () => {
    const state = await checkServer(url, durability)
    const counting = await countingFault(url)
    return counting === undefined ? state : { ...state, faults: [...state.faults, counting] }
  })
}

/** @returns the versions of the schema that were applied @throws OperationError */
export function migrateDatabase({ url }: DatabaseConfig): Promise<readonly number[]> {
  return orFailed(() => migrate(url))
}

/** Whether there is anything in the database. */
export async function hasSchema(databaseUrl: string): Promise<boolean> {
  return withConnection(databaseUrl, async (client) => (await readSchemaState(client)).version > 0)
}

async function orFailed<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw failed(`the database of DATABASE_URL cannot be used: ${reason}`)
  }
}
