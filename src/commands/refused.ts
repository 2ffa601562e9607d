// `thermolog refused`: lines and elements of batches that can never be stored as they are.

import { counted } from '../domain/grouped.ts'
import { formatInstant } from '../domain/time.ts'
import { usage } from '../operations/failure.ts'
import { listRefused, listSkipped, retryRefused } from '../operations/refused.ts'
import type { RefusedEntry, SkippedEntry } from '../ports/refused.ts'
import { countReader, readEmail } from './arguments.ts'
import { choiceOf, chosenIds } from './chosen-ids.ts'
import { flag, optional } from './command.ts'
import { findUser, operatorCommand } from './context.ts'
import type { Context } from './context.ts'

const LISTED_DEFAULT = 1_000
const LISTED_MAX = 10_000
const ITEM = 'refused item'
const ITEMS = 'refused lines and elements'

const RETRY_OR_DROP =
  '`thermolog refused retry` stores what can be stored by now, `thermolog refused drop` deletes it'
const ADD_FIELDS =
  'LINE_FIELDS adds names of fields that are temperatures: set it and restart the service'

const list = operatorCommand({
  path: 'refused list',
  help: 'list refused lines and elements with the reason',
  example: 'thermolog refused list --user a@example.org --limit 20',
  json: 'print JSON',
  arguments: {
    user: optional('--user <email>', 'only those of this user', readEmail),
    limit: optional(
      '--limit <count>',
      `how many at most, up to ${LISTED_MAX}; default: ${LISTED_DEFAULT}`,
      countReader('--limit', LISTED_MAX),
    ),
    oldest: flag('--oldest', 'list the oldest first'),
    skipped: flag(
      '--skipped',
      'list points without a temperature instead: the last line of each series',
    ),
  },
  check: ({ oldest, skipped }) => {
    if (!oldest || !skipped) return
    throw usage("option '--oldest' cannot be used with option '--skipped'")
  },
  run: async (context, { user, limit = LISTED_DEFAULT, oldest, skipped }) => {
    const { control } = context
    const userId = user === undefined ? undefined : (await findUser(context, user)).id
    if (skipped) return { skipped: await listSkipped(control, { userId, limit }) }
    return { refused: await listRefused(control, { userId, limit, isOldestFirst: oldest }) }
  },
  present: ({ refused, skipped }) => {
    if (skipped !== undefined) {
      const rows = skipped.entries.map(presentSkipped)
      return showListing(rows, 'nothing was skipped', ADD_FIELDS, skipped)
    }
    const rows = refused.entries.map(presentRefused)
    return showListing(rows, 'no refused lines or elements', RETRY_OR_DROP, refused)
  },
})

const retry = operatorCommand({
  path: 'refused retry',
  help: 'try to store them again',
  example: 'thermolog refused retry --all',
  ...choiceOf('refused retry', ITEMS),
  run: async (context, values) => {
    const ids = await chosenIds(values, known(context, 'refused retry'))
    return retryRefused(context, context.settings, ids)
  },
  present: ({ count, refusedAgain }) => ({
    notes: [
      `stored ${counted(count, ITEM)}`,
      ...(refusedAgain > 0
        ? [`${refusedAgain} refused again: \`thermolog refused list\` says why`]
        : []),
    ],
  }),
})

const drop = operatorCommand({
  path: 'refused drop',
  help: 'delete them permanently',
  example: 'thermolog refused drop 3 4',
  ...choiceOf('refused drop', ITEMS),
  deletes: async (context, values) => {
    const ids = await chosenIds(values, known(context, 'refused drop'))
    const count = ids?.length ?? (await context.control.countRefused()).count
    return count === 0 ? undefined : counted(count, ITEM)
  },
  run: async (context, values) => {
    const ids = await chosenIds(values, known(context, 'refused drop'))
    return { count: await context.controlWriter.dropRefused(ids) }
  },
  present: ({ count }) => ({ notes: [`deleted ${counted(count, ITEM)}`] }),
})

export const commands = [list, retry, drop] as const

function known({ control }: Context, path: string) {
  const from = async (id: number) => {
    const listing = { isOldestFirst: true, afterId: id - 1, limit: 1 }
    return (await control.listRefused(listing))[0]
  }
  return { path, item: ITEM, from }
}

function showListing(
  rows: readonly Readonly<Record<string, string | number | null>>[],
  whenEmpty: string,
  remedy: string,
  { count, dropped = 0 }: { readonly count: number; readonly dropped?: number },
) {
  const more = count - rows.length
  return {
    json: rows,
    lines: [{ rows, whenEmpty }],
    notes: [
      ...(more > 0 ? [`and ${more} more`] : []),
      ...(dropped > 0 ? [`${dropped} older ones were dropped to make room`] : []),
    ],
    remarks: rows.length > 0 ? [remedy] : [],
  }
}

function presentSkipped({ userId, userEmail, count, lastAtMs, line }: SkippedEntry) {
  return { user_id: userId, user: userEmail, count, last_at: formatInstant(lastAtMs), line }
}

function presentRefused(entry: RefusedEntry) {
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
