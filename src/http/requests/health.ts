// Whether the service runs, and whether it takes submissions.

import type { HealthResponse, ReadinessResponse } from '../../../schemas/messages.d.ts'
import type { DamageList } from '../../ingest/damage-list.ts'
import { postponedError } from '../../domain/errors.ts'
import { RESTORE_BACKUP } from '../../domain/finding.ts'
import { SECOND_MS } from '../../domain/time.ts'
import type { Submissions } from '../../ingest/submissions.ts'
import type { QueueFigures } from '../../ports/journal-queue.ts'
import type { ClockWatch, DatabaseWatch } from '../../ports/system.ts'
import { answerJson } from '../call/call.ts'
import type { Call } from '../call/call.ts'

/** All who come through it count as one caller. */
const UNNAMED_PROXY = 'Requests come through a proxy that TRUST_PROXY does not name.'

export interface ReadinessSources {
  readonly submissions: Submissions
  readonly damaged: DamageList
  readonly progress: QueueFigures
  /** Whether the last write into the measurement store worked. */
  readonly isStoreWorking: () => boolean
  readonly draining: { readonly isOn: boolean }
  readonly addresses: { readonly hasUnnamedProxy: boolean }
  readonly clockWatch: ClockWatch
  /** `undefined`: there is none. */
  readonly database?: DatabaseWatch
}

export function showHealth(call: Call): void {
  const health: HealthResponse = { status: 'ok' }
  answerJson(call, 200, JSON.stringify(health))
}

export function showReadiness(sources: ReadinessSources) {
  const { submissions, damaged, progress, isStoreWorking, draining, database, clockWatch } = sources
  return (call: Call): void => {
    const { entries, bytes, oldestAgeMs } = progress.backlog()
    const state: Omit<ReadinessResponse, 'status'> = {
      backlog: { entries, bytes, oldest_age_seconds: oldestAgeMs / SECOND_MS },
      measurement_store: isStoreWorking() ? 'ok' : 'failing',
      ...(damaged.problems.length > 0 && {
        damaged: { problems: [...damaged.problems], remedy: RESTORE_BACKUP },
      }),
      ...(database !== undefined && { database: database.state }),
    }
    const obstacle = draining.isOn ? 'shutting_down' : submissions.obstacle()
    if (obstacle !== undefined) throw submissions.errorOf(obstacle, state)
    const fault = database?.fault
    if (fault !== undefined) throw postponedError('overloaded', { detail: fault, members: state })
    const warnings = clockWatch.warning === undefined ? [] : [clockWatch.warning]
    if (sources.addresses.hasUnnamedProxy) warnings.push(UNNAMED_PROXY)
    const readiness: ReadinessResponse = {
      status: 'ready',
      ...state,
      ...(warnings.length > 0 && { warnings }),
    }
    answerJson(call, 200, JSON.stringify(readiness))
  }
}
