// Which engine has the data: a database where one is set, else DATA_DIR.

import type { Config } from '../config.ts'
import type { Clock, Log } from '../ports/system.ts'
import { openCore } from './open-core.ts'
import type { Core } from './open-core.ts'

interface System {
  readonly clock: Clock
  readonly log: Log
  /** With a database, commands leave forwarding to the service. */
  readonly isForwarding: boolean
}

/** @throws UnfitSettings @throws UnfitDataDir */
export async function openEngine(config: Config, system: System): Promise<Core> {
  const { database } = config
  if (database === undefined) return openCore(config, system)
  // The driver of PostgreSQL is loaded only where it is used.
  const { openPostgresCore } = await import('./open-postgres.ts')
  return openPostgresCore({ ...config, database }, system)
}
