// From when on a sensor's history has changed, for clients at different positions among the events:
// the oldest times of its last events. One that is not older than a later one tells nothing, and is
// not kept.

/** One event that came with measurements. */
export interface HistoryRevision {
  readonly no: number
  readonly fromMs: number
}

/** Beyond this, the two earliest are merged: clients far behind may get too early a time. */
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

/** The oldest time of the events after a number; `null`: none came with measurements. */
export function changedFromMs(
  revisions: readonly HistoryRevision[],
  afterNo: number,
): number | null {
  return revisions.find(({ no }) => no > afterNo)?.fromMs ?? null
}
