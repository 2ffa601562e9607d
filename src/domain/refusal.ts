// Why nothing is taken for the time being, and when it is worth sending again.

import { ServiceError } from './errors.ts'
import type { ServiceErrorOptions } from './errors.ts'

export type Refusal = 'overloaded' | 'storage_full' | 'clock_unset' | 'shutting_down'

type Postponed = Refusal | 'outcome_unknown'

const RETRY_AFTER_SECONDS: Readonly<Record<Postponed, number>> = {
  overloaded: 1,
  storage_full: 60,
  clock_unset: 30,
  shutting_down: 5,
  outcome_unknown: 1,
}

/** A refusal, or not knowing what became of a commit, as the failure that a client is told of. */
export function refusalError(
  refusal: Postponed,
  options: Pick<ServiceErrorOptions, 'detail' | 'members' | 'hint' | 'cause'> = {},
): ServiceError {
  return new ServiceError(refusal, { retryAfterSeconds: RETRY_AFTER_SECONDS[refusal], ...options })
}
