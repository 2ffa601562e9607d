// What operator commands work with while no service runs: the core, without the service's HTTP
// side, whose libraries would take most of such a command's time.

import { openCore } from '../core/open-core.ts'
import type { Config } from '../config.ts'
import { createOperations } from '../operations/create-operations.ts'
import type { Operations } from '../operations/operations.ts'
import { systemClock } from '../system/clock.ts'
import { createLog, standardError } from '../system/log.ts'

/** The operators' operations, in this process, while no service runs. Owns DATA_DIR. */
export async function openOperations(
  config: Config,
): Promise<{ operations: Operations; close(): Promise<void> }> {
  const clock = systemClock
  const log = createLog(clock, { level: 'error', component: 'command' }, standardError)
  // Its threads would log to standard output, which belongs to the command.
  const core = await openCore({ ...config, logLevel: 'silent' }, { clock, log })
  const operations = createOperations({ ...core, clock }, config)
  return { operations, close: core.close }
}
