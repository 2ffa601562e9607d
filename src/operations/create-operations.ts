// The operations, on the ports of the service. They check what they are given: over the socket
// anything can arrive.

import type { AccessTokens } from '../access/tokens.ts'
import { mintToken } from '../access/tokens.ts'
import { tokenState } from '../domain/access.ts'
import type { User } from '../domain/access.ts'
import { DAY_MS } from '../domain/time.ts'
import type { Clock, ControlReader, ControlWriter, Journal } from '../ports.ts'
import {
  checkEmail,
  checkId,
  checkName,
  checkScopes,
  checkSerialNumber,
  usage,
} from './check-arguments.ts'
import { importMeasurements, importRules } from './import-measurements.ts'
import { OperationError, setAsideListedMax } from './operations.ts'
import type {
  CreatedToken,
  DeletedUser,
  ListedToken,
  ListedUser,
  Operations,
  OperationsSettings,
  SensorOrder,
  TokenOrder,
} from './operations.ts'

export interface OperationsCollaborators {
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly journal: Journal
  /** Told of tokens that end, and asked for uses; left out where no request is answered. */
  readonly accessTokens?: Pick<AccessTokens, 'forgetToken' | 'forgetUser' | 'lastUsedAtMs'>
  readonly clock: Clock
}

const LIFETIME_MS_MAX = 100 * 366 * DAY_MS

export function createOperations(
  collaborators: OperationsCollaborators,
  settings: OperationsSettings,
): Operations {
  const { control, controlWriter } = collaborators
  const userOf = (args: { readonly user: string }) => findUser(control, args.user)
  return {
    createUser: async ({ email, name }) => {
      const address = checkEmail(email)
      const user = await controlWriter.createUser(address, checkName('a name', name ?? address))
      return user ?? fail(`there is a user with the address ${address} already`)
    },
    listUsers: () => listUsers(control),
    deleteUser: async (args) => deleteUser(collaborators, await userOf(args)),
    unlinkIdentity: async (args) => {
      await unlinkIdentity(collaborators, await userOf(args), args.issuer)
      return {}
    },
    createToken: async (args) => createToken(collaborators, await userOf(args), args),
    listTokens: async (args) => listTokens(collaborators, await userOf(args), settings),
    revokeToken: async ({ id }) => {
      const isRevoked = await controlWriter.revokeToken(checkId(id))
      collaborators.accessTokens?.forgetToken(id)
      return isRevoked ? {} : fail(`no live token has the id ${id}`, 'See `thermolog token list`.')
    },
    createSensor: async (args) => createSensor(controlWriter, await userOf(args), args),
    listSensors: async (args) => control.listSensors((await userOf(args)).id),
    listSetAside: async () => ({
      count: await control.countSetAside(),
      measurements: await control.listSetAside(0, setAsideListedMax),
    }),
    retrySetAside: async ({ ids }) => ({
      count: await controlWriter.retrySetAside(ids?.map(checkId)),
    }),
    dropSetAside: async ({ ids }) => ({
      count: await controlWriter.dropSetAside(ids?.map(checkId)),
    }),
    importRules: async (args) => importRules(collaborators, await userOf(args), settings),
    importMeasurements: async (args) =>
      importMeasurements(collaborators, await userOf(args), args.measurements),
  }
}

async function findUser(control: ControlReader, email: unknown): Promise<User> {
  const address = checkEmail(email)
  const user = await control.findUser(address)
  if (user !== undefined) return user
  const hint = `Create one: thermolog user create --email ${address}. Or see thermolog user list.`
  return fail(`no user has the address ${address}`, hint)
}

async function listUsers(control: ControlReader): Promise<readonly ListedUser[]> {
  const identities = Map.groupBy(await control.listIdentities(), ({ userId }) => userId)
  const users = await control.listUsers()
  return users.map((user) => ({ ...user, identities: identities.get(user.id) ?? [] }))
}

async function deleteUser(
  { controlWriter, accessTokens }: OperationsCollaborators,
  { id, email }: User,
): Promise<DeletedUser> {
  const sensors = await controlWriter.deleteUser(id)
  accessTokens?.forgetUser(id)
  return sensors === undefined ? fail(`${email} is deleted already`) : { id, sensors }
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

async function createToken(
  { controlWriter, clock }: OperationsCollaborators,
  user: User,
  order: TokenOrder,
): Promise<CreatedToken> {
  const { lifetimeMs } = order
  if (lifetimeMs !== undefined && !(lifetimeMs > 0 && lifetimeMs <= LIFETIME_MS_MAX)) {
    throw usage('a token is good for at least a second and at most a hundred years')
  }
  const { text, hash } = mintToken('daemon')
  const token = await controlWriter.createToken({
    userId: user.id,
    kind: 'daemon',
    name: checkName('the name of a token', order.name),
    rights: checkScopes(order.scopes),
    hash,
    expiresAtMs: lifetimeMs === undefined ? null : clock.nowMs() + Math.round(lifetimeMs),
  })
  return { id: token.id, token: text }
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

async function createSensor(controlWriter: ControlWriter, user: User, order: SensorOrder) {
  const serialNumber = checkSerialNumber(order.serialNumber)
  const alias = order.alias === undefined ? undefined : checkName('an alias', order.alias)
  const sensor = await controlWriter.createSensor(user.id, serialNumber, alias)
  if (sensor === 'taken') {
    return fail(
      `${user.email} has a sensor ${serialNumber} already`,
      'Upper and lower case never count; : - . _ do not count between hexadecimal digits.',
    )
  }
  if (sensor === 'quota') {
    const hint = 'Delete one, or raise MAX_SENSORS_PER_USER.'
    return fail(`${user.email} has as many sensors as a user may have`, hint)
  }
  return sensor
}

function fail(message: string, hint?: string): never {
  throw new OperationError({ kind: 'failed', message, ...(hint === undefined ? {} : { hint }) })
}
