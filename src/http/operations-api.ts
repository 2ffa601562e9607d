// What operators and load balancers ask, and what error codes mean. None of it needs a token,
// but for the metrics where the operator has set one.

import { ServiceError } from '../domain/errors.ts'
import { SECOND_MS } from '../domain/time.ts'
import type { Submissions } from '../ingest/submissions.ts'
import type { QueueFigures } from '../ports/journal-queue.ts'
import { answerJson } from './answers/call.ts'
import type { Call } from './answers/call.ts'
import { showMetrics } from './requests/metrics.ts'
import type { MetricsSource } from './requests/metrics.ts'
import { anything } from './requests/input.ts'
import { explanationOf } from './answers/problems.ts'
import { OpenRoutes } from './requests/routes.ts'
import type { RouteTable } from './requests/routes.ts'
import type {
  HealthResponse,
  ProblemExplanationResponse,
  ReadinessResponse,
} from '../../schemas/messages.d.ts'

export interface OperationsApiCollaborators {
  readonly submissions: Submissions
  readonly progress: QueueFigures
  /** Whether the last write into the measurement store worked. */
  readonly isStoreWorking: () => boolean
  readonly isDraining: () => boolean
  readonly metrics: MetricsSource
}

// prettier-ignore
export function operationsRouter(
  collaborators: OperationsApiCollaborators,
  { metricsToken }: { readonly metricsToken: string | undefined },
): RouteTable {
  const { metrics } = collaborators
  const open = new OpenRoutes('')

  open.add('GET /healthz',        anything, showHealth)
  open.add('GET /readyz',         anything, (call) => showReadiness(call, collaborators))
  open.add('GET /metrics',        anything, showMetrics(metrics, metricsToken))
  open.add('GET /problems/:code', anything, explainProblem)
  return open
}

function showHealth(call: Call): void {
  const health: HealthResponse = { status: 'ok' }
  answerJson(call, 200, JSON.stringify(health))
}

function showReadiness(call: Call, collaborators: OperationsApiCollaborators): void {
  const { submissions, progress, isStoreWorking, isDraining } = collaborators
  const { entries, bytes, oldestAgeMs } = progress.backlog()
  const state: Omit<ReadinessResponse, 'status'> = {
    backlog: { entries, bytes, oldest_age_seconds: oldestAgeMs / SECOND_MS },
    measurement_store: isStoreWorking() ? 'ok' : 'failing',
  }
  const refusal = isDraining() ? 'shutting_down' : submissions.refusal()
  if (refusal !== undefined) throw submissions.refused(refusal, state)
  const readiness: ReadinessResponse = { status: 'ready', ...state }
  answerJson(call, 200, JSON.stringify(readiness))
}

function explainProblem(call: Call): void {
  const { ctx, parameters } = call
  const code = parameters['code'] ?? ''
  const known = explanationOf(code)
  if (known === undefined) throw new ServiceError('not_found')
  const { title, explanation, status } = known
  ctx.vary('Accept')
  ctx.set('Cache-Control', 'public, max-age=3600')
  if (ctx.accepts('json', 'html') === 'html') {
    ctx.type = 'html'
    ctx.body = explanationPage(code, title, explanation)
    return
  }
  const answer: ProblemExplanationResponse = {
    code,
    title,
    explanation,
    ...(status !== undefined && { status }),
  }
  answerJson(call, 200, JSON.stringify(answer))
}

/** All texts are our own and hold nothing that HTML would take for markup. */
function explanationPage(code: string, title: string, explanation: string): string {
  const text = explanation.replaceAll('<', '&lt;')
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body><h1>${title}</h1><p>${text}</p><p>Code: <code>${code}</code></p></body>
</html>
`
}
