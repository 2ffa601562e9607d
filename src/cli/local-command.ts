// Commands that are carried out where they are typed, on a terminal.

import { readGiven } from '../commands/command.ts'
import type { Arguments, Command } from '../commands/command.ts'
import type { TypedCommand } from './command-line.ts'
import type { Terminal } from './terminal/terminal.ts'

/** Such a row; what it deletes or starts anew, `run` asks and knows by itself. */
export type LocalCommand<
  Path extends string = string,
  Of extends Arguments = Arguments,
  Result = unknown,
> = Omit<Command<Terminal, Path, Of, Result>, 'deletes' | 'mayStart'>

export function localCommand<const Path extends string, Of extends Arguments, Result>(
  row: LocalCommand<Path, Of, Result>,
): LocalCommand<Path, Of, Result> {
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
