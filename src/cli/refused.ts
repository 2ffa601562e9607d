// `thermolog refused`: lines and elements of batches that can never be stored as they are.

import { Option } from 'commander'
import type { Command } from 'commander'
import { formatInstant } from '../domain/time.ts'
import { refusedListedDefault, refusedListedMax } from '../operations/operations.ts'
import type { Listing, SkippedQuestion } from '../operations/operations.ts'
import type { RefusedEntry } from '../ports/refused.ts'
import { chooseIds, countReader, example, idsReader } from './arguments.ts'
import { confirmDeletion } from './confirm.ts'
import type { DeletionOptions } from './confirm.ts'
import { withOperations } from './open-operations.ts'
import { counted, printJson, printNote, printTable } from './terminal/print.ts'

const readIds = idsReader('thermolog refused list')
const readLimit = countReader('--limit')

const LIMIT = `how many at most, up to ${refusedListedMax}; default: ${refusedListedDefault}`
const RETRY_OR_DROP =
  '`thermolog refused retry` stores what can be stored by now, `thermolog refused drop` deletes it'
const ADD_FIELDS =
  'LINE_FIELDS adds names of fields that are temperatures: set it and restart the service'

interface ChoiceOptions {
  readonly all?: boolean
}

export function addCommands(program: Command): void {
  const refused = program
    .command('refused')
    .description('handle lines and elements of batches that the service has refused')
    .addHelpText('after', example('thermolog refused list'))
  refused
    .command('list')
    .description('list refused lines and elements with the reason')
    .option('--user <email>', 'only those of this user')
    .option('--limit <count>', LIMIT, readLimit)
    .addOption(new Option('--oldest', 'list the oldest first').conflicts('skipped'))
    .option('--skipped', 'list points without a temperature instead: the last line of each series')
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog refused list --user a@example.org --limit 20'))
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
  readonly user?: string
  readonly limit?: number
  readonly oldest?: boolean
  readonly skipped?: boolean
  readonly json?: boolean
}

async function list({ skipped, oldest, json, ...question }: ListOptions): Promise<void> {
  if (skipped === true) return listSkipped(question, json)
  const listed = await withOperations((operations) =>
    operations.listRefused({ ...question, isOldestFirst: oldest === true }),
  )
  printListing({ ...listed, entries: listed.entries.map(present) }, json, {
    whenEmpty: 'no refused lines or elements',
    remedy: RETRY_OR_DROP,
  })
}

async function listSkipped(question: SkippedQuestion, json?: boolean): Promise<void> {
  const listed = await withOperations((operations) => operations.listSkipped(question))
  const entries = listed.entries.map(({ userId, userEmail, count, lastAtMs, line }) => ({
    user_id: userId,
    user: userEmail,
    count,
    last_at: formatInstant(lastAtMs),
    line,
  }))
  printListing({ ...listed, entries }, json, {
    whenEmpty: 'nothing was skipped',
    remedy: ADD_FIELDS,
  })
}

function printListing(
  listing: Listing<Readonly<Record<string, string | number | null>>> & { dropped?: number },
  json: boolean | undefined,
  { whenEmpty, remedy }: { readonly whenEmpty: string; readonly remedy: string },
): void {
  const { count, entries, dropped = 0 } = listing
  if (json === true) printJson(entries)
  else printTable(entries, whenEmpty)
  const more = count - entries.length
  if (more > 0) printNote(`and ${more} more`)
  if (dropped > 0) printNote(`${dropped} older ones were dropped to make room`)
  if (json !== true && entries.length > 0) printNote(remedy)
}

async function retry(ids: readonly number[], options: ChoiceOptions): Promise<void> {
  const choice = chooseIds('refused retry', ids, options)
  const { count, refusedAgain } = await withOperations((operations) =>
    operations.retryRefused(choice),
  )
  printNote(`stored ${counted(count, 'refused item')}`)
  if (refusedAgain > 0)
    printNote(`${refusedAgain} refused again: \`thermolog refused list\` says why`)
}

async function drop(
  ids: readonly number[],
  options: ChoiceOptions & DeletionOptions,
): Promise<void> {
  const choice = chooseIds('refused drop', ids, options)
  await confirmDeletion(options, async () => {
    const { count } = await withOperations((operations) => operations.previewRefusedDrop(choice))
    return count === 0 ? undefined : counted(count, 'refused item')
  })
  const { count } = await withOperations((operations) => operations.dropRefused(choice))
  printNote(`deleted ${counted(count, 'refused item')}`)
}

function present(entry: RefusedEntry) {
  return {
    id: entry.id,
    user_id: entry.userId,
    user: entry.userEmail,
    token_id: entry.tokenId,
    token: entry.tokenName,
    kind: entry.kind,
    count: entry.count,
    received_at: formatInstant(entry.receivedAtMs),
    retry_at: entry.retryAtMs === null ? null : formatInstant(entry.retryAtMs),
    reason: entry.reason,
    content: entry.content,
  }
}
