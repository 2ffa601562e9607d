// The command line: all verbs. Exit codes: 0 done, 1 failed, 2 wrong usage or settings.

import { Command } from 'commander'
import type { Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { addBackupCommands } from './backup.ts'
import { addDatabaseCommands } from './database.ts'
import { addExportCommand } from './export.ts'
import { addImportCommand } from './import.ts'
import { addJournalCommands } from './journal.ts'
import { addRefusedCommands } from './refused.ts'
import { DONE, report } from './report.ts'
import { addSensorCommands } from './sensor.ts'
import { addServeCommand } from './serve.ts'
import { addStoreCommands } from './store.ts'
import { addTokenCommands } from './token.ts'
import { addUserCommands } from './user.ts'
import { addVerifyCommand } from './verify.ts'

/**
 * Runs one command.
 *
 * @param args what comes after `thermolog`
 * @returns the exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  process.stdout.on('error', endOfReader)
  const program = createProgram()
  try {
    await program.parseAsync(args, { from: 'user' })
    return DONE
  } catch (error) {
    return report(error, program, args)
  }
}

function createProgram(): Command {
  const program = new Command('thermolog')
    .description('Collects and stores readings from temperature sensors.')
    .version(manifest.version)
    .configureHelp({ optionDescription: describeOption })
    // Failures are reported in one place, see report.ts.
    .configureOutput({ outputError: () => undefined })
    .exitOverride()
  addServeCommand(program)
  addUserCommands(program)
  addTokenCommands(program)
  addSensorCommands(program)
  addImportCommand(program)
  addExportCommand(program)
  addBackupCommands(program)
  addJournalCommands(program)
  addRefusedCommands(program)
  addStoreCommands(program)
  addVerifyCommand(program)
  addDatabaseCommands(program)
  return program
}

function describeOption({ description, mandatory }: Option): string {
  return mandatory ? `${description} (required)` : description
}

/** Whoever reads our output may stop early, as `head` does. */
function endOfReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}
