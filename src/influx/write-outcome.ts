// What a response to a write means for its lines: this table alone decides.
//
// Only InfluxDB's own response may settle a line permanently. The same status from a proxy, or from
// another server at a wrong URL, says nothing about the data.

import { SECOND_MS } from '../domain/time.ts'
import { readFailure } from './connection.ts'
import type { InfluxAnswer } from './connection.ts'

export type WriteOutcome =
  /** All lines are durable. */
  | { readonly kind: 'accepted' }
  /** The outcome is unknown for every line: retry the same later. */
  | {
      readonly kind: 'kept'
      readonly reason: string
      readonly retryAfterMs: number | undefined
      /** Whether the lines may still be applied. */
      readonly isOutcomeUnknown: boolean
    }
  /** Our settings or rights are wrong, not the data: retry the same once they are fixed. */
  | {
      readonly kind: 'paused'
      readonly reason: string
      readonly retryAfterMs: number | undefined
    }
  /** No line was written, because of at least one bad line. */
  | { readonly kind: 'rejected'; readonly reason: string }
  /** Some lines will never be written, the others were. */
  | {
      readonly kind: 'rejected_in_part'
      readonly reason: string
      /** How many, where InfluxDB says it. */
      readonly droppedLines: number | undefined
    }
  /** No line was written: too many at once. */
  | { readonly kind: 'too_large'; readonly reason: string }

/** @param nowMs wall time, for a `Retry-After` that is a date */
export function writeOutcome(answer: InfluxAnswer, nowMs: number): WriteOutcome {
  const { status, body } = answer
  const { code, message } = readFailure(body)
  const reason = message === '' ? `status ${status}` : `${message} (status ${status})`
  const isOwn = code !== undefined
  const retryAfterMs = readRetryAfter(answer.headers['retry-after'], nowMs)
  if (status === 204) return { kind: 'accepted' }
  if (status === 400 && isOwn) return { kind: 'rejected', reason }
  if (status === 422 && isOwn) {
    return { kind: 'rejected_in_part', reason, droppedLines: readDropped(message) }
  }
  if (status === 413) return { kind: 'too_large', reason }
  if (status === 429) return { kind: 'kept', reason, retryAfterMs, isOutcomeUnknown: false }
  if (status >= 500 || status === 408 || status === 425) {
    return { kind: 'kept', reason, retryAfterMs, isOutcomeUnknown: true }
  }
  const hint = pauseHint(status, isOwn)
  return { kind: 'paused', reason: `${hint}: ${reason}`, retryAfterMs }
}

/** `Retry-After` is a number of seconds or a date; `undefined` when it is neither. */
export function readRetryAfter(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND_MS
  const atMs = Date.parse(text)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}

function readDropped(message: string): number | undefined {
  const [, dropped] = /\bdropped=(\d+)\b/.exec(message) ?? []
  return dropped === undefined ? undefined : Number(dropped)
}

function pauseHint(status: number, isOwn: boolean): string {
  if (status === 401) return 'INFLUX_TOKEN is not accepted'
  if (status === 403) return 'INFLUX_TOKEN may not write to INFLUX_BUCKET'
  if (status === 404 && isOwn) return 'INFLUX_ORG or INFLUX_BUCKET is not there'
  return 'INFLUX_URL does not lead to an InfluxDB 2'
}
