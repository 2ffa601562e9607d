// From when on the history of a sensor has changed, for clients that are at different places among
// the events: the oldest times of its last events, of which one that is not older than a later one
// says nothing.

/** One event that came with measurements. */
export interface HistoryRevision {
  readonly no: number
  readonly fromMs: number
}

/** Beyond it, the two earliest become one: never too late a time, for whoever is far behind. */
const REVISIONS_MAX = 8

export function withRevision(
  revisions: readonly HistoryRevision[],
  revision: HistoryRevision,
): readonly HistoryRevision[] {
  const kept = [...revisions.filter(({ fromMs }) => fromMs < revision.fromMs), revision]
  const [first, second, ...rest] = kept
  if (first === undefined || second === undefined || kept.length <= REVISIONS_MAX) return kept
  return [{ ...second, fromMs: first.fromMs }, ...rest]
}

/** The oldest time of the events after a number; `null`: they came with no measurements. */
export function changedFromMs(
  revisions: readonly HistoryRevision[],
  afterNo: number,
): number | null {
  return revisions.find(({ no }) => no > afterNo)?.fromMs ?? null
}
