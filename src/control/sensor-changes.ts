// What has changed of a user's sensors since a client looked, as both engines answer it.

import { changesAgeMsMax, deletionsNamedMax } from '../domain/limits.ts'
import type { Sensor } from '../domain/sensor.ts'
import { HOUR_MS } from '../domain/time.ts'
import type { ChangesCursor, HistoryChange, SensorChanges } from '../ports/sensor-changes.ts'

/** Of the revision that stands for all that are too old. */
export const EVERYTHING_HOUR = -1_000_000_000

/** One more than are named. */
export const DELETIONS_READ_MAX = deletionsNamedMax + 1

/** What a changed sensor's row has besides the sensor. */
export interface Change {
  /** `null`: nothing was accepted. */
  readonly fromMs: number | null
  readonly isCompensated: boolean | 0 | 1
  /** Whether, as it is now, it was online then, and is not any more; `null`: it never was. */
  readonly isSilent: boolean | 0 | 1 | null
}

/** Whether a cursor is young enough to say what has changed since. */
export function isRecent(seen: { readonly onlineSinceMs: number }, onlineSinceMs: number): boolean {
  return seen.onlineSinceMs >= onlineSinceMs - changesAgeMsMax
}

/**
 * @param changed the sensors of which anything shown, or the history, has changed
 * @returns `undefined`: too much to tell
 */
export function changesOf(
  cursor: ChangesCursor,
  changed: readonly (readonly [Sensor, Change])[],
  deletedIds: readonly number[],
): SensorChanges | undefined {
  if (deletedIds.length > deletionsNamedMax) return undefined
  const histories = changed.flatMap(([{ id }, { fromMs, isCompensated }]): HistoryChange[] => {
    if (fromMs === null && !isCompensated) return []
    const isOld = fromMs !== null && fromMs <= EVERYTHING_HOUR * HOUR_MS
    const acceptedFromMs = isOld ? -Infinity : (fromMs ?? undefined)
    return [{ sensorId: id, acceptedFromMs, isCompensated: Boolean(isCompensated) }]
  })
  const sensors = changed.map(([sensor]) => sensor)
  const silentIds = changed.flatMap(([{ id }, { isSilent, fromMs }]) => {
    return isSilent && fromMs === null ? [id] : []
  })
  return { cursor, isReset: false, sensors, silentIds, deletedIds, histories }
}

/** For a client that has nothing that can be told from. */
export function resetTo(cursor: ChangesCursor, sensors: readonly Sensor[]): SensorChanges {
  return { cursor, isReset: true, sensors, silentIds: [], deletedIds: [], histories: [] }
}
