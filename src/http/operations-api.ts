// What operators and load balancers ask. None of it needs a token, but for the metrics where the
// operator has set one.

import { RESTORE_BACKUP } from '../domain/finding.ts'
import { SECOND_MS } from '../domain/time.ts'
import type { Submissions } from '../ingest/submissions.ts'
import type { QueueFigures } from '../ports/journal-queue.ts'
import { answerJson } from './answers/call.ts'
import type { Call } from './answers/call.ts'
import { showMetrics } from './requests/metrics.ts'
import type { MetricsSource } from './requests/metrics.ts'
import { anything } from './requests/input.ts'
import { OpenRoutes } from './requests/routes.ts'
import type { RouteTable } from './requests/routes.ts'
import type { HealthResponse, ReadinessResponse } from '../../schemas/messages.d.ts'

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

  open.add('GET /healthz', anything, showHealth)
  open.add('GET /readyz',  anything, (call) => showReadiness(call, collaborators))
  open.add('GET /metrics', anything, showMetrics(metrics, metricsToken))
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
    ...(submissions.damaged.length > 0 && {
      damaged: { problems: [...submissions.damaged], remedy: RESTORE_BACKUP },
    }),
  }
  const refusal = isDraining() ? 'shutting_down' : submissions.refusal()
  if (refusal !== undefined) throw submissions.refused(refusal, state)
  const readiness: ReadinessResponse = { status: 'ready', ...state }
  answerJson(call, 200, JSON.stringify(readiness))
}
