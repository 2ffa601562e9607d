// Who makes a request: the bearer token in the Authorization header, never one in the query.

import type { IncomingMessage } from 'node:http'
import type { AccessTokens } from '../../access/tokens.ts'
import { mayUse } from '../../domain/access.ts'
import type { Principal, Right, TokenKind } from '../../domain/access.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { AddressLimit } from './rate-limit.ts'

const SCHEME = 'bearer '
const UNKNOWN_FORM = 'The Authorization header is not of the form: Authorization: Bearer <token>.'

/** The text of a bearer token, `undefined` if the header has none. */
export function readBearerToken(header: string | undefined): string | undefined {
  if (header === undefined || header.length <= SCHEME.length) return undefined
  if (header.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined
  const text = header.slice(SCHEME.length).trim()
  return text === '' ? undefined : text
}

/** What tokens are looked up in, and who may try no more of them. */
export interface TokenChecks {
  readonly tokens: AccessTokens
  readonly failedTokens: AddressLimit
}

interface Asked {
  /** The kind of token accepted by this API. */
  readonly kind: TokenKind
  readonly nowMs: number
}

/**
 * The principal of a token. Synchronous if the token is cached.
 *
 * @param text of the token; `undefined`: the request has none
 * @throws ServiceError `missing_token`, `invalid_token`, `wrong_token_kind`, `rate_limited` (too
 *   many invalid tokens came from this address)
 */
export function authenticate(
  request: IncomingMessage,
  text: string | undefined,
  { tokens, failedTokens }: TokenChecks,
  asked: Asked,
): Principal | Promise<Principal> {
  try {
    if (text === undefined) throw missingToken(request.headers.authorization)
    const found = find(tokens, text, asked, request.socket)
    if (!(found instanceof Promise)) return found
    return found.catch((error: unknown) => refuseToken(request, failedTokens, error))
  } catch (error) {
    return refuseToken(request, failedTokens, error)
  }
}

/** @throws ServiceError `insufficient_scope` if the principal's token lacks a right */
export function requireRight(principal: Principal, right: Right): void {
  if (mayUse(principal, right)) return
  const detail = `The token lacks the scope ${right}.`
  throw new ServiceError('insufficient_scope', { detail })
}

/**
 * Whoever finds a phone that was left signed in cannot do everything with it. A session of the
 * future began by a clock that was wrong.
 *
 * @throws ServiceError `sign_in_again` unless the caller's session began at most so long ago
 */
export function requireNewSession(
  { principal, receivedAtMs }: { readonly principal: Principal; readonly receivedAtMs: number },
  ageMsMax: number,
): void {
  const ageMs = Math.abs(receivedAtMs - principal.token.createdAtMs)
  if (ageMs > ageMsMax) throw new ServiceError('sign_in_again')
}

function find(
  tokens: AccessTokens,
  text: string,
  { kind, nowMs }: Asked,
  connection: object,
): Principal | Promise<Principal> {
  const found = tokens.find(text, nowMs, connection)
  return found instanceof Promise
    ? found.then((principal) => ofKind(principal, kind))
    : ofKind(found, kind)
}

/** @param header may be a token that stands alone: it is not repeated */
function missingToken(header: string | undefined): ServiceError {
  return new ServiceError('missing_token', header === undefined ? {} : { detail: UNKNOWN_FORM })
}

function ofKind(principal: Principal | undefined, kind: TokenKind): Principal {
  if (principal === undefined) throw new ServiceError('invalid_token')
  if (principal.token.kind !== kind) throw new ServiceError('wrong_token_kind')
  return principal
}

/** Makes an address with too many invalid tokens wait. */
async function refuseToken(
  request: IncomingMessage,
  failedTokens: AddressLimit,
  error: unknown,
): Promise<never> {
  const isInvalid = error instanceof ServiceError && error.code === 'invalid_token'
  if (isInvalid) await failedTokens.count(request)
  throw error
}
