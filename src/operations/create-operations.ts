// The operations, built on the service's ports. They check their arguments, because anything can
// arrive over the socket.

import { setImmediate } from 'node:timers/promises'
import type { AccessTokens } from '../access/tokens.ts'
import { createLink, linkUrl } from '../access/sign-in-links.ts'
import { mintToken } from '../access/tokens.ts'
import { tokenState } from '../domain/access.ts'
import type { User } from '../domain/access.ts'
import { DAY_MS, MINUTE_MS } from '../domain/time.ts'
import type { Submissions } from '../ingest/submissions.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { RefusedListing } from '../ports/refused.ts'
import type { StoreUpkeep } from '../ports/store-upkeep.ts'
import type { Clock, OwnClock } from '../ports/system.ts'
import {
  checkEmail,
  checkId,
  checkLimit,
  checkName,
  checkPrefix,
  checkScopes,
} from './check-arguments.ts'
import {
  deleteSensor,
  deleteUser,
  findSensor,
  previewSensorDeletion,
  previewUserDeletion,
} from './delete-data.ts'
import { importRules } from './check-measurement.ts'
import type { StoredSources } from './equal-measurements.ts'
import { importMeasurements } from './import-measurements.ts'
import { listMeasuredPeriods } from './measured-periods.ts'
import { listRefused, listSkipped, retryRefused } from './refused.ts'
import { changeSensor, createSensor, listSensors } from './sensors.ts'
import {
  failed,
  refusedListedDefault,
  refusedListedMax,
  setAsideListedMax,
  usage,
} from './operations.ts'
import type {
  AcceptedClock,
  CreatedLink,
  CreatedToken,
  LinkOrder,
  ListedToken,
  ListedUser,
  NewTokenForOld,
  OfUser,
  Operations,
  OperationsSettings,
  RefusedQuestion,
  TokenOrder,
  TokenRotationOrder,
  UserRenaming,
} from './operations.ts'

export interface OperationsCollaborators extends StoredSources {
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly storeUpkeep: Pick<StoreUpkeep, 'retrySetAside' | 'dropSetAside'>
  readonly submissions: Pick<Submissions, 'submit'>
  /**
   * Notified of tokens that end, and asked for times of last use; absent where no requests arrive.
   */
  readonly accessTokens?: Pick<AccessTokens, 'forgetToken' | 'forgetUser' | 'lastUsedAtMs'>
  readonly clock: Clock
  /** `undefined`: the clock that counts is another server's. */
  readonly ownClock?: Pick<OwnClock, 'accept'>
}

const SEE_USERS = 'See `thermolog user list`.'
const LIFETIME_MS_MAX = 100 * 366 * DAY_MS
const UNKNOWN_NAMED_MAX = 100
const DEFAULT_LINK_MS = 15 * MINUTE_MS

export function createOperations(
  collaborators: OperationsCollaborators,
  settings: OperationsSettings,
): Operations {
  const { control, controlWriter, storeUpkeep, clock } = collaborators
  const userOf = (args: OfUser) => findUser(control, args.user, SEE_USERS)
  const ownerOf = (args: OfUser) =>
    findUser(
      control,
      args.user,
      `Create the user first: thermolog user create --email ${args.user}`,
    )
  return {
    createUser: async ({ email, name }) => {
      const address = checkEmail(email)
      const user = await controlWriter.createUser(address, checkName('a name', name ?? address))
      return user ?? fail(addressTaken(address))
    },
    listUsers: () => listUsers(control),
    renameUser: async (args) => renameUser(collaborators, await userOf(args), args),
    previewUserDeletion: async (args) => previewUserDeletion(control, await userOf(args)),
    deleteUser: async (args) => deleteUser(collaborators, await userOf(args)),
    unlinkIdentity: async (args) => {
      await unlinkIdentity(collaborators, await userOf(args), args.issuer)
      return {}
    },
    createLink: async (args) => createUserLink(collaborators, await ownerOf(args), args, settings),
    createToken: async (args) => createToken(collaborators, await ownerOf(args), args),
    listTokens: async (args) => listTokens(collaborators, await userOf(args), settings),
    revokeToken: async ({ id }) => {
      const isRevoked = await controlWriter.revokeToken(checkId(id))
      collaborators.accessTokens?.forgetToken(id)
      return isRevoked ? {} : fail(`no live token has the id ${id}`, 'See `thermolog token list`.')
    },
    rotateToken: (args) => rotateToken(collaborators, args),
    createSensor: async (args) => createSensor(collaborators, await ownerOf(args), args, settings),
    listSensors: async (args) => listSensors(collaborators, await userOf(args), settings),
    changeSensor: (args) => changeSensor(collaborators, args, settings),
    previewSensorDeletion: async ({ id }) =>
      previewSensorDeletion(control, await findSensor(control, id)),
    deleteSensor: async ({ id }) => deleteSensor(collaborators, await findSensor(control, id)),
    listSetAside: async () => ({
      count: await control.countSetAside(),
      measurements: await control.listSetAside(0, setAsideListedMax),
    }),
    retrySetAside: async ({ ids }) => {
      await countSetAside(control, ids)
      return { count: await storeUpkeep.retrySetAside(ids) }
    },
    previewDrop: async ({ ids }) => ({ count: await countSetAside(control, ids) }),
    dropSetAside: async ({ ids }) => {
      await countSetAside(control, ids)
      return { count: await storeUpkeep.dropSetAside(ids) }
    },
    ...refusedOperations(collaborators, settings),
    acceptClock: () => acceptClock(collaborators),
    importRules: async (args) => {
      const sensors = await control.listSensors((await ownerOf(args)).id)
      return importRules(sensors, clock.nowMs(), settings)
    },
    listMeasuredPeriods: async (args) =>
      listMeasuredPeriods(control, (await userOf(args)).id, args.serialNumbers),
    importMeasurements: async (args) =>
      importMeasurements(collaborators, (await userOf(args)).id, args),
  }
}

