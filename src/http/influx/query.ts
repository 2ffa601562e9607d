// InfluxQL, as Grafana and senders to InfluxDB send it: two statements that need no token, and
// reading for those who have one. The token comes first, so that all that follows is counted: for
// the token or, without a valid one, for the address.

import { statementAnswers } from '../../domain/limits.ts'
import { answerStatement } from '../../influxql/answer-statement.ts'
import type { InfluxqlSources } from '../../influxql/answer-statement.ts'
import { limitStatement } from '../../influxql/limits.ts'
import { StatementError } from '../../influxql/scanner.ts'
import type { AccessTokens } from '../../access/tokens.ts'
import type { Principal } from '../../domain/access.ts'
import type { DataIdentity } from '../../ports/control-reader.ts'
import type { Clock } from '../../ports/system.ts'
import { answerJson } from '../call.ts'
import type { Call } from '../call.ts'
import { answerInPieces } from '../answers/history-answer.ts'
import { LongAnswers } from '../answers/long-answers.ts'
import { sendingOf } from '../body/gate.ts'
import type { BodyGate } from '../body/gate.ts'
import type { SmallBodyReader } from '../body/read-small-body.ts'
import { authenticate, readInfluxToken, requireRight } from '../callers/authenticate.ts'
import type { AddressLimit, RateLimits } from '../callers/rate-limit.ts'

const DATABASE = 'thermolog'
const JSON_TYPE = 'application/json; charset=utf-8'
/** What senders to InfluxDB ask before they write is far shorter. */
const OPEN_STATEMENT_CHARACTERS_MAX = 1_024
/** Of a form; InfluxDB knows ten, and what comes behind them is not looked at. */
const FORM_PARAMETERS_MAX = 64

export interface QueryCollaborators extends InfluxqlSources {
  readonly tokens: AccessTokens
  readonly failedTokens: AddressLimit
  readonly openStatements: AddressLimit
  readonly rateLimits: RateLimits
  readonly dataIdentity: DataIdentity
  readonly bodies: BodyGate
  readonly smallBodies: SmallBodyReader
  readonly clock: Clock
}

/** Answers one statement. */
export class Queries {
  readonly #with: QueryCollaborators
  readonly #answers: LongAnswers

  constructor(collaborators: QueryCollaborators) {
    this.#with = collaborators
    this.#answers = new LongAnswers(statementAnswers, collaborators.clock)
  }

  /** @throws ServiceError when the statement is not answered */
  async answer(call: Call): Promise<void> {
    const token = readInfluxToken(call.ctx.req.headers.authorization)
    const caller = await this.#callerOf(call, token)
    if (caller === undefined) await this.#with.openStatements.count(call.ctx.req)
    else await this.#count(call, caller)
    const parameters = await this.#parameters(call, caller)
    const statement = parameters.get('q') ?? ''
    try {
      limitStatement(statement)
      const results = openResults(statement)
      if (results !== undefined) return answerJson(call, 200, JSON.stringify({ results }))
      const reader = await this.#readerOf(call, token, caller)
      checkEpoch(parameters.get('epoch'))
      await this.#read(call, reader, statement)
    } catch (error) {
      if (!(error instanceof StatementError)) throw error
      answerJson(call, 400, JSON.stringify({ error: error.message }))
    }
  }

  /** Who asks; `undefined`: somebody without a valid daemon token. */
  async #callerOf(call: Call, token: string | undefined): Promise<Principal | undefined> {
    if (token === undefined) return undefined
    const { ctx, receivedAtMs } = call
    const found = await this.#with.tokens.find(token, receivedAtMs, ctx.req.socket)
    return found?.token.kind === 'daemon' ? found : undefined
  }

  async #count({ ctx }: Call, caller: Principal): Promise<void> {
    const { dataIdentity, rateLimits } = this.#with
    ctx.state['principal'] = caller
    ctx.res.setHeader('Thermolog-Store', dataIdentity.id)
    await rateLimits.countRequest(caller.token, ctx.res)
  }

  /** The parameters of the query, and of a form where `q` is not in the query. */
  async #parameters(call: Call, caller: Principal | undefined): Promise<URLSearchParams> {
    const parameters = new URLSearchParams(call.query)
    if (parameters.has('q') || call.ctx.method !== 'POST') return parameters
    // Only the body of somebody who is known may be long.
    const { smallBodies } = this.#with
    const form = caller ? await this.#longForm(call, caller) : await smallBodies.readForm(call)
    for (const [name, value] of form) parameters.append(name, value)
    return parameters
  }

  #longForm(call: Call, principal: Principal): Promise<URLSearchParams> {
    return this.#with.bodies.read(sendingOf({ ...call, principal }), (bytes) => {
      const pairs = bytes.toString('utf8').split('&', FORM_PARAMETERS_MAX)
      return new URLSearchParams(pairs.join('&'))
    })
  }

  /** The caller if they may read. @throws ServiceError also to tell what their token lacks */
  async #readerOf(
    { ctx, receivedAtMs }: Call,
    token: string | undefined,
    caller: Principal | undefined,
  ): Promise<Principal> {
    const asked = { kind: 'daemon', nowMs: receivedAtMs } as const
    const reader = caller ?? (await authenticate(ctx.req, token, this.#with, asked))
    requireRight(reader, 'sensors:read')
    return reader
  }

  #read({ ctx, receivedAtMs }: Call, { user }: Principal, statement: string): Promise<void> {
    return answerInPieces(ctx, this.#answers, user.id, async () => {
      const asked = { userId: user.id, nowMs: receivedAtMs }
      const pieces = await answerStatement(statement, asked, this.#with)
      ctx.set('Content-Type', JSON_TYPE)
      return pieces
    })
  }
}

/** @throws StatementError if times are wanted in another unit */
function checkEpoch(epoch: string | null): void {
  if (epoch === null || epoch === 'ms') return
  throw new StatementError('times are in milliseconds: epoch=ms, or leave it out')
}

/** Results of what senders to InfluxDB ask before they write. */
function openResults(statement: string): readonly object[] | undefined {
  if (statement.length > OPEN_STATEMENT_CHARACTERS_MAX) return undefined
  const text = statement.trim().toLowerCase()
  const [verb, object, ...rest] = (text.endsWith(';') ? text.slice(0, -1) : text)
    .trimEnd()
    .split(/\s+/)
  if (verb === 'create' && object === 'database' && rest.length > 0) return [{ statement_id: 0 }]
  if (verb !== 'show' || object !== 'databases' || rest.length > 0) return undefined
  const series = [{ name: 'databases', columns: ['name'], values: [[DATABASE]] }]
  return [{ statement_id: 0, series }]
}
