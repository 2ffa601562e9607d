// Reading values of requests: what all of them have in common.

import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'

const INSTANT_DETAIL = 'must be a time like 2026-11-20T10:15:00.000Z or 2026-11-20T11:15:00+01:00'

/** @throws ServiceError `validation_failed` with every fault, if there is any */
export function throwFaults(
  faults: readonly RequestFault[],
  members: Readonly<Record<string, unknown>> = {},
): void {
  if (faults.length === 0) return
  const detail = faults.length === 1 ? 'The request has one fault.' : undefined
  throw new ServiceError('validation_failed', {
    detail: detail ?? `The request has ${faults.length} faults.`,
    faults,
    members,
  })
}

/** Whether a text is not longer than that; a very long one is not counted through. */
export function hasAtMost(codePointsMax: number, text: string): boolean {
  return text.length <= 2 * codePointsMax && Array.from(text).length <= codePointsMax
}

export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

export function loneSurrogate(pointer: string): RequestFault {
  return { pointer, code: 'lone_surrogate', detail: 'must be well-formed Unicode' }
}

export function notAnInstant(pointer: string): RequestFault {
  return { pointer, code: 'format', detail: INSTANT_DETAIL }
}
