// `thermolog refused`: lines and elements of batches that can never be stored as they are.

import { Option } from 'commander'
import type { Command } from 'commander'
import { formatInstant } from '../domain/time.ts'
import { refusedListedDefault, refusedListedMax } from '../operations/operations.ts'
import type { Listing, SetAsideChoice, SkippedQuestion } from '../operations/operations.ts'
import type { RefusedEntry } from '../ports/refused.ts'
import { countReader, example } from './arguments.ts'
import { withOperations } from './open-operations.ts'
import { addRetryAndDrop } from './retry-or-drop.ts'
import { counted, printJson, printNote, printTable } from './terminal/print.ts'

const readLimit = countReader('--limit')

const LIMIT = `how many at most, up to ${refusedListedMax}; default: ${refusedListedDefault}`
const RETRY_OR_DROP =
  '`thermolog refused retry` stores what can be stored by now, `thermolog refused drop` deletes it'
const ADD_FIELDS =
  'LINE_FIELDS adds names of fields that are temperatures: set it and restart the service'

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
  addRetryAndDrop(refused, {
    name: 'refused',
    item: 'refused item',
    items: 'refused lines and elements',
    retrying: 'try to store them again',
    retry,
    preview: (choice) => withOperations((operations) => operations.previewRefusedDrop(choice)),
    drop: (choice) => withOperations((operations) => operations.dropRefused(choice)),
  })
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

async function retry(choice: SetAsideChoice): Promise<void> {
  const { count, refusedAgain } = await withOperations((operations) =>
    operations.retryRefused(choice),
  )
  printNote(`stored ${counted(count, 'refused item')}`)
  if (refusedAgain > 0)
    printNote(`${refusedAgain} refused again: \`thermolog refused list\` says why`)
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
    ahead_at: entry.aheadAtMs === null ? null : formatInstant(entry.aheadAtMs),
    reason: entry.reason,
    content: entry.content,
  }
}
