// Error messages in one form, whether Commander, the settings, an operation or the system has
// failed. The first line says what is wrong, the next what to do about it.

import { CommanderError } from 'commander'
import type { Command } from 'commander'
import { ConfigError } from '../config-settings.ts'
import { UnfitSettings } from '../config.ts'
import { OtherFormat } from '../domain/errors.ts'
import { failureOf } from '../operations/operations.ts'
import { UnfitDataDir } from '../system/data-dir.ts'
import { say } from './say.ts'
import { asTypedHere } from './terminal/print.ts'

export const DONE = 0
export const FAILED = 1
const WRONG_USAGE = 2

/**
 * Prints on standard error why a command has failed.
 *
 * @param args what was typed
 * @returns the exit code
 */
export function report(error: unknown, program: Command, args: readonly string[]): number {
  if (error instanceof CommanderError) return reportUsage(error, program, args)
  if (isOfSettings(error)) return fail(error.message, WRONG_USAGE)
  const failure = failureOf(error)
  if (failure === undefined) return fail(describe(error), FAILED)
  const hint = failure.hint === undefined ? '' : `\n${failure.hint}`
  return fail(`${failure.message}${hint}`, failure.kind === 'usage' ? WRONG_USAGE : FAILED)
}

function reportUsage(error: CommanderError, program: Command, args: readonly string[]): number {
  // Help and version have been printed.
  if (error.exitCode === 0) return DONE
  if (error.code === 'commander.help') return WRONG_USAGE
  const [message = '', guess = ''] = error.message.replace(/^error: /, '').split('\n')
  const command = pathOf(program, args).join(' ')
  return fail(
    `${message}\n${guess.replace(/^\((.*)\)$/, '$1 ')}See ${command} --help.`,
    WRONG_USAGE,
  )
}

/** The names of the commands in the arguments, as far as they exist. */
function pathOf(program: Command, args: readonly string[]): string[] {
  const [first, ...rest] = args
  const inner = program.commands.find((command) => command.name() === first)
  return [program.name(), ...(inner === undefined ? [] : pathOf(inner, rest))]
}

function isOfSettings(error: unknown): error is Error {
  return [ConfigError, UnfitSettings, UnfitDataDir, OtherFormat].some(
    (kind) => error instanceof kind,
  )
}

/** The stack trace matters only for our own bugs. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isOurs = error instanceof TypeError || error.message.startsWith('BUG')
  return isOurs ? (error.stack ?? error.message) : error.message
}

function fail(message: string, exitCode: number): number {
  say(asTypedHere(message), 'error')
  return exitCode
}
