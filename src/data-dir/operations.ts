// What operator commands work with while no service runs: the core, without the service's HTTP
// side, whose libraries would take most of such a command's time.

import type { Config } from '../config.ts'
import { createOperations } from '../operations/create-operations.ts'
import type { Operations } from '../operations/operations.ts'
import { systemClock } from '../system/clock.ts'
import { openOwn } from './open-own.ts'

/** The operators' operations, in this process, while no service runs. Owns DATA_DIR. */
export async function openOperations(
  config: Config,
): Promise<{ operations: Operations; close(): Promise<void> }> {
  const core = await openOwn(config)
  const operations = createOperations({ ...core, clock: systemClock }, config)
  return { operations, close: core.close }
}
