// What can be typed, and its help, made of the rows of commands.

import { Command } from 'commander'
import type { Option } from 'commander'
import type { Argument, Command as Row, Typed } from '../commands/command.ts'
import { asTypedHere } from './terminal/terminal.ts'
import type { Terminal } from './terminal/terminal.ts'

/** A command as it was typed. */
export interface TypedCommand {
  readonly given: Readonly<Record<string, Typed>>
  readonly isJson: boolean
  /** Delete without asking. */
  readonly isSure: boolean
}

export function createProgram({ io }: Terminal, version: string): Command {
  return new Command('thermolog')
    .description('Collects and stores readings from temperature sensors.')
    .version(version, '-V, --version', 'print version and commit')
    .configureHelp({ optionDescription: describeOption })
    .configureOutput({
      writeOut: (text) => io.stdout.write(asTypedHere(text)),
      writeErr: (text) => io.stderr.write(asTypedHere(text)),
      // Failures are reported in one place, see report.ts.
      outputError: () => undefined,
    })
    .exitOverride()
}

/** The command of a first word that others follow. */
export function addGroup(
  program: Command,
  word: string,
  { help, example }: { readonly help: string; readonly example: string },
): Command {
  return program.command(word).description(help).addHelpText('after', exampleText(example))
}

/** @param run gets what was typed */
export function addCommand(
  parent: Command,
  row: Pick<Row<never>, 'path' | 'help' | 'details' | 'example' | 'json' | 'arguments' | 'deletes'>,
  run: (typed: TypedCommand) => Promise<void>,
): void {
  const command = parent.command(row.path.split(' ').at(-1) ?? '').description(row.help)
  for (const argument of Object.values(row.arguments)) addArgument(command, argument)
  if (row.deletes !== undefined) command.option('--yes', 'delete without asking')
  if (row.json !== undefined) command.option('--json', row.json)
  const details = row.details === undefined ? '' : `\n${row.details}\n`
  command.addHelpText('after', details + exampleText(row.example))
  command.action(async () => {
    const options: Readonly<Record<string, Typed>> = command.opts()
    const operands = command.processedArgs.slice() as (Typed | undefined)[]
    const given = Object.entries(row.arguments).flatMap(([name, argument]) => {
      const typed = isOption(argument) ? options[name] : operands.shift()
      // Of operands that may be several there is an empty list.
      const isTyped = typed !== undefined && (typed === true || typed.length > 0)
      return isTyped ? [[name, typed] as const] : []
    })
    const [isJson, isSure] = [options['json'] === true, options['yes'] === true]
    await run({ given: Object.fromEntries(given), isJson, isSure })
  })
}

function addArgument(command: Command, argument: Argument<unknown>): void {
  const { form, help, isRequired, isList } = argument
  if (!isOption(argument)) command.argument(form, help)
  else if (isRequired) command.requiredOption(form, help)
  else if (isList) command.option(form, help, collect)
  else command.option(form, help)
}

function isOption({ form }: Argument<unknown>): boolean {
  return form.startsWith('--')
}

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

function describeOption({ description, mandatory }: Option): string {
  return mandatory ? `${description} (required)` : description
}

/** Every command's help ends with something to copy. */
function exampleText(example: string): string {
  return `\nExample:\n  ${example}`
}
