// `thermolog user`: people, who own sensors and tokens.

import { createLink, linkUrl } from '../access/sign-in-links.ts'
import type { User, UserIdentity } from '../domain/access.ts'
import { counted } from '../domain/grouped.ts'
import { DAY_MS, formatInstant, formatSecond, MINUTE_MS } from '../domain/time.ts'
import { deleteUser, previewUserDeletion } from '../operations/delete-data.ts'
import type { DeletedUser } from '../operations/delete-data.ts'
import { failed, usage } from '../operations/failure.ts'
import { durationReader, nameReader, readEmail, readText } from './arguments.ts'
import { optional, required } from './command.ts'
import type { Shown } from './command.ts'
import { findOwner, findUser, operatorCommand } from './context.ts'

export interface ListedUser extends User {
  readonly identities: readonly UserIdentity[]
}

const DEFAULT_LINK_MS = 15 * MINUTE_MS

const readName = nameReader('a name')
const address = required('<address>', 'the e-mail address of the user', readEmail)

const create = operatorCommand({
  path: 'user create',
  help: 'create a user',
  example: 'thermolog user create --email a@example.org --name "A"',
  mayStart: true,
  json: 'print JSON',
  arguments: {
    email: required('--email <address>', 'the e-mail address; case does not matter', readEmail),
    name: optional('--name <name>', 'display name; default: the address', readName),
  },
  run: async ({ controlWriter }, { email, name = readName(email) }) => {
    return (await controlWriter.createUser(email, name)) ?? refuseTaken(email)
  },
  present: showUser,
})

const list = operatorCommand({
  path: 'user list',
  help: 'list all users',
  example: 'thermolog user list --json',
  json: 'print JSON',
  arguments: {},
  run: async ({ control }): Promise<readonly ListedUser[]> => {
    const identities = Map.groupBy(await control.listIdentities(), ({ userId }) => userId)
    const users = await control.listUsers()
    return users.map((user) => ({ ...user, identities: identities.get(user.id) ?? [] }))
  },
  present: (users) => ({
    json: users.map(presentListed),
    lines: [
      {
        rows: users.map((user) => ({
          ...presentUser(user),
          identities: user.identities
            .map(({ issuer, subject }) => `${issuer} ${subject}`)
            .join(', '),
        })),
        whenEmpty: 'no users yet; create one: thermolog user create --email …',
      },
    ],
  }),
})

const rename = operatorCommand({
  path: 'user rename',
  help: 'change the e-mail address of a user, the name or both',
  example: 'thermolog user rename a@example.org --name "Ana"',
  json: 'print JSON',
  arguments: {
    user: address,
    email: optional('--email <address>', 'the new e-mail address', readEmail),
    name: optional('--name <name>', 'the new display name', readName),
  },
  check: ({ email, name }) => {
    if (email !== undefined || name !== undefined) return
    throw usage('nothing to change', 'Add --email, --name or both.')
  },
  run: async (context, { user: old, email, name }) => {
    const user = await findUser(context, old)
    const change = { ...(email !== undefined && { email }), ...(name !== undefined && { name }) }
    const renamed = await context.controlWriter.renameUser(user.id, change)
    context.accessTokens?.forgetUser(user.id)
    if (renamed !== undefined) return renamed
    // Nobody has it where the user was deleted meanwhile.
    await findUser(context, email ?? user.email)
    return refuseTaken(email ?? user.email)
  },
  present: showUser,
})

const remove = operatorCommand({
  path: 'user delete',
  help: 'delete a user with all sensors, measurements, tokens and identities',
  example: 'thermolog user delete a@example.org',
  arguments: { user: address },
  deletes: async (context, { user }) => {
    const preview = await previewUserDeletion(context.control, await findUser(context, user))
    return described(user, preview)
  },
  run: async (context, { user }) => deleteUser(context, await findUser(context, user)),
  present: (deleted, { user }) => ({ notes: [`deleted ${described(user, deleted)}`] }),
})

const link = operatorCommand({
  path: 'user link',
  help: 'print a one-time link with which a user signs in',
  example: 'thermolog user link a@example.org --expires 1h',
  json: 'print JSON: url and expires_at',
  arguments: {
    user: address,
    expires: optional(
      '--expires <duration>',
      'how long it is valid, up to 24h; default: 15m',
      durationReader('--expires', { maxMs: DAY_MS, atMost: '24h' }),
    ),
  },
  run: async (context, { user, expires = DEFAULT_LINK_MS }) => {
    const { controlWriter, clock, settings } = context
    const { id: userId } = await findOwner(context, user)
    const nowMs = clock.nowMs()
    const expiresAtMs = nowMs + expires
    const code = await createLink(controlWriter, { userId, nowMs, expiresAtMs })
    return { url: linkUrl(settings.publicUrl, code), expiresAtMs }
  },
  present: ({ url, expiresAtMs }) => ({
    json: { url, expires_at: formatInstant(expiresAtMs) },
    link: url,
    remarks: [`It works once, until ${formatSecond(expiresAtMs)}.`],
  }),
})

const unlink = operatorCommand({
  path: 'user unlink',
  help: 'remove an identity from a user and revoke all mobile tokens of the user',
  example: 'thermolog user unlink a@example.org --issuer https://login.example.org',
  arguments: {
    user: address,
    issuer: required(
      '--issuer <url>',
      'the identity provider, as `thermolog user list` shows it',
      readText,
    ),
  },
  run: async (context, { user, issuer }) => {
    const { id, email } = await findUser(context, user)
    const wasThere = await context.controlWriter.unlinkIdentity(id, issuer)
    context.accessTokens?.forgetUser(id)
    if (wasThere) return {}
    const hint = '`thermolog user list` shows the identities of all users.'
    throw failed(`${email} has no identity at ${JSON.stringify(issuer)}`, hint)
  },
  present: (_, { user, issuer }) => ({
    notes: [
      `removed the identity of ${user} at ${issuer}, and all mobile tokens; daemon tokens work on:`,
      `see thermolog token list --user ${user}`,
    ],
  }),
})

export const commands = [create, list, rename, remove, link, unlink] as const

function refuseTaken(email: string): never {
  throw failed(`a user with the address ${email} already exists`)
}

function described(email: string, { id, sensors, measurements }: DeletedUser): string {
  const content = `${counted(sensors, 'sensor')} and ${counted(measurements, 'measurement')}`
  return `user ${id} (${email}) with ${content}`
}

function showUser(user: User): Shown {
  const shown = presentUser(user)
  return { json: shown, lines: [{ rows: [shown], whenEmpty: '' }] }
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
