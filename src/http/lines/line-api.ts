// The part of InfluxDB's HTTP API that senders need, as a table. These calls have rules of their
// own: tokens in four spellings, responses in InfluxDB's form, and unknown parameters are ignored.

import type { AccessTokens } from '../../access/tokens.ts'
import { refusalError, ServiceError } from '../../domain/errors.ts'
import type { DataIdentity } from '../../ports/control-reader.ts'
import type { Log, Metrics } from '../../ports/system.ts'
import { answerJson, ClientGone } from '../answers/call.ts'
import type { Call } from '../answers/call.ts'
import { logFault, publicError } from '../answers/errors.ts'
import { authenticate, readInfluxToken } from '../callers/authenticate.ts'
import type { AddressLimit } from '../callers/rate-limit.ts'
import type { SmallBodyReader } from '../body/read-small-body.ts'
import { anything } from '../requests/input.ts'
import { OpenRoutes } from '../requests/routes.ts'
import type { RouteTable } from '../requests/routes.ts'
import { answerFailure } from './line-answers.ts'
import type { WriteVersion } from './line-answers.ts'
import { LineWrites } from './write-lines.ts'
import type { LineIntake, LineSettings } from './write-lines.ts'

/** The version of InfluxDB that clients are told: they go by it in what they ask for. */
const INFLUX_VERSION = '2.7.0'
const DATABASE = 'thermolog'

export interface LineApiCollaborators extends LineIntake {
  readonly tokens: AccessTokens
  readonly failedTokens: AddressLimit
  readonly dataIdentity: DataIdentity
  readonly smallBodies: SmallBodyReader
  readonly draining: { readonly isOn: boolean }
  readonly metrics: Metrics
  readonly log: Log
}

// prettier-ignore
export function lineApiRouter(
  collaborators: LineApiCollaborators,
  settings: LineSettings,
): RouteTable {
  const writes = new LineWrites(collaborators, settings)
  const open = new OpenRoutes('')
  const query = answerQuery(collaborators)

  open.add('POST /api/v2/write', anything, write(writes, 'v2', collaborators))
  open.add('POST /write',        anything, write(writes, 'v1', collaborators))
  open.add('GET /ping',          anything, sameSite(answerPing))
  open.add('GET /health',        anything, sameSite((call) => answerHealth(call, collaborators)))
  open.add('GET /query',         anything, query)
  open.add('POST /query',        anything, query)
  return open
}

function write(writes: LineWrites, version: WriteVersion, collaborators: LineApiCollaborators) {
  const { dataIdentity, draining } = collaborators
  return async (call: Call): Promise<void> => {
    try {
      refuseCrossSite(call)
      if (draining.isOn) throw refusalError('shutting_down')
      const text = readInfluxToken(call.ctx.req.headers.authorization)
      const principal = await authenticate(call.ctx.req, text, collaborators, {
        kind: 'daemon',
        nowMs: call.receivedAtMs,
      })
      call.ctx.res.setHeader('Thermolog-Store', dataIdentity.id)
      await writes.write(call, principal, version)
    } catch (error) {
      if (error instanceof ClientGone) throw error
      tellFailure(call, version, error, collaborators)
    }
  }
}

function tellFailure(
  call: Call,
  version: WriteVersion,
  error: unknown,
  { metrics, log }: LineApiCollaborators,
): void {
  const failure = publicError(error)
  metrics.noteRefusedSubmission(failure.code)
  logFault(log, call, error)
  answerFailure(call, version, failure)
}

/** Pages of other sites may not reach a service in their reader's network. */
function refuseCrossSite({ ctx }: Call): void {
  if (ctx.req.headers['sec-fetch-site'] !== 'cross-site') return
  const detail = 'Pages of other sites may not make this request.'
  throw new ServiceError('insufficient_scope', { detail })
}

function sameSite(answer: (call: Call) => void | Promise<void>) {
  return async (call: Call): Promise<void> => {
    try {
      refuseCrossSite(call)
      await answer(call)
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      answerFailure(call, 'v1', error)
    }
  }
}

function answerPing(call: Call): void {
  const { ctx, query } = call
  ctx.set({ 'X-Influxdb-Version': INFLUX_VERSION, 'X-Influxdb-Build': 'thermolog' })
  const isVerbose = new URLSearchParams(query).get('verbose') === 'true'
  if (isVerbose) answerJson(call, 200, JSON.stringify({ version: INFLUX_VERSION }))
  else ctx.status = 204
}

function answerHealth(call: Call, { submissions, draining }: LineApiCollaborators): void {
  const refusal = draining.isOn ? 'shutting_down' : submissions.refusal()
  const isReady = refusal === undefined
  const health = {
    name: 'thermolog',
    message: isReady ? 'ready for writes' : `not ready for writes: ${refusal}`,
    status: isReady ? 'pass' : 'fail',
    checks: [],
    version: INFLUX_VERSION,
  }
  answerJson(call, isReady ? 200 : 503, JSON.stringify(health))
}

function answerQuery({ smallBodies }: LineApiCollaborators) {
  return sameSite(async (call) => {
    const { ctx, query } = call
    const inQuery = new URLSearchParams(query).get('q')
    const mayHaveForm = inQuery === null && ctx.method === 'POST'
    const statement = mayHaveForm ? (await smallBodies.readForm(ctx)).get('q') : inQuery
    const results = resultsOf(statement ?? '')
    if (results !== undefined) return answerJson(call, 200, JSON.stringify({ results }))
    const error = 'only CREATE DATABASE and SHOW DATABASES are known here'
    answerJson(call, 400, JSON.stringify({ error }))
  })
}

function resultsOf(statement: string): readonly object[] | undefined {
  if (/^\s*create\s+database\s+\S/i.test(statement)) return [{ statement_id: 0 }]
  if (!/^\s*show\s+databases\s*;?\s*$/i.test(statement)) return undefined
  const series = [{ name: 'databases', columns: ['name'], values: [[DATABASE]] }]
  return [{ statement_id: 0, series }]
}
