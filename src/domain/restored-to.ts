// Up to when everything acknowledged is there, after a restore.

import { DAY_MS } from './time.ts'

/** Longer than daemons keep what they have delivered. */
const KEPT_MS = 7 * DAY_MS

/**
 * A daemon that was away sees one restore where there were two: it is told of the earlier loss.
 *
 * @param previousMs of the restore before, as these data have it; `null`: there was none
 * @param completeToMs what these data have of what was acknowledged
 */
export function restoredTo(previousMs: number | null, completeToMs: number): number {
  const isRecent = previousMs !== null && previousMs > completeToMs - KEPT_MS
  return isRecent ? Math.min(previousMs, completeToMs) : completeToMs
}
