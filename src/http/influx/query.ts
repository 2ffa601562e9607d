// InfluxQL, as Grafana and senders to InfluxDB send it: two statements that need no token, and
// reading for those who have one. The token comes first, so that all that follows is counted: for
// the token or, without a valid one, for the address.

import { answerStatements, needsSensors } from '../../influxql/answer-statement.ts'
import type { InfluxqlSources } from '../../influxql/answer-statement.ts'
import { limitStatement } from '../../influxql/limits.ts'
import { readStatements } from '../../influxql/read-statement.ts'
import { rowTextOf } from '../../influxql/row-text.ts'
import { StatementError } from '../../influxql/scanner.ts'
import { answerJson, JSON_TYPE } from '../call/call.ts'
import type { ApiCall, Call } from '../call/call.ts'
import { answerInPieces } from '../answers/long-answers.ts'
import type { LongAnswers } from '../answers/long-answers.ts'
import { sendingOf } from '../body/gate.ts'
import type { BodyGate } from '../body/gate.ts'
import type { SmallBodyReader } from '../body/read-small-body.ts'
import type { InfluxCallers } from './influx-callers.ts'

const DATABASE = 'thermolog'
/** What senders to InfluxDB ask before they write is far shorter. */
const OPEN_STATEMENT_CHARACTERS_MAX = 1_024
/** Of a form; InfluxDB knows ten, and what comes behind them is not looked at. */
const FORM_PARAMETERS_MAX = 64

export interface QueryCollaborators extends InfluxqlSources {
  readonly longAnswers: LongAnswers
  readonly bodies: BodyGate
  readonly smallBodies: SmallBodyReader
}

/** Answers statements. */
export class Queries {
  readonly #with: QueryCollaborators
  readonly #callers: InfluxCallers

  constructor(collaborators: QueryCollaborators, callers: InfluxCallers) {
    this.#with = collaborators
    this.#callers = callers
  }

  /** @throws ServiceError when the statement is not answered */
  async answer(call: Call): Promise<void> {
    const caller = await this.#callers.find(call)
    const parameters = await this.#parameters(call, caller)
    const statement = parameters.get('q') ?? ''
    try {
      limitStatement(statement)
      const results = openResults(statement)
      if (results !== undefined) return answerJson(call, 200, JSON.stringify({ results }))
      const reader = await this.#callers.readerOf(call, caller)
      await this.#read(reader, statement, parameters.get('epoch'))
    } catch (error) {
      if (!(error instanceof StatementError)) throw error
      answerJson(call, 400, JSON.stringify({ error: error.message }))
    }
  }

  /** The parameters of the query, and of a form where `q` is not in the query. */
  async #parameters(call: Call, caller: ApiCall | undefined): Promise<URLSearchParams> {
    const parameters = new URLSearchParams(call.query)
    if (parameters.has('q') || call.ctx.method !== 'POST') return parameters
    // Only the body of somebody who is known may be long.
    const { smallBodies } = this.#with
    const form = caller ? await this.#longForm(caller) : await smallBodies.readForm(call)
    for (const [name, value] of form) parameters.append(name, value)
    return parameters
  }

  #longForm(caller: ApiCall): Promise<URLSearchParams> {
    return this.#with.bodies.read(sendingOf(caller), (bytes) => {
      const pairs = bytes.toString('utf8').split('&', FORM_PARAMETERS_MAX)
      return new URLSearchParams(pairs.join('&'))
    })
  }

  async #read(
    { ctx, principal, receivedAtMs: nowMs }: ApiCall,
    text: string,
    epoch: string | null,
  ): Promise<void> {
    const { sensors, longAnswers } = this.#with
    const userId = principal.user.id
    const asked = { userId, nowMs, timedText: rowTextOf(epoch) }
    const statements = readStatements(text, nowMs)
    // Before it takes a place: the user's server may not answer, while those of others do.
    if (statements.some(needsSensors)) await sensors.readVersion(userId)
    await answerInPieces(ctx, longAnswers, userId, async () => {
      const pieces = await answerStatements(statements, asked, this.#with)
      ctx.set('Content-Type', JSON_TYPE)
      return pieces
    })
  }
}

/** Results of what senders to InfluxDB ask before they write. */
function openResults(statement: string): readonly object[] | undefined {
  if (statement.length > OPEN_STATEMENT_CHARACTERS_MAX) return undefined
  const text = statement.trim().toLowerCase()
  const one = (text.endsWith(';') ? text.slice(0, -1) : text).trimEnd()
  if (one.includes(';')) return undefined
  const [verb, object, ...rest] = one.split(/\s+/)
  if (verb === 'create' && object === 'database' && rest.length > 0) return [{ statement_id: 0 }]
  if (verb !== 'show' || object !== 'databases' || rest.length > 0) return undefined
  const series = [{ name: 'databases', columns: ['name'], values: [[DATABASE]] }]
  return [{ statement_id: 0, series }]
}
