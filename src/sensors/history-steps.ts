// From when on the history of a sensor has changed, for clients that are at different places among
// the events: the oldest times of its last events, of which one that is not older than a later one
// says nothing.

/** One event that came with measurements. */
export interface HistoryStep {
  readonly no: number
  readonly fromMs: number
}

/** Beyond it, the two earliest become one: never too late a time, for whoever is far behind. */
const STEPS_MAX = 8

export function withStep(steps: readonly HistoryStep[], step: HistoryStep): readonly HistoryStep[] {
  const kept = [...steps.filter(({ fromMs }) => fromMs < step.fromMs), step]
  const [first, second, ...rest] = kept
  if (first === undefined || second === undefined || kept.length <= STEPS_MAX) return kept
  return [{ ...second, fromMs: first.fromMs }, ...rest]
}

/** The oldest time of the events after a number; `null`: they came with no measurements. */
export function changedFromMs(steps: readonly HistoryStep[], afterNo: number): number | null {
  return steps.find(({ no }) => no > afterNo)?.fromMs ?? null
}
