// `retry` and `drop`, which several commands have for what they list.

import type { Command } from 'commander'
import type { Counted, SetAsideChoice } from '../operations/operations.ts'
import { chooseIds, example, idsReader } from './arguments.ts'
import { confirmDeletion } from './confirm.ts'
import type { DeletionOptions } from './confirm.ts'
import { counted, printNote } from './terminal/print.ts'

interface ChoiceOptions {
  readonly all?: boolean
}

interface Listed {
  /** The command, such as `journal`. */
  readonly name: string
  /** One of what it lists. */
  readonly item: string
  /** All of them. */
  readonly items: string
  /** What `retry` does. */
  readonly retrying: string
  readonly retry: (choice: SetAsideChoice) => Promise<void>
  /** How many `drop` would delete now. */
  readonly preview: (choice: SetAsideChoice) => Promise<Counted>
  readonly drop: (choice: SetAsideChoice) => Promise<Counted>
}

export function addRetryAndDrop(command: Command, listed: Listed): void {
  const { name, items } = listed
  const readIds = idsReader(`thermolog ${name} list`)
  const whichIds = `ids, see \`thermolog ${name} list\``
  command
    .command('retry')
    .description(listed.retrying)
    .argument('[id...]', whichIds, readIds)
    .option('--all', `all ${items}`)
    .addHelpText('after', example(`thermolog ${name} retry --all`))
    .action((ids: readonly number[], options: ChoiceOptions) =>
      listed.retry(chooseIds(`${name} retry`, ids, options)),
    )
  command
    .command('drop')
    .description('delete them permanently')
    .argument('[id...]', whichIds, readIds)
    .option('--all', `all ${items}`)
    .option('--yes', 'delete without asking')
    .addHelpText('after', example(`thermolog ${name} drop 3 4`))
    .action((ids: readonly number[], options: ChoiceOptions & DeletionOptions) =>
      drop(listed, chooseIds(`${name} drop`, ids, options), options),
    )
}

async function drop(
  { item, ...listed }: Listed,
  choice: SetAsideChoice,
  options: DeletionOptions,
): Promise<void> {
  await confirmDeletion(options, async () => {
    const { count } = await listed.preview(choice)
    return count === 0 ? undefined : counted(count, item)
  })
  const { count } = await listed.drop(choice)
  printNote(`deleted ${counted(count, item)}`)
}
