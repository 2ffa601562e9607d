// From when on the history of a sensor has changed, for clients that are at different places among
// the events: the oldest times of its last events, of which one that is not older than a later one
// says nothing.

import { MINUTE_MS } from '../domain/time.ts'

/** One event that came with measurements. */
export interface HistoryStep {
  readonly no: number
  readonly fromMs: number
  /** Of the monotonic clock. */
  readonly notedAtMs: number
}

/** Longer than a client can be behind: away until it resumes, and reading slowly before. */
const KEPT_MS = 15 * MINUTE_MS
/** Beyond it, the two earliest become one. */
const STEPS_MAX = 8

export function withStep(steps: readonly HistoryStep[], step: HistoryStep): readonly HistoryStep[] {
  const kept = steps.filter(({ fromMs, notedAtMs }) => {
    return fromMs < step.fromMs && notedAtMs > step.notedAtMs - KEPT_MS
  })
  const [first, second, ...rest] = [...kept, step]
  if (first === undefined || second === undefined || rest.length < STEPS_MAX - 1) {
    return [...kept, step]
  }
  return [{ ...second, fromMs: first.fromMs }, ...rest]
}

/** The oldest time of the events after a number; `null`: they came with no measurements. */
export function changedFromMs(steps: readonly HistoryStep[], afterNo: number): number | null {
  return steps.find(({ no }) => no > afterNo)?.fromMs ?? null
}
