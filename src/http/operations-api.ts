// What operators and load balancers ask. None of it needs a token, but for the metrics where the
// operator has set one.

import type { MetricsSource } from '../ports/system.ts'
import { showHealth, showReadiness } from './requests/health.ts'
import type { ReadinessSources } from './requests/health.ts'
import { showMetrics } from './requests/metrics.ts'
import type { LongAnswers } from './answers/long-answers.ts'
import { anything } from './routes/input.ts'
import { OpenRoutes, long, small } from './routes/routes.ts'
import type { RouteTable } from './routes/routes.ts'

export interface OperationsApiCollaborators extends ReadinessSources {
  readonly metrics: MetricsSource
  readonly lists: LongAnswers
}

// prettier-ignore
export function operationsRouter(
  { metrics, lists, ...sources }: OperationsApiCollaborators,
  { metricsToken }: { readonly metricsToken: string | undefined },
): RouteTable {
  const open = new OpenRoutes('')

  open.add('GET /healthz', anything, small(showHealth))
  open.add('GET /readyz',  anything, small(showReadiness(sources)))
  open.add('GET /metrics', anything, long(showMetrics({ metrics, lists }, metricsToken)))
  return open
}
