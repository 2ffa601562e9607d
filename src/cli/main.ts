// The command line: all verbs. Exit codes: 0 done, 1 failed, 2 wrong usage or settings.

import { Command } from 'commander'
import type { Option } from 'commander'
import { DONE, FAILED, report } from './report.ts'
import { say } from './say.ts'
import { asTypedHere } from './terminal/print.ts'
import { versionText } from './version.ts'

interface CommandFile {
  addCommands(program: Command): void
}

/** The files of commands by their first word; loading them all takes longer than most commands. */
const FILES: ReadonlyMap<string, () => Promise<CommandFile>> = new Map([
  ['serve', () => import('./serve.ts')],
  ['user', () => import('./user.ts')],
  ['token', () => import('./token.ts')],
  ['sensor', () => import('./sensor.ts')],
  ['import', () => import('./import.ts')],
  ['export', () => import('./export.ts')],
  ['backup', () => import('./backup.ts')],
  ['restore', () => import('./backup.ts')],
  ['journal', () => import('./journal.ts')],
  ['refused', () => import('./refused.ts')],
  ['move', () => import('./move.ts')],
  ['verify', () => import('./verify.ts')],
  ['doctor', () => import('./doctor.ts')],
  ['database', () => import('./database.ts')],
  ['clock', () => import('./clock.ts')],
])

/**
 * Runs one command.
 *
 * @param args what comes after `thermolog`
 * @returns the exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  process.stdout.on('error', endOfReader)
  // Asking Git takes longer than most commands.
  const isAsked = args[0] === '--version' || args[0] === '-V'
  const program = createProgram(isAsked ? versionText() : '')
  try {
    await addCommands(program, args[0])
    await program.parseAsync(upToUnknown(program, args), { from: 'user' })
    return DONE
  } catch (error) {
    return report(error, program, args)
  }
}

/** Every command, for those who describe them. */
export async function allCommands(): Promise<Command> {
  const program = createProgram('')
  await addCommands(program)
  return program
}

function createProgram(version: string): Command {
  return new Command('thermolog')
    .description('Collects and stores readings from temperature sensors.')
    .version(version, '-V, --version', 'print version and commit')
    .configureHelp({ optionDescription: describeOption })
    .configureOutput({
      writeOut: (text) => process.stdout.write(asTypedHere(text)),
      writeErr: (text) => process.stderr.write(asTypedHere(text)),
      // Failures are reported in one place, see report.ts.
      outputError: () => undefined,
    })
    .exitOverride()
}

/** Without what follows a command that does not exist: `--help` is not for the one around it. */
function upToUnknown({ commands }: Command, args: readonly string[]): readonly string[] {
  const [first = '-', ...rest] = args
  const inner = commands.find((command) => command.name() === first)
  if (inner !== undefined) return [first, ...upToUnknown(inner, rest)]
  return commands.length === 0 || /^-|^help$/.test(first) ? args : [first]
}

async function addCommands(program: Command, first = ''): Promise<void> {
  const wanted = FILES.get(first)
  const loads = wanted === undefined ? [...FILES.values()] : [wanted]
  const files = new Set(await Promise.all(loads.map((load) => load())))
  for (const file of files) file.addCommands(program)
}

function describeOption({ description, mandatory }: Option): string {
  return mandatory ? `${description} (required)` : description
}

/** Whoever reads our output may stop early, as `head` does; a full disk is said once. */
function endOfReader(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE' || process.exitCode === FAILED) return
  process.exitCode = FAILED
  say(`cannot write to standard output: ${error.message}`, 'error')
}
