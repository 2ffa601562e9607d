// How a failed operation is told: over the socket as JSON, to a person as words.

import { ServiceError } from '../domain/errors.ts'
import { OperationError } from './operations.ts'
import type { Failure } from './operations.ts'

/**
 * Makes a failure of what could not be done.
 *
 * @param hint what to do about it
 */
export function failed(message: string, hint?: string, options?: ErrorOptions): OperationError {
  const failure = { kind: 'failed' as const, message, ...(hint !== undefined && { hint }) }
  return new OperationError(failure, options)
}

/** @returns what there is to tell, `undefined` for an error that is a fault of ours */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof OperationError) return error.failure
  if (!(error instanceof ServiceError) || error.code === 'internal_error') return undefined
  return {
    kind: 'failed',
    message: error.detail ?? error.code.replaceAll('_', ' '),
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(error.retryAfterSeconds === undefined
      ? {}
      : { retryAfterSeconds: error.retryAfterSeconds }),
    ...(error.faults === undefined ? {} : { faults: error.faults }),
  }
}
