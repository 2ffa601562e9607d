// The command line: all commands. Exit codes: 0 done, 1 failed, 2 wrong usage or settings.

import type { Command } from 'commander'
import { addCommand, addGroup, createProgram } from './command-line.ts'
import { carryOut } from './local-command.ts'
import type { LocalCommand } from './local-command.ts'
import { carryOutByService } from './operator-command.ts'
import type { OperatorRow } from './operator-command.ts'
import { DONE, FAILED, report } from './report.ts'
import { Terminal } from './terminal/terminal.ts'
import type { Io } from './terminal/terminal.ts'
import { versionText } from './version.ts'

interface Group {
  readonly help: string
  readonly example: string
}

/** Commands with the same first word; loading them all takes longer than most of them. */
interface Words {
  /** Where there is a second word. */
  readonly group?: Group
  readonly local?: () => Promise<{ readonly commands: readonly LocalCommand[] }>
  /** For a service to carry out. */
  readonly ofOperators?: () => Promise<{ readonly commands: readonly OperatorRow[] }>
}

const DATABASE = 'DATABASE_URL=postgresql://thermolog@db/thermolog thermolog database check'

const WORDS: Readonly<Record<string, Words>> = {
  serve: { local: () => import('./serve.ts') },
  user: {
    group: { help: 'manage users', example: 'thermolog user create --email a@example.org' },
    ofOperators: () => import('../commands/users.ts'),
  },
  token: {
    group: { help: 'manage daemon tokens', example: 'thermolog token list --user a@example.org' },
    ofOperators: () => import('../commands/tokens.ts'),
  },
  sensor: {
    group: { help: 'manage sensors', example: 'thermolog sensor list --user a@example.org' },
    ofOperators: () => import('../commands/sensors.ts'),
  },
  import: { local: () => import('./import.ts') },
  export: { local: () => import('./export.ts') },
  backup: { local: () => import('./backup.ts') },
  restore: { local: () => import('./restore.ts') },
  journal: {
    group: {
      help: 'handle measurements set aside because the store would not take them',
      example: 'thermolog journal list',
    },
    ofOperators: () => import('../commands/set-aside.ts'),
  },
  refused: {
    group: {
      help: 'handle lines and elements of batches that the service has refused',
      example: 'thermolog refused list',
    },
    ofOperators: () => import('../commands/refused.ts'),
  },
  move: { local: () => import('./move.ts') },
  verify: { local: () => import('./verify.ts') },
  doctor: { local: () => import('./doctor.ts') },
  database: {
    group: {
      help: 'look after a database in PostgreSQL, or the files in DATA_DIR',
      example: DATABASE,
    },
    local: () => import('./database.ts'),
  },
  clock: {
    group: {
      help: 'look after the clock that times of receipt are taken from',
      example: 'thermolog clock accept',
    },
    ofOperators: () => import('../commands/clock.ts'),
  },
}

/**
 * Runs one command. It leaves nothing behind in the process but the umask of a DATA_DIR that it has
 * opened, so several may run at a time.
 *
 * @param args what comes after `thermolog`
 * @param io `process`, or what a caller gives instead
 * @returns the exit code
 */
export async function main(args: readonly string[], io: Io): Promise<number> {
  const terminal = new Terminal(io)
  // Asking Git takes longer than most commands.
  const isAsked = args[0] === '--version' || args[0] === '-V'
  const program = createProgram(terminal, isAsked ? versionText() : '')
  let isOutputLost = false
  const onOutputError = (error: NodeJS.ErrnoException) => {
    // Whoever reads our output may stop early, as `head` does; a full disk is said once.
    if (error.code === 'EPIPE' || isOutputLost) return
    isOutputLost = true
    terminal.say(`cannot write to standard output: ${error.message}`, 'error')
  }
  io.stdout.on('error', onOutputError)
  let exitCode = DONE
  try {
    await addCommands(program, terminal, args[0])
    await program.parseAsync(upToUnknown(program, args), { from: 'user' })
  } catch (error) {
    exitCode = report(error, { terminal, program, args })
  }
  await written(io.stdout)
  io.stdout.off('error', onOutputError)
  return isOutputLost ? FAILED : exitCode
}

/** Every command, for those who describe them. */
export async function allCommands(): Promise<Command> {
  const terminal = new Terminal(process)
  const program = createProgram(terminal, '')
  await addCommands(program, terminal)
  return program
}

/** Without what follows a command that does not exist: `--help` is not for the one around it. */
function upToUnknown({ commands }: Command, args: readonly string[]): readonly string[] {
  const [first = '-', ...rest] = args
  const inner = commands.find((command) => command.name() === first)
  if (inner !== undefined) return [first, ...upToUnknown(inner, rest)]
  return commands.length === 0 || /^-|^help$/.test(first) ? args : [first]
}

async function addCommands(program: Command, terminal: Terminal, first = ''): Promise<void> {
  const wanted = Object.hasOwn(WORDS, first) ? [first] : Object.keys(WORDS)
  for (const word of wanted) {
    const { group, local, ofOperators } = WORDS[word] ?? {}
    const parent = group === undefined ? program : addGroup(program, word, group)
    for (const row of (await local?.())?.commands ?? []) {
      addCommand(parent, row, (typed) => carryOut(terminal, row, typed))
    }
    for (const row of (await ofOperators?.())?.commands ?? []) {
      addCommand(parent, row, (typed) => carryOutByService(terminal, row, typed))
    }
  }
}

/** Resolves when everything that was written has been taken, or has failed. */
function written(stream: Io['stdout']): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) resolve()
    else stream.write('', () => resolve())
  })
}
