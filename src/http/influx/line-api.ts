// The part of InfluxDB's HTTP API that senders and Grafana need, as a table. These calls have rules
// of their own: tokens in four spellings, responses in InfluxDB's form, and unknown parameters are
// ignored.

import { ServiceError } from '../../domain/errors.ts'
import type { Log, Metrics } from '../../ports/system.ts'
import { answerJson, ClientGone } from '../call.ts'
import type { Call } from '../call.ts'
import { logFault, publicError } from '../answers/errors.ts'
import { authenticate, readInfluxToken } from '../callers/authenticate.ts'
import { linesBody, statementForm } from '../body/gate.ts'
import { anything } from '../input.ts'
import { OpenRoutes } from '../routes.ts'
import type { RouteTable } from '../routes.ts'
import { answerFailure, answerUnread } from './line-answers.ts'
import type { WriteVersion } from './line-answers.ts'
import { Queries } from './query.ts'
import type { QueryCollaborators } from './query.ts'
import { LineWrites } from './write-lines.ts'
import type { LineIntake, LineSettings } from './write-lines.ts'

/** The version of InfluxDB that clients are told: they go by it in what they ask for. */
const INFLUX_VERSION = '2.7.0'

export interface LineApiCollaborators extends LineIntake, QueryCollaborators {
  readonly metrics: Metrics
  readonly draining: { readonly isOn: boolean }
  readonly log: Log
}

// prettier-ignore
export function lineApiRouter(
  collaborators: LineApiCollaborators,
  settings: LineSettings,
): RouteTable {
  const writes = new LineWrites(collaborators, settings)
  const open = new OpenRoutes('')
  const query = answerQuery(new Queries(collaborators), collaborators)
  const lines = { ...anything, bounds: linesBody }
  const statement = { ...anything, bounds: statementForm }

  open.add('POST /api/v2/write', lines,    write(writes, 'v2', collaborators))
  open.add('POST /write',        lines,    write(writes, 'v1', collaborators))
  open.add('GET /ping',          anything, sameSite(answerPing))
  open.add('GET /health',        anything, sameSite((call) => answerHealth(call, collaborators)))
  open.add('GET /query',         anything, query)
  open.add('POST /query',        statement, query)
  return open
}

function write(writes: LineWrites, version: WriteVersion, collaborators: LineApiCollaborators) {
  const { dataIdentity } = collaborators
  return async (call: Call): Promise<void> => {
    try {
      refuseCrossSite(call)
      const text = readInfluxToken(call.ctx.req.headers.authorization)
      const principal = await authenticate(call.ctx.req, text, collaborators, {
        kind: 'daemon',
        nowMs: call.receivedAtMs,
      })
      call.ctx.state['principal'] = principal
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
  const obstacle = draining.isOn ? 'shutting_down' : submissions.obstacle()
  const isReady = obstacle === undefined
  const health = {
    name: 'thermolog',
    message: isReady ? 'ready for writes' : `not ready for writes: ${obstacle}`,
    status: isReady ? 'pass' : 'fail',
    checks: [],
    version: INFLUX_VERSION,
  }
  answerJson(call, isReady ? 200 : 503, JSON.stringify(health))
}

function answerQuery(queries: Queries, { log }: LineApiCollaborators) {
  return async (call: Call): Promise<void> => {
    try {
      refuseCrossSite(call)
      await queries.answer(call)
    } catch (error) {
      if (error instanceof ClientGone) throw error
      logFault(log, call, error)
      answerUnread(call, publicError(error))
    }
  }
}
