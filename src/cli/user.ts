// `thermolog user`: people, who own sensors and tokens.

import type { Command } from 'commander'
import type { User } from '../domain/access.ts'
import { formatInstant, formatSecond } from '../domain/time.ts'
import type { DeletedUser, ListedUser } from '../operations/operations.ts'
import { confirmDeletion } from './confirm.ts'
import type { DeletionOptions } from './confirm.ts'
import { durationReader, example } from './arguments.ts'
import { usage } from '../operations/operations.ts'
import { withOperations } from './open-operations.ts'
import { qrCode, reachOf } from './terminal/link.ts'
import { counted, printJson, printNote, printTable, printText } from './terminal/print.ts'

interface CreateOptions {
  readonly email: string
  readonly name?: string
  readonly json?: boolean
}

interface RenameOptions {
  readonly email?: string
  readonly name?: string
  readonly json?: boolean
}

interface LinkOptions {
  readonly expires?: number
  readonly json?: boolean
}

const readLifetime = durationReader('--expires')

export function addCommands(program: Command): void {
  const user = program
    .command('user')
    .description('manage users')
    .addHelpText('after', example('thermolog user create --email a@example.org'))
  user
    .command('create')
    .description('create a user')
    .requiredOption('--email <address>', 'the e-mail address; case does not matter')
    .option('--name <name>', 'display name; default: the address')
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog user create --email a@example.org --name "A"'))
    .action(create)
  user
    .command('list')
    .description('list all users')
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog user list --json'))
    .action(list)
  user
    .command('rename')
    .description('change the e-mail address of a user, the name or both')
    .argument('<address>', 'the e-mail address of the user')
    .option('--email <address>', 'the new e-mail address')
    .option('--name <name>', 'the new display name')
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog user rename a@example.org --name "Ana"'))
    .action(rename)
  user
    .command('delete')
    .description('delete a user with all sensors, measurements, tokens and identities')
    .argument('<address>', 'the e-mail address of the user')
    .option('--yes', 'delete without asking')
    .addHelpText('after', example('thermolog user delete a@example.org'))
    .action(deleteUser)
  user
    .command('link')
    .description('print a one-time link with which a user signs in')
    .argument('<address>', 'the e-mail address of the user')
    .option('--expires <duration>', 'how long it is valid, up to 24h; default: 15m', readLifetime)
    .option('--json', 'print JSON: url and expires_at')
    .addHelpText('after', example('thermolog user link a@example.org --expires 1h'))
    .action(link)
  user
    .command('unlink')
    .description('remove an identity from a user and revoke all mobile tokens of the user')
    .argument('<address>', 'the e-mail address of the user')
    .requiredOption('--issuer <url>', 'the identity provider, as `thermolog user list` shows it')
    .addHelpText(
      'after',
      example('thermolog user unlink a@example.org --issuer https://login.example.org'),
    )
    .action(unlink)
}

async function create({ json, ...order }: CreateOptions): Promise<void> {
  const user = await withOperations((operations) => operations.createUser(order), {
    mayStart: true,
  })
  if (json === true) printJson(presentUser(user))
  else printTable([presentUser(user)], '')
}

async function rename(user: string, { json, ...change }: RenameOptions): Promise<void> {
  if (change.email === undefined && change.name === undefined) {
    throw usage('nothing to change', 'Add --email, --name or both.')
  }
  const renamed = await withOperations((operations) => operations.renameUser({ user, ...change }))
  if (json === true) printJson(presentUser(renamed))
  else printTable([presentUser(renamed)], '')
}

async function list({ json }: { readonly json?: boolean }): Promise<void> {
  const users = await withOperations((operations) => operations.listUsers({}))
  if (json === true) {
    printJson(users.map(presentListed))
    return
  }
  const rows = users.map((user) => ({
    ...presentUser(user),
    identities: user.identities.map(({ issuer, subject }) => `${issuer} ${subject}`).join(', '),
  }))
  printTable(rows, 'no users yet; create one: thermolog user create --email …')
}

async function deleteUser(user: string, options: DeletionOptions): Promise<void> {
  await confirmDeletion(options, async () =>
    described(user, await withOperations((operations) => operations.previewUserDeletion({ user }))),
  )
  const deleted = await withOperations((operations) => operations.deleteUser({ user }))
  printNote(`deleted ${described(user, deleted)}`)
}

function described(address: string, { id, sensors, measurements }: DeletedUser): string {
  const content = `${counted(sensors, 'sensor')} and ${counted(measurements, 'measurement')}`
  return `user ${id} (${address}) with ${content}`
}

async function link(user: string, { expires, json }: LinkOptions): Promise<void> {
  const order = { user, ...(expires === undefined ? {} : { lifetimeMs: expires }) }
  const { url, expiresAtMs } = await withOperations((operations) => operations.createLink(order))
  if (json === true) {
    printJson({ url, expires_at: formatInstant(expiresAtMs) })
    return
  }
  if (process.stderr.isTTY) process.stderr.write(qrCode(url))
  printText(url)
  process.stderr.write(`It works once, until ${formatSecond(expiresAtMs)}.\n${reachOf(url)}`)
}

async function unlink(user: string, { issuer }: { readonly issuer: string }): Promise<void> {
  await withOperations((operations) => operations.unlinkIdentity({ user, issuer }))
  printNote(
    `removed the identity of ${user} at ${issuer}, and all mobile tokens; daemon tokens work on:`,
  )
  printNote(`see thermolog token list --user ${user}`)
}

function presentListed({ identities, ...user }: ListedUser) {
  return {
    ...presentUser(user),
    identities: identities.map(({ issuer, subject, createdAtMs }) => ({
      issuer,
      subject,
      created_at: formatInstant(createdAtMs),
    })),
  }
}

function presentUser({ id, email, name }: User) {
  return { id, email, name }
}
