// The part of InfluxDB's HTTP API that senders and Grafana need, as a table. These calls have rules
// of their own: tokens in four spellings, responses in InfluxDB's form, and unknown parameters are
// ignored.

import type { Log, Metrics } from '../../ports/system.ts'
import { answerJson, ClientGone } from '../call/call.ts'
import type { Call } from '../call/call.ts'
import { linesBody, statementForm } from '../body/gate.ts'
import { anything } from '../routes/input.ts'
import { OpenRoutes, long, receipt, small } from '../routes/routes.ts'
import type { RouteTable } from '../routes/routes.ts'
import { InfluxCallers, refuseCrossSite } from './influx-callers.ts'
import type { InfluxCallersCollaborators } from './influx-callers.ts'
import { answerFailure, answerUnread } from './line-answers.ts'
import type { WriteVersion } from './line-answers.ts'
import { Queries } from './query.ts'
import type { QueryCollaborators } from './query.ts'
import { LineWrites } from './write-lines.ts'
import type { LineIntake, LineSettings } from './write-lines.ts'

/** The version of InfluxDB that clients are told: they go by it in what they ask for. */
const INFLUX_VERSION = '2.7.0'

export interface LineApiCollaborators
  extends LineIntake, QueryCollaborators, InfluxCallersCollaborators {
  readonly metrics: Metrics
  readonly draining: { readonly isOn: boolean }
  readonly log: Log
}

// prettier-ignore
export function lineApiRouter(
  collaborators: LineApiCollaborators,
  settings: LineSettings,
): RouteTable {
  const { metrics, log } = collaborators
  const callers = new InfluxCallers(collaborators)
  const writes = new LineWrites(collaborators, settings)
  const queries = new Queries(collaborators, callers)
  const open = new OpenRoutes('')
  const lines = { ...anything, bounds: linesBody }
  const statement = { ...anything, bounds: statementForm }
  const write = (version: WriteVersion) => sameSite(
    async (call) => writes.write(await callers.writerOf(call), version),
    (call, error) => metrics.noteRefusedSubmission(answerFailure(call, version, error, log)),
  )
  const query = sameSite(
    (call) => queries.answer(call),
    (call, error) => answerUnread(call, error, log),
  )
  const fail = (call: Call, error: unknown) => void answerFailure(call, 'v1', error, log)
  const health = sameSite((call) => answerHealth(call, collaborators), fail)

  open.add('POST /api/v2/write', lines,     receipt(write('v2')))
  open.add('POST /write',        lines,     receipt(write('v1')))
  open.add('GET /ping',          anything,  small(sameSite(answerPing, fail)))
  open.add('GET /health',        anything,  small(health))
  open.add('GET /query',         anything,  long(query))
  open.add('POST /query',        statement, long(query))
  return open
}

/** Answers, or says what failed; not to pages of other sites. */
function sameSite(
  answer: (call: Call) => void | Promise<void>,
  fail: (call: Call, error: unknown) => void,
) {
  return async (call: Call): Promise<void> => {
    try {
      refuseCrossSite(call)
      await answer(call)
    } catch (error) {
      if (error instanceof ClientGone) throw error
      fail(call, error)
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
