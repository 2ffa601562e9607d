// `thermolog user`: people, who own sensors and tokens.

import type { Command } from 'commander'
import type { User } from '../domain/access.ts'
import { formatInstant } from '../domain/time.ts'
import type { ListedUser } from '../operations/operations.ts'
import { example } from './example.ts'
import { withOperations } from './open-operations.ts'
import { printJson, printTable } from './print.ts'

interface CreateOptions {
  readonly email: string
  readonly name?: string
  readonly json?: boolean
}

export function addUserCommands(program: Command): void {
  const user = program.command('user').description('create, list and delete users')
  user
    .command('create')
    .description('create a user')
    .requiredOption('--email <address>', 'the e-mail address, unique without regard to case')
    .option('--name <name>', 'a name for people; falls back to the address')
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
    .command('delete')
    .description('delete a user with all sensors, measurements, tokens and identities')
    .argument('<address>', 'the e-mail address')
    .addHelpText('after', example('thermolog user delete a@example.org'))
    .action(deleteUser)
  user
    .command('unlink')
    .description('end an identity of a user, and all mobile tokens of the user')
    .argument('<address>', 'the e-mail address')
    .requiredOption('--issuer <url>', 'the identity provider, as `user list` shows it')
    .addHelpText(
      'after',
      example('thermolog user unlink a@example.org --issuer https://login.example.org'),
    )
    .action(unlink)
}

async function create({ json, ...order }: CreateOptions): Promise<void> {
  const user = await withOperations((operations) => operations.createUser(order))
  if (json === true) printJson(presentUser(user))
  else printTable([presentUser(user)], '')
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
  printTable(rows, 'no users yet: thermolog user create --email …')
}

async function deleteUser(user: string): Promise<void> {
  const { id, sensors } = await withOperations((operations) => operations.deleteUser({ user }))
  process.stderr.write(`user ${id} is deleted, with ${sensors} sensors and their measurements\n`)
}

async function unlink(user: string, { issuer }: { readonly issuer: string }): Promise<void> {
  await withOperations((operations) => operations.unlinkIdentity({ user, issuer }))
  process.stderr.write(`${user} has no identity at ${issuer} any more\n`)
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
