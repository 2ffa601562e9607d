// The server of DATABASE_URL, for commands: whether it is safe to use, and its tables brought up to
// date.

import type { DatabaseConfig } from '../config.ts'
import { failed } from '../operations/operations.ts'
import type { WorkProgress } from '../ports/system.ts'
import { withConnection } from '../postgres/server/connection.ts'
import { migrate, readSchemaState, spreadDatabase } from '../postgres/server/migrate.ts'
import { checkServer } from '../postgres/server/server-check.ts'
import { CannotSpread } from '../postgres/server/spread-tables.ts'
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

/** What a migration has done. */
interface Migrated {
  /** The versions of the schema that were applied. */
  readonly versions: readonly number[]
  /** Whether tables that held data were spread over machines. */
  readonly isSpread: boolean
}

/** @throws OperationError */
export function migrateDatabase(
  { url }: DatabaseConfig,
  progress: WorkProgress,
): Promise<Migrated> {
  return orFailed(async () => {
    const versions = await migrate(url)
    return { versions, isSpread: await spreadDatabase(url, progress) }
  })
}

/** Whether there is anything in the database. */
export async function hasSchema(databaseUrl: string): Promise<boolean> {
  return withConnection(databaseUrl, async (client) => (await readSchemaState(client)).version > 0)
}

async function orFailed<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CannotSpread) throw failed(error.message, error.remedy, { cause: error })
    const reason = error instanceof Error ? error.message : String(error)
    throw failed(`the database of DATABASE_URL cannot be used: ${reason}`)
  }
}
