// InfluxQL, as Grafana and senders to InfluxDB send it: two statements that need no token, and
// reading for those who have one.

import { Readable } from 'node:stream'
import { refusalError } from '../../domain/errors.ts'
import { answersPerUserMax } from '../../domain/limits.ts'
import { answerStatement } from '../../influxql/answer-statement.ts'
import type { InfluxqlSources } from '../../influxql/answer-statement.ts'
import { StatementError } from '../../influxql/statement-error.ts'
import type { AccessTokens } from '../../access/tokens.ts'
import type { Principal } from '../../domain/access.ts'
import type { DataIdentity } from '../../ports/control-reader.ts'
import { ClientGone, answerJson } from '../answers/call.ts'
import type { Call } from '../answers/call.ts'
import { answerInPieces } from '../answers/history-answer.ts'
import type { BodyGate } from '../body/gate.ts'
import type { SmallBodyReader } from '../body/read-small-body.ts'
import { authenticate, readInfluxToken, requireRight } from '../callers/authenticate.ts'
import type { AddressLimit, RateLimits } from '../callers/rate-limit.ts'
import { UserPlaces } from '../callers/user-places.ts'
import { sendingOf } from '../requests/input.ts'

const DATABASE = 'thermolog'
const JSON_TYPE = 'application/json; charset=utf-8'

export interface QueryCollaborators extends InfluxqlSources {
  readonly tokens: AccessTokens
  readonly failedTokens: AddressLimit
  readonly rateLimits: RateLimits
  readonly dataIdentity: DataIdentity
  readonly bodies: BodyGate
  readonly smallBodies: SmallBodyReader
  readonly draining: { readonly isOn: boolean }
}

/** Answers one statement. */
export class Queries {
  readonly #with: QueryCollaborators
  readonly #places = new UserPlaces(answersPerUserMax)

  constructor(collaborators: QueryCollaborators) {
    this.#with = collaborators
  }

  /** @throws ServiceError when the statement is not answered */
  async answer(call: Call): Promise<void> {
    const token = readInfluxToken(call.ctx.req.headers.authorization)
    const parameters = await this.#parameters(call, token)
    const statement = parameters.get('q') ?? ''
    const results = openResults(statement)
    if (results !== undefined) return answerJson(call, 200, JSON.stringify({ results }))
    const principal = await this.#readerOf(call, token)
    try {
      checkEpoch(parameters.get('epoch'))
      await this.#read(call, principal, statement)
    } catch (error) {
      if (!(error instanceof StatementError)) throw error
      answerJson(call, 400, JSON.stringify({ error: error.message }))
    }
  }

  /** The parameters of the query, and of a form where `q` is not in the query. */
  async #parameters(call: Call, token: string | undefined): Promise<URLSearchParams> {
    const { ctx, query, receivedAtMs } = call
    const parameters = new URLSearchParams(query)
    if (parameters.has('q') || ctx.method !== 'POST') return parameters
    const found = token && (await this.#with.tokens.find(token, receivedAtMs, ctx.req.socket))
    // Only the body of somebody who is known may be long.
    const form = found ? await this.#longForm(call, found) : await this.#shortForm(call)
    for (const [name, value] of form) parameters.append(name, value)
    return parameters
  }

  #shortForm({ ctx }: Call): Promise<URLSearchParams> {
    return this.#with.smallBodies.readForm(ctx)
  }

  #longForm(call: Call, principal: Principal): Promise<URLSearchParams> {
    return this.#with.bodies.read(sendingOf({ ...call, principal }), (bytes) => {
      return new URLSearchParams(bytes.toString('utf8'))
    })
  }

  async #readerOf(call: Call, token: string | undefined): Promise<Principal> {
    const { draining, rateLimits, dataIdentity } = this.#with
    if (draining.isOn) throw refusalError('shutting_down')
    const asked = { kind: 'daemon', nowMs: call.receivedAtMs } as const
    const principal = await authenticate(call.ctx.req, token, this.#with, asked)
    call.ctx.state['principal'] = principal
    call.ctx.res.setHeader('Thermolog-Store', dataIdentity.id)
    await rateLimits.countRequest(principal.token.id, call.ctx.res)
    requireRight(principal, 'sensors:read')
    return principal
  }

  async #read({ ctx, receivedAtMs }: Call, { user }: Principal, statement: string): Promise<void> {
    const giveBack = await this.#places.take(user.id)
    try {
      if (ctx.req.socket.destroyed) throw new ClientGone()
      const asked = { userId: user.id, nowMs: receivedAtMs }
      const pieces = await answerStatement(statement, asked, this.#with)
      await answerInPieces(ctx, JSON_TYPE, pieces)
    } finally {
      // A long answer is computed as its client reads it.
      if (ctx.body instanceof Readable && !ctx.res.closed) ctx.res.once('close', giveBack)
      else giveBack()
    }
  }
}

/** @throws StatementError if times are wanted in another unit */
function checkEpoch(epoch: string | null): void {
  if (epoch === null || epoch === 'ms') return
  throw new StatementError('times are in milliseconds: epoch=ms, or leave it out')
}

/** Results of what senders to InfluxDB ask before they write. */
function openResults(statement: string): readonly object[] | undefined {
  if (/^\s*create\s+database\s+\S/i.test(statement)) return [{ statement_id: 0 }]
  if (!/^show\s+databases\s*;?$/i.test(statement.trim())) return undefined
  const series = [{ name: 'databases', columns: ['name'], values: [[DATABASE]] }]
  return [{ statement_id: 0, series }]
}
