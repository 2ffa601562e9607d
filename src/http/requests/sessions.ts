// The sessions of the caller: the phones and browsers that are signed in.

import type { AccessTokens } from '../../access/tokens.ts'
import { ServiceError } from '../../domain/errors.ts'
import { answerJson } from '../call/call.ts'
import type { ApiCall } from '../call/call.ts'
import { presentSession } from '../answers/present.ts'
import { parseId } from '../routes/input.ts'

export function listSessions(tokens: AccessTokens) {
  return async (call: ApiCall): Promise<void> => {
    const { token, user } = call.principal
    const sessions = await tokens.listSessions(user.id)
    const data = sessions.map((session) => presentSession(session, session.id === token.id))
    answerJson(call, 200, JSON.stringify({ data }))
  }
}

export function endSession(tokens: AccessTokens) {
  return async ({ ctx, principal, parameters }: ApiCall): Promise<void> => {
    const tokenId = parseId(parameters['session'])
    const wasThere = tokenId !== undefined && (await tokens.endSession(principal.user.id, tokenId))
    if (!wasThere) throw new ServiceError('not_found')
    ctx.status = 204
  }
}

export function logOut(tokens: AccessTokens) {
  return async ({ ctx, principal }: ApiCall): Promise<void> => {
    await tokens.revoke(principal.token.id)
    ctx.status = 204
  }
}
