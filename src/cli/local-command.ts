// Commands that are carried out where they are typed, on a terminal.

import { readGiven } from '../commands/command.ts'
import type { Arguments, Command } from '../commands/command.ts'
import type { TypedCommand } from './command-line.ts'
import type { Terminal } from './terminal/terminal.ts'

export type LocalCommand = Command<Terminal>

export function localCommand<const Path extends string, Of extends Arguments, Result>(
  row: Command<Terminal, Path, Of, Result>,
): Command<Terminal, Path, Of, Result> {
  return row
}

export async function carryOut(
  terminal: Terminal,
  row: LocalCommand,
  { given, isJson }: TypedCommand,
): Promise<void> {
  const values = readGiven(row, given)
  const result = await row.run(terminal, values, isJson)
  terminal.show(row.present?.(result, values) ?? {}, isJson)
}
