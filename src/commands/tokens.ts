// `thermolog token`: daemons' access tokens. A token's text is printed once, when it is created,
// alone on standard output; only its hash is kept.

import { mintToken } from '../access/tokens.ts'
import { ALL_RIGHTS, tokenState } from '../domain/access.ts'
import type { AccessToken, TokenState } from '../domain/access.ts'
import { DAY_MS, formatInstant, formatSecond } from '../domain/time.ts'
import { failed } from '../operations/failure.ts'
import {
  durationReader,
  idReader,
  nameReader,
  readEmail,
  readPrefix,
  readScopes,
} from './arguments.ts'
import { optional, required, several } from './command.ts'
import { findOwner, findUser, operatorCommand } from './context.ts'

export interface ListedToken extends AccessToken {
  readonly state: TokenState
}

const DEFAULT_OVERLAP_MS = 7 * DAY_MS
const readId = idReader('thermolog token list --user …')
const owner = required('--user <address>', 'e-mail address of the owner', readEmail)

const create = operatorCommand({
  path: 'token create',
  help: 'create a daemon token and print it once',
  example: 'TOKEN=$(thermolog token create --user a@example.org --name gateway-1 --expires 90d)',
  json: 'print JSON: id and token',
  arguments: {
    user: owner,
    name: required(
      '--name <name>',
      'what the token is for, such as gateway-1',
      nameReader('the name of a token'),
    ),
    scope: several(
      '--scope <scope>',
      `${ALL_RIGHTS.join(', ')}; repeat it for several; default: all`,
      readScopes,
    ),
    expires: optional(
      '--expires <duration>',
      'how long it is valid, such as 90d; default: no limit',
      durationReader('--expires'),
    ),
    snPrefix: optional(
      '--sn-prefix <prefix>',
      'goes before each serial number in line protocol',
      readPrefix,
    ),
  },
  run: async (context, { user, name, scope, expires, snPrefix }) => {
    const { controlWriter, clock } = context
    const { id: userId } = await findOwner(context, user)
    const { text, hash } = mintToken('daemon')
    const { id } = await controlWriter.createToken({
      userId,
      kind: 'daemon',
      name,
      rights: scope ?? ALL_RIGHTS,
      serialNumberPrefix: snPrefix ?? '',
      hash,
      expiresAtMs: expires === undefined ? null : clock.nowMs() + expires,
    })
    return { id, token: text }
  },
  present: (created) => ({ json: created, lines: [created.token] }),
})

const list = operatorCommand({
  path: 'token list',
  help: "list a user's tokens, including revoked and expired ones",
  example: 'thermolog token list --user a@example.org',
  json: 'print JSON',
  arguments: { user: owner },
  run: async (context, { user }): Promise<readonly ListedToken[]> => {
    const { control, accessTokens, clock, settings } = context
    const { id } = await findUser(context, user)
    const nowMs = clock.nowMs()
    const tokens = await control.listTokens(id)
    return tokens.map((token) => {
      const lastUsedAtMs = accessTokens?.lastUsedAtMs(token) ?? token.lastUsedAtMs
      const state = tokenState(token, lastUsedAtMs, nowMs, settings.mobileTokenIdleMs)
      return { ...token, lastUsedAtMs, state }
    })
  },
  present: (tokens) => ({
    json: tokens.map(presentToken),
    lines: [
      {
        rows: tokens.map(rowOf),
        whenEmpty: 'no tokens yet; create one: thermolog token create --user … --name …',
      },
    ],
  }),
})

const revoke = operatorCommand({
  path: 'token revoke',
  help: 'revoke a token immediately',
  example: 'thermolog token revoke 7',
  arguments: { id: required('<id>', 'the id, see `thermolog token list`', readId) },
  run: async ({ controlWriter, accessTokens }, { id }) => {
    const isRevoked = await controlWriter.revokeToken(id)
    accessTokens?.forgetToken(id)
    if (isRevoked) return {}
    throw failed(`no live token has the id ${id}`, 'See `thermolog token list`.')
  },
  present: (_, { id }) => ({ notes: [`revoked token ${id}`] }),
})

const rotate = operatorCommand({
  path: 'token rotate',
  help: 'create a token like this one and print it; the old one soon expires',
  example: 'TOKEN=$(thermolog token rotate 7 --overlap 1d)',
  json: 'print JSON: id, token and old_expires_at',
  arguments: {
    id: required('<id>', 'the id of the old token, see `thermolog token list`', readId),
    overlap: optional(
      '--overlap <duration>',
      'how long the old token keeps working; default: 7d',
      durationReader('--overlap'),
    ),
  },
  run: async ({ controlWriter, accessTokens, clock }, { id, overlap }) => {
    const { text, hash } = mintToken('daemon')
    const order = { hash, nowMs: clock.nowMs(), overlapMs: overlap ?? DEFAULT_OVERLAP_MS }
    const rotated = await controlWriter.rotateToken(id, order)
    if (rotated === undefined) {
      throw failed(`no live daemon token has the id ${id}`, 'See `thermolog token list`.')
    }
    accessTokens?.forgetToken(id)
    return { id: rotated.token.id, token: text, oldExpiresAtMs: rotated.oldExpiresAtMs }
  },
  present: ({ id, token, oldExpiresAtMs }, { id: oldId }) => ({
    json: { id, token, old_expires_at: formatInstant(oldExpiresAtMs) },
    lines: [token],
    remarks: [`token ${oldId} works until ${formatSecond(oldExpiresAtMs)}`],
  }),
})

export const commands = [create, list, revoke, rotate] as const

function rowOf(token: ListedToken) {
  return {
    id: token.id,
    kind: token.kind,
    name: token.name,
    state: token.state === 'idle' ? 'expired (idle)' : token.state,
    created: formatInstant(token.createdAtMs),
    expires: instantOrNull(token.expiresAtMs),
    'last used': instantOrNull(token.lastUsedAtMs),
    'made by': makerOf(token),
    scopes: token.rights.join(' '),
  }
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
