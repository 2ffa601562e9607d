// `thermolog token`: the access tokens of daemons. A token's text is printed once, when it is made,
// alone on standard output; only its hash is kept.

import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { formatInstant } from '../domain/time.ts'
import type { DurationMs, EpochMs } from '../domain/time.ts'
import { readDuration } from '../config-values.ts'
import type { ListedToken } from '../operations/operations.ts'
import { example } from './example.ts'
import { withOperations } from './open-operations.ts'
import { printJson, printTable } from './print.ts'

interface CreateOptions {
  readonly user: string
  readonly name: string
  readonly scope?: readonly string[]
  readonly expires?: DurationMs
  readonly json?: boolean
}

interface ListOptions {
  readonly user: string
  readonly json?: boolean
}

export function addTokenCommands(program: Command): void {
  const token = program.command('token').description('create, list and revoke daemon tokens')
  token
    .command('create')
    .description('create a daemon token and print it; it is never shown again')
    .requiredOption('--user <address>', 'whose token it is')
    .requiredOption('--name <name>', 'what it is for, such as gateway-1')
    .option('--scope <scope>', 'what it may do; repeat it; default: everything', collect)
    .option('--expires <duration>', 'how long it is good for, such as 90d', readLifetime)
    .option('--json', 'print an object with id and token')
    .addHelpText(
      'after',
      example(
        'TOKEN=$(thermolog token create --user a@example.org --name gateway-1 --expires 90d)',
      ),
    )
    .action(create)
  token
    .command('list')
    .description("list a user's tokens, revoked and expired ones too")
    .requiredOption('--user <address>', 'whose tokens')
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog token list --user a@example.org'))
    .action(list)
  token
    .command('revoke')
    .description('revoke a token, at once')
    .argument('<id>', 'the id, see thermolog token list', readId)
    .addHelpText('after', example('thermolog token revoke 7'))
    .action(revoke)
}

async function create(options: CreateOptions): Promise<void> {
  const { user, name, scope, expires, json } = options
  const order = {
    user,
    name,
    ...(scope === undefined ? {} : { scopes: scope }),
    ...(expires === undefined ? {} : { lifetimeMs: expires }),
  }
  const created = await withOperations((operations) => operations.createToken(order))
  if (json === true) printJson(created)
  else process.stdout.write(`${created.token}\n`)
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
    scopes: token.rights.join(' '),
  }))
  printTable(rows, 'no tokens yet: thermolog token create --user … --name …')
}

async function revoke(id: number): Promise<void> {
  await withOperations((operations) => operations.revokeToken({ id }))
  process.stderr.write(`token ${id} is revoked\n`)
}

function presentToken(token: ListedToken) {
  return {
    id: token.id,
    name: token.name,
    kind: token.kind,
    state: token.state,
    scopes: token.rights,
    created_at: formatInstant(token.createdAtMs),
    expires_at: instantOrNull(token.expiresAtMs),
    last_used_at: instantOrNull(token.lastUsedAtMs),
    revoked_at: instantOrNull(token.revokedAtMs),
  }
}

function instantOrNull(atMs: EpochMs | null): string | null {
  return atMs === null ? null : formatInstant(atMs)
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

function readLifetime(text: string): DurationMs {
  try {
    return readDuration(text)
  } catch (error) {
    throw new InvalidArgumentError(`It ${(error as Error).message}.`)
  }
}

function readId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('An id is a positive integer.')
}
