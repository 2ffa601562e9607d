// Error messages in one form, whether Commander, the settings, an operation or the system has
// failed. The first line says what is wrong, the next what to do about it.

import { CommanderError } from 'commander'
import type { Command } from 'commander'
import { ConfigError } from '../config-settings.ts'
import { UnfitSettings } from '../config.ts'
import { OtherFormat } from '../domain/errors.ts'
import { failureOf } from '../operations/failure.ts'
import { UnfitDataDir } from '../system/data-dir.ts'
import { asTypedHere } from './terminal/terminal.ts'
import type { Terminal } from './terminal/terminal.ts'

export const DONE = 0
export const FAILED = 1
const WRONG_USAGE = 2

interface Failed {
  readonly terminal: Terminal
  readonly program: Command
  /** What was typed. */
  readonly args: readonly string[]
}

/**
 * Says on standard error why a command has failed.
 *
 * @returns the exit code
 */
export function report(error: unknown, of: Failed): number {
  if (error instanceof CommanderError) return reportUsage(error, of)
  const { terminal } = of
  if (isOfSettings(error)) return fail(terminal, error.message, WRONG_USAGE)
  const failure = failureOf(error)
  if (failure === undefined) return fail(terminal, describe(error), FAILED)
  const hint = failure.hint === undefined ? '' : `\n${failure.hint}`
  const exitCode = failure.kind === 'usage' ? WRONG_USAGE : FAILED
  return fail(terminal, `${failure.message}${hint}`, exitCode)
}

function reportUsage(error: CommanderError, { terminal, program, args }: Failed): number {
  // Help and version have been printed.
  if (error.exitCode === 0) return DONE
  if (error.code === 'commander.help') return WRONG_USAGE
  const [message = '', guess = ''] = error.message.replace(/^error: /, '').split('\n')
  const see = `See ${pathOf(program, args).join(' ')} --help.`
  return fail(terminal, `${message}\n${guess.replace(/^\((.*)\)$/, '$1 ')}${see}`, WRONG_USAGE)
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

function fail(terminal: Terminal, message: string, exitCode: number): number {
  terminal.say(asTypedHere(message), 'error')
  return exitCode
}
