// `thermolog store`: where measurements are kept.

import type { Command } from 'commander'
import { grouped } from '../domain/grouped.ts'
import type { CopyOutcome } from '../operations/copy-store.ts'
import { OperationError } from '../operations/operations.ts'
import { example } from './arguments.ts'
import { connectService, onceFree } from './open-operations.ts'
import { StepProgress } from './terminal/step-progress.ts'
import { readSettingsOfFiles, readSettingsWithData } from './read-settings.ts'
import { printText } from './terminal/print.ts'

/** Where a database has the data. */
const INSTEAD = 'With a database, the first start decides: INFLUX_*, or the database.'

export function addCommands(program: Command): void {
  const store = program
    .command('store')
    .description('move measurements to another store')
    .addHelpText('after', example('thermolog store copy'))
  store
    .command('copy')
    .description('move all measurements from the embedded store to the InfluxDB of INFLUX_*')
    .addHelpText('after', example('thermolog store copy'))
    .action(copy)
}

async function copy(): Promise<void> {
  const config = await readSettingsOfFiles(readSettingsWithData, INSTEAD)
  const { copyForNow, moveStore } = await import('../data-dir/copy-to-influx.ts')
  const progress = new StepProgress()
  try {
    const { isServiceRunning, outcome, storeName } = await onceFree(async () => {
      const service = await connectService(config)
      await service?.close()
      const copyAll = service === undefined ? moveStore : copyForNow
      return { isServiceRunning: service !== undefined, ...(await copyAll(config, progress)) }
    })
    progress.end()
    if (outcome === undefined) printText(`DATA_DIR already uses ${storeName}: nothing to copy`)
    else if (isServiceRunning) throw lastPassIsMissing(outcome)
    else sayMoved(outcome, storeName)
  } finally {
    progress.end()
  }
}

function sayMoved(outcome: CopyOutcome, storeName: string): void {
  printText(`${described(outcome)}; the counts of every sensor and day match`)
  printText(`DATA_DIR uses ${storeName} from now on; measurements.db is unchanged`)
}

function lastPassIsMissing(outcome: CopyOutcome): OperationError {
  return new OperationError({
    kind: 'failed',
    message: `${described(outcome)}, but the running service accepts more`,
    hint: 'Stop the service and run the command again: it then copies only what is missing.',
  })
}

function described({ measurements, written }: CopyOutcome): string {
  const copied = `${grouped(written)} of them copied now`
  return `${grouped(measurements)} measurements are in InfluxDB, ${copied}`
}
