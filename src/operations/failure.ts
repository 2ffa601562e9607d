// Why something that an operator asked for was not done, for people: what is wrong, and what to do
// about it. It crosses the socket, so it is plain JSON.

import { ServiceError } from '../domain/errors.ts'
import type { RequestFault } from '../domain/errors.ts'

/** Why an operation failed, for people. */
export interface Failure {
  /** `usage`: the request itself is wrong; `failed`: it is valid, but could not be carried out. */
  readonly kind: 'usage' | 'failed'
  readonly message: string
  /** What to do about it. */
  readonly hint?: string
  /** When to retry. */
  readonly retryAfterSeconds?: number
  /** Of an import: the faults of its measurements. */
  readonly faults?: readonly RequestFault[]
}

/** An operation that was not carried out. */
export class OperationError extends Error {
  readonly failure: Failure

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.message, options)
    this.name = 'OperationError'
    this.failure = failure
  }
}

/**
 * Creates the error of an operation that could not be carried out.
 *
 * @param hint what to do about it
 */
export function failed(message: string, hint?: string, options?: ErrorOptions): OperationError {
  const failure = { kind: 'failed' as const, message, ...(hint !== undefined && { hint }) }
  return new OperationError(failure, options)
}

/** Creates an error of wrong usage. */
export function usage(message: string, hint?: string): OperationError {
  return new OperationError({ kind: 'usage', message, ...(hint === undefined ? {} : { hint }) })
}

/** @returns the failure to report, `undefined` for an error that is our own bug */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof OperationError) return error.failure
  if (!(error instanceof ServiceError) || error.code === 'internal_error') return undefined
  const { code, detail, hint, retryAfterSeconds, faults } = error
  return {
    kind: 'failed',
    message: detail ?? code.replaceAll('_', ' '),
    ...(hint !== undefined && { hint }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(faults !== undefined && { faults }),
  }
}
