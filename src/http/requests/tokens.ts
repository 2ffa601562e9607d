// The daemon tokens of the caller: made on a phone or the page, for the devices at home.

import type { MadeToken, OwnTokenOrder, OwnTokens } from '../../access/own-tokens.ts'
import { ALL_RIGHTS } from '../../domain/access.ts'
import type { AccessToken, Right } from '../../domain/access.ts'
import { ServiceError } from '../../domain/errors.ts'
import { makingSessionAgeMsMax } from '../../domain/limits.ts'
import { answerJson, JSON_TYPE } from '../call/call.ts'
import type { ApiCall } from '../call/call.ts'
import { answerInPieces } from '../answers/long-answers.ts'
import type { LongAnswers } from '../answers/long-answers.ts'
import { presentDaemonToken } from '../answers/present.ts'
import { itemsWithin } from '../answers/sensor-list.ts'
import type { MobileSettings } from '../answers/sign-in-settings.ts'
import { requireNewSession } from '../callers/authenticate.ts'
import { jsonInput, nameFaults, none, parseId } from '../routes/input.ts'
import type { Input } from '../routes/input.ts'

const OVERLAP_DAYS = 7
const NOT_HERE = 'People cannot make daemon tokens here: ask the operator for one.'
const TOO_MUCH =
  'Phones may not change sensors here, and neither may tokens that people make for themselves.'

type Settings = Pick<MobileSettings, 'mayMakeTokens' | 'mayEdit'>

export interface OwnRotation {
  readonly token: AccessToken
  readonly overlapDays: number
}

export function listTokens({
  ownTokens,
  lists,
}: {
  readonly ownTokens: OwnTokens
  readonly lists: LongAnswers
}) {
  return ({ ctx, principal }: ApiCall): Promise<void> =>
    // An operator may have made any number of them.
    answerInPieces(ctx, lists, principal.user.id, async () => {
      const tokens = await ownTokens.list(principal.user.id)
      ctx.set('Content-Type', JSON_TYPE)
      return itemsWithin({ data: [] }, tokens, presentDaemonToken)
    })
}

/** What the caller may do is checked before the body is read. */
export function newToken(settings: Settings): Input<OwnTokenOrder> {
  return jsonInput('new-daemon-token', {
    before: (call) => checkCaller(call, settings),
    read({ valid, members, faults }) {
      const name = typeof members['name'] === 'string' ? members['name'].trim() : ''
      faults.push(...nameFaults('/name', name))
      const {
        scopes,
        sn_prefix: serialNumberPrefix = '',
        expires_in_days: lifetimeDays,
      } = valid ?? {}
      const rights = ALL_RIGHTS.filter((right) =>
        scopes === undefined ? isGrantable(right, settings) : scopes.includes(right),
      )
      return { name, rights, serialNumberPrefix, lifetimeDays }
    },
  })
}

export function postToken(ownTokens: OwnTokens, settings: Settings) {
  return async (call: ApiCall, order: OwnTokenOrder): Promise<void> => {
    checkRights(order.rights, settings)
    answerMade(call, await ownTokens.create(call.principal, order))
  }
}

export function tokenRotation(ownTokens: OwnTokens, settings: Settings): Input<OwnRotation> {
  const overlap = jsonInput('daemon-token-rotation', {
    isOptional: true,
    read: ({ valid }) => valid?.overlap_days ?? OVERLAP_DAYS,
  })
  return {
    ...overlap,
    async read(call, bodies) {
      checkCaller(call, settings)
      const token = await findNamed(call, ownTokens)
      checkRights(token.rights, settings)
      return { token, overlapDays: await overlap.read(call, bodies) }
    },
  }
}

export function rotateToken(ownTokens: OwnTokens) {
  return async (call: ApiCall, { token, overlapDays }: OwnRotation): Promise<void> => {
    answerMade(call, await ownTokens.rotate(call.principal, token.id, overlapDays))
  }
}

/** The token that the path names, if people end tokens here. */
export function tokenEnd(ownTokens: OwnTokens, { mayMakeTokens }: Settings): Input<AccessToken> {
  const read = async (call: ApiCall) => {
    if (!mayMakeTokens) throw new ServiceError('insufficient_scope', { detail: NOT_HERE })
    const token = await findNamed(call, ownTokens)
    void none.read(call)
    return token
  }
  return { ...none, read }
}

export function endToken(ownTokens: OwnTokens) {
  return async ({ ctx }: ApiCall, token: AccessToken): Promise<void> => {
    await ownTokens.end(token)
    ctx.status = 204
  }
}

/** @throws ServiceError as `OwnTokens.find` */
function findNamed({ principal, parameters }: ApiCall, ownTokens: OwnTokens): Promise<AccessToken> {
  return ownTokens.find(principal.user.id, parseId(parameters['token']))
}

/** @throws ServiceError unless the caller may make tokens */
function checkCaller(call: ApiCall, { mayMakeTokens }: Settings): void {
  if (!mayMakeTokens) throw new ServiceError('insufficient_scope', { detail: NOT_HERE })
  requireNewSession(call, makingSessionAgeMsMax)
}

/** @throws ServiceError for rights that the caller cannot give */
function checkRights(rights: readonly Right[], settings: Settings): void {
  if (rights.every((right) => isGrantable(right, settings))) return
  throw new ServiceError('insufficient_scope', { detail: TOO_MUCH })
}

function isGrantable(right: Right, { mayEdit }: Settings): boolean {
  return mayEdit || right !== 'sensors:write'
}

function answerMade(call: ApiCall, { token, text }: MadeToken): void {
  const { id, ...rest } = presentDaemonToken(token)
  answerJson(call, 201, JSON.stringify({ data: { id, token: text, ...rest } }))
}
