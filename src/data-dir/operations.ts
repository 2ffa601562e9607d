// What operator commands work with while no service runs: the core, without the service's HTTP
// side, whose libraries would take most of such a command's time.

import { setTimeout } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Core, System } from '../core/open-core.ts'
import { createOperations } from '../commands/operations.ts'
import type { Operations } from '../commands/operations.ts'
import { openOwn } from './open-own.ts'

const LOOK_EVERY_MS = 50

/** The operators' operations, in this process, while no service runs. Owns DATA_DIR. */
export async function openOperations(
  config: Config,
  of: Pick<System, 'startThread'> = {},
): Promise<{ operations: Operations; close(): Promise<void> }> {
  const core = await openOwn(config, of)
  const operations = createOperations(core, config)
  let hasImported = false
  let forwarder: Core | undefined
  const close = async () => {
    const isEmbedded = config.database === undefined && config.influx === undefined
    if (hasImported && isEmbedded) await untilForwarded(core)
    await forwarder?.close()
    await core.close()
  }
  return {
    operations: {
      ...operations,
      importMeasurements: async (order) => {
        hasImported = true
        // What is compared has to be readable: in a database maybe nobody else forwards.
        const isCompared = order.equalsBefore.some((count) => count !== null)
        if (isCompared && config.database !== undefined) {
          forwarder ??= await openOwn(config, { isForwarding: true })
        }
        return operations.importMeasurements(order)
      },
    },
    close,
  }
}

/** What the store does not take now, the next start brings it. */
async function untilForwarded({ progress, isStoreWorking }: Core): Promise<void> {
  while (isStoreWorking() && progress.backlog().entries > 0) await setTimeout(LOOK_EVERY_MS)
}
