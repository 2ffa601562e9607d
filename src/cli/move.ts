// `thermolog move`: moves a DATA_DIR into a database, which any number of processes can work on.

import type { Command } from 'commander'
import { FormError, readDatabaseUrl } from '../config-values.ts'
import type { MoveOutcome } from '../data-dir/move-to-database.ts'
import { usage } from '../operations/operations.ts'
import { example } from './arguments.ts'
import { readSettingsOfDataDir } from './read-settings.ts'
import { StepProgress } from './terminal/step-progress.ts'
import { counted, printText } from './terminal/print.ts'

export function addCommands(program: Command): void {
  program
    .command('move')
    .description('move a stopped DATA_DIR into an empty PostgreSQL database')
    .requiredOption('--to <url>', 'the database, as in DATABASE_URL', readTarget)
    .action(move)
    .addHelpText(
      'after',
      '\nIf it is interrupted, run it again: it begins anew. At the end it compares both sides;' +
        '\nthen DATA_DIR is closed and the database can be used.' +
        `\n${example('thermolog move --to postgresql://thermolog@db/thermolog')}`,
    )
}

async function move({ to: url }: { readonly to: string }): Promise<void> {
  const config = await readSettingsOfDataDir()
  const { moveToDatabase } = await import('../data-dir/move-to-database.ts')
  const durability = config.database?.durability ?? 'local'
  const progress = new StepProgress()
  try {
    const to = { url, durability }
    const outcome = await moveToDatabase({ ...config, database: undefined }, to, progress)
    progress.end()
    sayMoved(outcome)
  } finally {
    progress.end()
  }
}

function sayMoved({ database, rows }: MoveOutcome): void {
  const { measurements, ledger = 0, sensors = 0, users = 0 } = rows
  if (measurements !== undefined) {
    const owners = `${counted(users, 'user')}, ${counted(sensors, 'sensor')}`
    const events = `${counted(measurements, 'measurement')} and ${counted(ledger, 'event id')}`
    printText(`moved ${owners}, ${events}; both sides have been compared`)
  }
  printText(`the data are in ${database} now: set DATABASE_URL to it; DATA_DIR is closed`)
}

function readTarget(text: string): string {
  try {
    return readDatabaseUrl(text)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    // It may have a password.
    throw usage(`--to ${error.message}`)
  }
}
