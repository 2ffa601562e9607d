// `thermolog refused`: lines and elements of batches that can never be stored as they are.

import type { Command } from 'commander'
import { formatInstant } from '../domain/time.ts'
import type { ListedRefused } from '../operations/operations.ts'
import { chooseIds, example, idsReader } from './arguments.ts'
import { confirmDeletion } from './confirm.ts'
import type { DeletionOptions } from './confirm.ts'
import { withOperations } from './open-operations.ts'
import { counted, printJson, printNote, printTable } from './terminal/print.ts'

const readIds = idsReader('thermolog refused list')

interface ChoiceOptions {
  readonly all?: boolean
}

export function addCommands(program: Command): void {
  const refused = program
    .command('refused')
    .description('handle lines and elements of batches that the service has refused')
  refused
    .command('list')
    .description('list refused lines and elements with the reason')
    .option('--skipped', 'list points without a temperature instead: the last line of each series')
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog refused list --json'))
    .action(list)
  refused
    .command('retry')
    .description('try to store them again')
    .argument('[id...]', 'ids, see `thermolog refused list`', readIds)
    .option('--all', 'all refused lines and elements')
    .addHelpText('after', example('thermolog refused retry --all'))
    .action(retry)
  refused
    .command('drop')
    .description('delete them permanently')
    .argument('[id...]', 'ids, see `thermolog refused list`', readIds)
    .option('--all', 'all refused lines and elements')
    .option('--yes', 'delete without asking')
    .addHelpText('after', example('thermolog refused drop 3 4'))
    .action(drop)
}

interface ListOptions {
  readonly skipped?: boolean
  readonly json?: boolean
}

async function list({ skipped, json }: ListOptions): Promise<void> {
  if (skipped === true) return listSkipped(json)
  const listed = await withOperations((operations) => operations.listRefused({}))
  if (json === true) printJson(listed.entries.map(present))
  else printTable(listed.entries.map(present), 'no refused lines or elements')
  const more = listed.count - listed.entries.length
  if (more > 0) printNote(`and ${more} more`)
  if (listed.dropped > 0) printNote(`${listed.dropped} older ones were dropped to make room`)
}

async function listSkipped(json = false): Promise<void> {
  const skipped = await withOperations((operations) => operations.listSkipped({}))
  const rows = skipped.map(({ userId, count, lastAtMs, line }) => ({
    user_id: userId,
    count,
    last_at: formatInstant(lastAtMs),
    line,
  }))
  if (json) printJson(rows)
  else printTable(rows, 'nothing was skipped')
}

async function retry(ids: readonly number[], options: ChoiceOptions): Promise<void> {
  const choice = chooseIds('refused retry', ids, options)
  const { count } = await withOperations((operations) => operations.retryRefused(choice))
  printNote(`stored ${counted(count, 'refused item')}`)
}

async function drop(
  ids: readonly number[],
  options: ChoiceOptions & DeletionOptions,
): Promise<void> {
  const choice = chooseIds('refused drop', ids, options)
  await confirmDeletion(options, async () => {
    const { count } = await withOperations((operations) => operations.listRefused({}))
    const named = choice.ids?.length ?? count
    return named === 0 ? undefined : counted(named, 'refused item')
  })
  const { count } = await withOperations((operations) => operations.dropRefused(choice))
  printNote(`deleted ${counted(count, 'refused item')}`)
}

function present(entry: ListedRefused) {
  return {
    id: entry.id,
    user_id: entry.userId,
    token_id: entry.tokenId,
    kind: entry.kind,
    count: entry.count,
    received_at: formatInstant(entry.receivedAtMs),
    retry_at: entry.retryAtMs === null ? null : formatInstant(entry.retryAtMs),
    reason: entry.reason,
    content: entry.content,
  }
}
