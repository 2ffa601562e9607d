// The command line: verbs, and what a failure looks like. Exit codes: 0 done, 1 failed, 2 wrong
// usage or settings.

import { Command, CommanderError } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { ConfigError, UnfitSettings } from '../config.ts'
import { failureOf } from '../operations/failure.ts'
import { addBackupCommands } from './backup.ts'
import { addExportCommand } from './export.ts'
import { addImportCommand } from './import.ts'
import { addJournalCommands } from './journal.ts'
import { addSensorCommands } from './sensor.ts'
import { addServeCommand } from './serve.ts'
import { addStoreCommands } from './store.ts'
import { addTokenCommands } from './token.ts'
import { addUserCommands } from './user.ts'
import { addVerifyCommand } from './verify.ts'

const DONE = 0
const FAILED = 1
const WRONG_USAGE = 2

/**
 * Runs one command.
 *
 * @param args what comes after `thermolog`
 * @returns the exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  process.stdout.on('error', endOfReader)
  try {
    await createProgram().parseAsync(args, { from: 'user' })
    return DONE
  } catch (error) {
    return report(error)
  }
}

function createProgram(): Command {
  const program = new Command('thermolog')
    .description('Time-series ingestion for temperature sensors.')
    .version(manifest.version)
    .showHelpAfterError('(see --help)')
    .exitOverride()
  addServeCommand(program)
  addUserCommands(program)
  addTokenCommands(program)
  addSensorCommands(program)
  addImportCommand(program)
  addExportCommand(program)
  addBackupCommands(program)
  addJournalCommands(program)
  addStoreCommands(program)
  addVerifyCommand(program)
  return program
}

function report(error: unknown): number {
  // Commander has said what is wrong already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : WRONG_USAGE
  if (error instanceof ConfigError || error instanceof UnfitSettings) {
    return say(error.message, WRONG_USAGE)
  }
  const failure = failureOf(error)
  if (failure === undefined) return say(describe(error), FAILED)
  const hint = failure.hint === undefined ? '' : `\n${failure.hint}`
  return say(`${failure.message}${hint}`, failure.kind === 'usage' ? WRONG_USAGE : FAILED)
}

/** Where it happened matters only of what is a fault of ours. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isOurs = error instanceof TypeError || error.message.startsWith('BUG')
  return isOurs ? (error.stack ?? error.message) : error.message
}

function say(message: string, exitCode: number): number {
  process.stderr.write(`thermolog: ${message}\n`)
  return exitCode
}

/** Whoever reads our output may stop early, like `head` does. */
function endOfReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}