type RefusedOperations = Pick<
  Operations,
  'listRefused' | 'listSkipped' | 'retryRefused' | 'previewRefusedDrop' | 'dropRefused'
>

function refusedOperations(
  collaborators: OperationsCollaborators,
  settings: OperationsSettings,
): RefusedOperations {
  const { control, controlWriter } = collaborators
  return {
    listRefused: async (args) => listRefused(control, await listingOf(control, args)),
    listSkipped: async (args) => listSkipped(control, await listingOf(control, args)),
    retryRefused: async ({ ids }) => {
      await countRefused(control, ids)
      return retryRefused(collaborators, settings, ids)
    },
    previewRefusedDrop: async ({ ids }) => ({ count: await countRefused(control, ids) }),
    dropRefused: async ({ ids }) => {
      await countRefused(control, ids)
      return { count: await controlWriter.dropRefused(ids) }
    },
  }
}

async function listingOf(
  control: ControlReader,
  { user, limit = refusedListedDefault, isOldestFirst = false }: RefusedQuestion,
): Promise<RefusedListing> {
  const userId = user === undefined ? undefined : (await findUser(control, user, SEE_USERS)).id
  return { userId, isOldestFirst, limit: checkLimit(limit, refusedListedMax) }
}

async function findUser(control: ControlReader, email: unknown, hint: string): Promise<User> {
  const address = checkEmail(email)
  const user = await control.findUser(address)
  if (user !== undefined) return user
  return fail(`no user has the address ${address}`, hint)
}

async function acceptClock({ clock, ownClock }: OperationsCollaborators): Promise<AcceptedClock> {
  if (ownClock === undefined) throw usage('the clock that counts is that of the database')
  const newestReceiptMs = (await ownClock.accept()) ?? null
  return { nowMs: clock.nowMs(), newestReceiptMs }
}

async function listUsers(control: ControlReader): Promise<readonly ListedUser[]> {
  const identities = Map.groupBy(await control.listIdentities(), ({ userId }) => userId)
  const users = await control.listUsers()
  return users.map((user) => ({ ...user, identities: identities.get(user.id) ?? [] }))
}

async function renameUser(
  { control, controlWriter, accessTokens }: OperationsCollaborators,
  user: User,
  { email, name }: UserRenaming,
): Promise<User> {
  const change = {
    ...(email === undefined ? {} : { email: checkEmail(email) }),
    ...(name === undefined ? {} : { name: checkName('a name', name) }),
  }
  const renamed = await controlWriter.renameUser(user.id, change)
  accessTokens?.forgetUser(user.id)
  if (renamed !== undefined) return renamed
  // Nobody has it where the user was deleted meanwhile.
  const { email: address = user.email } = change
  await findUser(control, address, SEE_USERS)
  return fail(addressTaken(address))
}

function addressTaken(address: string): string {
  return `a user with the address ${address} already exists`
}

async function unlinkIdentity(
  { controlWriter, accessTokens }: OperationsCollaborators,
  { id, email }: User,
  issuer: unknown,
): Promise<void> {
  const wasThere = typeof issuer === 'string' && (await controlWriter.unlinkIdentity(id, issuer))
  accessTokens?.forgetUser(id)
  if (wasThere) return
  const hint = '`thermolog user list` shows the identities of all users.'
  fail(`${email} has no identity at ${JSON.stringify(issuer)}`, hint)
}

