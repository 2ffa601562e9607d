// Who makes a request: the bearer token of its Authorization header, never one of its query.

import type { AccessTokens } from '../../access/tokens.ts'
import type { Principal, TokenKind } from '../../domain/access.ts'
import { ServiceError } from '../../domain/errors.ts'

const SCHEME = 'bearer '

/** The text of a bearer token, `undefined` when the header has none. */
export function readBearerToken(header: string | undefined): string | undefined {
  if (header === undefined || header.length <= SCHEME.length) return undefined
  if (header.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined
  const text = header.slice(SCHEME.length).trim()
  return text === '' ? undefined : text
}

/**
 * The text of a token as clients of InfluxDB present it: `Token T`, `Token name:T`, `Bearer T`, or
 * `Basic` with it as the password. `undefined` when the header has none.
 */
export function readInfluxToken(header: string | undefined): string | undefined {
  const [, scheme = '', credentials = ''] = /^(token|basic) +(\S+) *$/i.exec(header ?? '') ?? []
  if (scheme === '') return readBearerToken(header)
  const isBasic = scheme.toLowerCase() === 'basic'
  const text = isBasic ? Buffer.from(credentials, 'base64').toString() : credentials
  // No token of ours has a colon.
  return text.slice(text.lastIndexOf(':') + 1) || undefined
}

/**
 * The principal of a presented token. Answers at once when it is known already.
 *
 * @param text of the token; `undefined`: none was presented
 * @param kind the tokens that work on this API
 * @throws ServiceError `missing_token`, `invalid_token`, `wrong_token_kind`
 */
export function authenticate(
  tokens: AccessTokens,
  text: string | undefined,
  kind: TokenKind,
  nowMs: number,
): Principal | Promise<Principal> {
  if (text === undefined) throw new ServiceError('missing_token')
  const found = tokens.find(text, nowMs)
  return found instanceof Promise
    ? found.then((principal) => ofKind(principal, kind))
    : ofKind(found, kind)
}

function ofKind(principal: Principal | undefined, kind: TokenKind): Principal {
  if (principal === undefined) throw new ServiceError('invalid_token')
  if (principal.token.kind !== kind) throw new ServiceError('wrong_token_kind')
  return principal
}
