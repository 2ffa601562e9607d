// Who makes a call of InfluxDB's API: no page of another site, and whoever has a daemon token, in
// one of four spellings. A caller is counted before anything else is done.

import { ServiceError } from '../../domain/errors.ts'
import type { DataIdentity } from '../../ports/control-reader.ts'
import type { ApiCall, Call } from '../call/call.ts'
import { authenticate, readBearerToken, requireRight } from '../callers/authenticate.ts'
import type { TokenChecks } from '../callers/authenticate.ts'
import type { AddressLimit, RateLimits } from '../callers/rate-limit.ts'

const FORMS = 'Authorization: Token thd_live_…, or Basic with the token as the password'

export interface InfluxCallersCollaborators extends TokenChecks {
  readonly openStatements: AddressLimit
  readonly rateLimits: RateLimits
  readonly dataIdentity: DataIdentity
}

export class InfluxCallers {
  readonly #with: InfluxCallersCollaborators

  constructor(collaborators: InfluxCallersCollaborators) {
    this.#with = collaborators
  }

  /**
   * Who may write. Whether their measurements are used up is noted in the state of the call.
   *
   * @throws ServiceError as `authenticate`, `insufficient_scope`, `rate_limited`
   */
  async writerOf(call: Call): Promise<ApiCall> {
    const writer = await this.#authenticated(call)
    this.#note(writer)
    requireRight(writer.principal, 'measurements:write')
    await this.#count(writer)
    return writer
  }

  /**
   * Who asks; `undefined`: somebody without a valid daemon token, who is counted by the address.
   *
   * @throws ServiceError `rate_limited`
   */
  async find(call: Call): Promise<ApiCall | undefined> {
    const { tokens, openStatements } = this.#with
    const { req } = call.ctx
    const text = readToken(req.headers.authorization)
    const found = text && (await tokens.find(text, call.receivedAtMs, req.socket))
    if (!found || found.token.kind !== 'daemon') {
      await openStatements.count(req)
      return undefined
    }
    const caller = { ...call, principal: found }
    this.#note(caller)
    await this.#count(caller)
    return caller
  }

  /**
   * Who may read.
   *
   * @param found the result of `find`
   * @throws ServiceError also to tell what the token of somebody who was not found lacks
   */
  async readerOf(call: Call, found: ApiCall | undefined): Promise<ApiCall> {
    const reader = found ?? (await this.#authenticated(call))
    requireRight(reader.principal, 'sensors:read')
    return reader
  }

  async #authenticated(call: Call): Promise<ApiCall> {
    const { req } = call.ctx
    const asked = { kind: 'daemon', nowMs: call.receivedAtMs } as const
    const text = readToken(req.headers.authorization)
    if (text === undefined) throw missingToken(call)
    return { ...call, principal: await authenticate(req, text, this.#with, asked) }
  }

  #note({ ctx, principal }: ApiCall): void {
    ctx.state['principal'] = principal
    ctx.res.setHeader('Thermolog-Store', this.#with.dataIdentity.id)
  }

  async #count({ ctx, principal }: ApiCall): Promise<void> {
    ctx.state['spent'] = await this.#with.rateLimits.countRequest(principal.token, ctx.res)
  }
}

/** Pages of other sites may not reach a service in their reader's network. */
export function refuseCrossSite({ ctx }: Call): void {
  if (ctx.req.headers['sec-fetch-site'] !== 'cross-site') return
  const detail = 'Pages of other sites may not make this request.'
  throw new ServiceError('insufficient_scope', { detail })
}

/**
 * The text of a token as InfluxDB clients send it: `Token T`, `Token name:T`, `Bearer T`, or
 * `Basic` with the token as the password. `undefined` if the header has none.
 */
function readToken(header: string | undefined): string | undefined {
  const [, scheme = '', credentials = ''] = /^(token|basic) +(\S+) *$/i.exec(header ?? '') ?? []
  if (scheme === '') return readBearerToken(header)
  const isBasic = scheme.toLowerCase() === 'basic'
  const text = isBasic ? Buffer.from(credentials, 'base64').toString() : credentials
  // Our tokens contain no colon.
  return text.slice(text.lastIndexOf(':') + 1) || undefined
}

/** Says what to send instead of what was sent, which may be a token and is not repeated. */
function missingToken({ ctx, query }: Call): ServiceError {
  const isInHeader = ctx.req.headers.authorization !== undefined
  const parameters = new URLSearchParams(query)
  const isInQuery = parameters.has('u') || parameters.has('p')
  if (!isInHeader && !isInQuery) return new ServiceError('missing_token')
  const sent = isInHeader ? 'the Authorization header has another form' : 'u and p are not read'
  return new ServiceError('missing_token', { detail: `missing token: ${sent}; send ${FORMS}` })
}