async function createUserLink(
  { controlWriter, clock }: OperationsCollaborators,
  { id: userId }: User,
  { lifetimeMs = DEFAULT_LINK_MS }: LinkOrder,
  { publicUrl }: OperationsSettings,
): Promise<CreatedLink> {
  if (!(lifetimeMs > 0 && lifetimeMs <= DAY_MS)) {
    throw usage('a link is valid for at least a second and at most 24 hours')
  }
  const nowMs = clock.nowMs()
  const expiresAtMs = nowMs + Math.round(lifetimeMs)
  const code = await createLink(controlWriter, { userId, nowMs, expiresAtMs })
  return { url: linkUrl(publicUrl, code), expiresAtMs }
}

async function createToken(
  { controlWriter, clock }: OperationsCollaborators,
  user: User,
  order: TokenOrder,
): Promise<CreatedToken> {
  const { lifetimeMs } = order
  if (lifetimeMs !== undefined && !(lifetimeMs > 0 && lifetimeMs <= LIFETIME_MS_MAX)) {
    throw usage('a token is valid for at least a second and at most a hundred years')
  }
  const { text, hash } = mintToken('daemon')
  const token = await controlWriter.createToken({
    userId: user.id,
    kind: 'daemon',
    name: checkName('the name of a token', order.name),
    rights: checkScopes(order.scopes),
    serialNumberPrefix: checkPrefix(order.serialNumberPrefix),
    hash,
    expiresAtMs: lifetimeMs === undefined ? null : clock.nowMs() + Math.round(lifetimeMs),
  })
  return { id: token.id, token: text }
}

async function rotateToken(
  { controlWriter, accessTokens, clock }: OperationsCollaborators,
  { id, overlapMs }: TokenRotationOrder,
): Promise<NewTokenForOld> {
  if (!(overlapMs > 0 && overlapMs <= LIFETIME_MS_MAX)) {
    throw usage('an overlap is at least a second and at most a hundred years')
  }
  const { text, hash } = mintToken('daemon')
  const order = { hash, nowMs: clock.nowMs(), overlapMs: Math.round(overlapMs) }
  const rotated = await controlWriter.rotateToken(checkId(id), order)
  if (rotated === undefined) {
    return fail(`no live daemon token has the id ${id}`, 'See `thermolog token list`.')
  }
  accessTokens?.forgetToken(id)
  return { id: rotated.token.id, token: text, oldExpiresAtMs: rotated.oldExpiresAtMs }
}

async function listTokens(
  { control, accessTokens, clock }: OperationsCollaborators,
  user: User,
  { mobileTokenIdleMs }: OperationsSettings,
): Promise<readonly ListedToken[]> {
  const nowMs = clock.nowMs()
  const tokens = await control.listTokens(user.id)
  return tokens.map((token) => {
    const lastUsedAtMs = accessTokens?.lastUsedAtMs(token) ?? token.lastUsedAtMs
    const state = tokenState(token, lastUsedAtMs, nowMs, mobileTokenIdleMs)
    return { ...token, lastUsedAtMs, state }
  })
}

/** @throws OperationError when one of the ids is of nothing that is set aside */
async function countSetAside(
  control: ControlReader,
  ids: readonly number[] | undefined,
): Promise<number> {
  if (ids === undefined) return control.countSetAside()
  const of = ['set-aside measurement', 'journal'] as const
  return countKnown(ids, async (id) => (await control.listSetAside(id - 1, 1))[0], of)
}

/** @throws OperationError when one of the ids is of nothing that was refused */
async function countRefused(
  control: ControlReader,
  ids: readonly number[] | undefined,
): Promise<number> {
  if (ids === undefined) return (await control.countRefused()).count
  const from = async (id: number) => {
    const listing = { isOldestFirst: true, afterId: id - 1, limit: 1 }
    return (await control.listRefused(listing))[0]
  }
  return countKnown(ids, from, ['refused item', 'refused'])
}

/** @param from the first thing from this id on */
async function countKnown(
  ids: readonly number[],
  from: (id: number) => Promise<{ readonly id: number } | undefined>,
  [what, command]: readonly [string, string],
): Promise<number> {
  const given: unknown = ids
  if (!Array.isArray(given)) throw usage('ids are a list')
  const unknown: number[] = []
  for (const id of new Set(ids)) {
    // Each is a read on the service's own thread: requests come in between.
    await setImmediate()
    if ((await from(checkId(id)))?.id !== id) unknown.push(id)
  }
  if (unknown.length === 0) return new Set(ids).size
  const named = unknown.slice(0, UNKNOWN_NAMED_MAX).join(', ')
  const more = unknown.length > UNKNOWN_NAMED_MAX ? ' and more' : ''
  const hint = `See \`thermolog ${command} list\`. Nothing was changed.`
  return fail(`no ${what} has the id ${named}${more}`, hint)
}

function fail(message: string, hint?: string): never {
  throw failed(message, hint)
}
