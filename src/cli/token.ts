// `thermolog token`: daemons' access tokens. A token's text is printed once, when it is created,
// alone on standard output; only its hash is kept.

import type { Command } from 'commander'
import { ALL_RIGHTS } from '../domain/access.ts'
import { DAY_MS, formatInstant, formatSecond } from '../domain/time.ts'
import type { ListedToken } from '../operations/operations.ts'
import { durationReader, example, idReader } from './arguments.ts'
import { withOperations } from './open-operations.ts'
import { printJson, printNote, printTable, printText } from './terminal/print.ts'

const readLifetime = durationReader('--expires')
const readOverlap = durationReader('--overlap')
const DEFAULT_OVERLAP_MS = 7 * DAY_MS
const readId = idReader('thermolog token list --user …')

interface CreateOptions {
  readonly user: string
  readonly name: string
  readonly scope?: readonly string[]
  readonly expires?: number
  readonly snPrefix?: string
  readonly json?: boolean
}

interface RotateOptions {
  readonly overlap?: number
  readonly json?: boolean
}

interface ListOptions {
  readonly user: string
  readonly json?: boolean
}

export function addCommands(program: Command): void {
  const token = program
    .command('token')
    .description('manage daemon tokens')
    .addHelpText('after', example('thermolog token list --user a@example.org'))
  token
    .command('create')
    .description('create a daemon token and print it once')
    .requiredOption('--user <address>', 'e-mail address of the owner')
    .requiredOption('--name <name>', 'what the token is for, such as gateway-1')
    .option(
      '--scope <scope>',
      `${ALL_RIGHTS.join(', ')}; repeat it for several; default: all`,
      collect,
    )
    .option(
      '--expires <duration>',
      'how long it is valid, such as 90d; default: no limit',
      readLifetime,
    )
    .option('--sn-prefix <prefix>', 'goes before each serial number in line protocol')
    .option('--json', 'print JSON: id and token')
    .addHelpText(
      'after',
      example(
        'TOKEN=$(thermolog token create --user a@example.org --name gateway-1 --expires 90d)',
      ),
    )
    .action(create)
  token
    .command('list')
    .description("list a user's tokens, including revoked and expired ones")
    .requiredOption('--user <address>', 'e-mail address of the owner')
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog token list --user a@example.org'))
    .action(list)
  token
    .command('revoke')
    .description('revoke a token immediately')
    .argument('<id>', 'the id, see `thermolog token list`', readId)
    .addHelpText('after', example('thermolog token revoke 7'))
    .action(revoke)
  token
    .command('rotate')
    .description('create a token like this one and print it; the old one soon expires')
    .argument('<id>', 'the id of the old token, see `thermolog token list`', readId)
    .option(
      '--overlap <duration>',
      'how long the old token keeps working; default: 7d',
      readOverlap,
    )
    .option('--json', 'print JSON: id, token and old_expires_at')
    .addHelpText('after', example('TOKEN=$(thermolog token rotate 7 --overlap 1d)'))
    .action(rotate)
}

async function create(options: CreateOptions): Promise<void> {
  const { user, name, scope, expires, snPrefix, json } = options
  const order = {
    user,
    name,
    ...(scope === undefined ? {} : { scopes: scope }),
    ...(expires === undefined ? {} : { lifetimeMs: expires }),
    ...(snPrefix === undefined ? {} : { serialNumberPrefix: snPrefix }),
  }
  const created = await withOperations((operations) => operations.createToken(order))
  if (json === true) printJson(created)
  else printText(created.token)
}

async function list({ user, json }: ListOptions): Promise<void> {
  const tokens = await withOperations((operations) => operations.listTokens({ user }))
  if (json === true) {
    printJson(tokens.map(presentToken))
    return
  }
  const rows = tokens.map((token) => ({
    id: token.id,
    kind: token.kind,
    name: token.name,
    state: token.state === 'idle' ? 'expired (idle)' : token.state,
    created: formatInstant(token.createdAtMs),
    expires: instantOrNull(token.expiresAtMs),
    'last used': instantOrNull(token.lastUsedAtMs),
    'made by': makerOf(token),
    scopes: token.rights.join(' '),
  }))
  printTable(rows, 'no tokens yet; create one: thermolog token create --user … --name …')
}

async function revoke(id: number): Promise<void> {
  await withOperations((operations) => operations.revokeToken({ id }))
  printNote(`revoked token ${id}`)
}

async function rotate(id: number, { overlap, json }: RotateOptions): Promise<void> {
  const order = { id, overlapMs: overlap ?? DEFAULT_OVERLAP_MS }
  const rotated = await withOperations((operations) => operations.rotateToken(order))
  const { token, oldExpiresAtMs } = rotated
  if (json === true) {
    printJson({ id: rotated.id, token, old_expires_at: formatInstant(oldExpiresAtMs) })
    return
  }
  printText(token)
  printNote(`token ${id} works until ${formatSecond(oldExpiresAtMs)}`)
}

function presentToken(token: ListedToken) {
  return {
    id: token.id,
    name: token.name,
    kind: token.kind,
    state: token.state,
    scopes: token.rights,
    made_by: makerOf(token),
    created_at: formatInstant(token.createdAtMs),
    expires_at: instantOrNull(token.expiresAtMs),
    last_used_at: instantOrNull(token.lastUsedAtMs),
    revoked_at: instantOrNull(token.revokedAtMs),
  }
}

/** People sign in themselves. */
function makerOf({ kind, madeInSessionId }: ListedToken): 'owner' | 'operator' {
  return kind === 'mobile' || madeInSessionId !== null ? 'owner' : 'operator'
}

function instantOrNull(atMs: number | null): string | null {
  return atMs === null ? null : formatInstant(atMs)
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}
