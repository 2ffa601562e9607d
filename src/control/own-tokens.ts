// Daemon tokens that people make themselves, as rows.

import type { AccessToken, RotatedToken } from '../domain/access.ts'
import { ownTokensPerUserMax } from '../domain/limits.ts'
import type { NewOwnToken, OwnTokenRefusal, OwnTokenRotation } from '../ports/control-writer.ts'
import { counted, row } from './flow.ts'
import type { Flow } from './flow.ts'
import { createToken, forgetEnded, rotateToken } from './tokens.ts'
import { lockUser } from './users.ts'

// Locked, so that ending the session also sees a token being made.
const SESSION = `
  SELECT 1 FROM access_tokens WHERE id = $1 AND user_id = $2 AND revoked_at_ms IS NULL FOR SHARE`
const COUNT = `
  SELECT count(*) AS count FROM access_tokens
  WHERE user_id = $1 AND made_in_session_id IS NOT NULL AND revoked_at_ms IS NULL
    AND (expires_at_ms IS NULL OR expires_at_ms > $2)`

export function* createOwnToken(token: NewOwnToken): Flow<AccessToken | OwnTokenRefusal> {
  const refusal = yield* refusalOf(token, 0)
  return refusal ?? (yield* createToken(token, token.nowMs))
}

/** @returns `undefined`: no live daemon token has that id */
export function* rotateOwnToken(
  tokenId: number,
  order: OwnTokenRotation,
): Flow<RotatedToken | OwnTokenRefusal | undefined> {
  const endingCount = order.overlapMs === 0 ? 1 : 0
  const refusal = yield* refusalOf(order, endingCount)
  return refusal ?? (yield* rotateToken(tokenId, order))
}

/** Why an owner may not make more; locks the owner, so that concurrent calls count each other's. */
function* refusalOf(
  { userId, madeInSessionId, nowMs }: Pick<NewOwnToken, 'userId' | 'madeInSessionId' | 'nowMs'>,
  endingCount: number,
): Flow<OwnTokenRefusal | undefined> {
  if ((yield* lockUser(userId)) === undefined) return 'session-ended'
  yield* forgetEnded(userId)
  if ((yield* row(SESSION, madeInSessionId, userId)) === undefined) return 'session-ended'
  const workingCount = yield* counted(COUNT, userId, nowMs)
  return workingCount - endingCount < ownTokensPerUserMax ? undefined : 'too-many'
}
