// Changes of a user's sensors since a client last looked, as both engines report them.

import { changesAgeMsMax, deletionsNamedMax } from '../domain/limits.ts'
import type { OnlineTimes, Sensor } from '../domain/sensor.ts'
import { HOUR_MS } from '../domain/time.ts'
import type {
  ChangesCursor,
  ChangesQuestion,
  HistoryChange,
  SensorChanges,
} from '../ports/sensor-changes.ts'
import type { Flow } from './flow.ts'

/** The hour of the revision that stands for all revisions too old to keep. */
export const EVERYTHING_HOUR = -1_000_000_000

/** One more than may be named. */
export const DELETIONS_READ_MAX = deletionsNamedMax + 1

/** Columns of a changed sensor's row besides the sensor. */
export interface Change {
  /** `null`: nothing was accepted. */
  readonly fromMs: number | null
  readonly isCompensated: boolean | 0 | 1
  /** Whether it was online then but is not any more. */
  readonly isSilent: boolean | 0 | 1
}

/** Whether a cursor is recent enough to report changes since. */
export function isRecent(seen: OnlineTimes, now: OnlineTimes): boolean {
  return seen.sinceMs >= now.sinceMs - changesAgeMsMax
}

/**
 * @param changed the sensors with changes in anything shown, or in the history
 * @returns `undefined`: too many changes to report
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

/** For a client with no valid earlier state. */
function resetTo(cursor: ChangesCursor, sensors: readonly Sensor[]): SensorChanges {
  return { cursor, isReset: true, sensors, silentIds: [], deletedIds: [], histories: [] }
}

/** What is beyond a cursor, at one moment. */
export interface ChangesSince {
  /** Of that moment. */
  readonly cursor: ChangesCursor
  /** `undefined`: the cursor is unknown, or there are too many to report. */
  readonly changes: SensorChanges | undefined
}

/** More sensors than anybody has. */
const ALL = 2 ** 31 - 1

/** The calls of the port. @param changesSince reads at most so many sensors, by id */
export function changesReads(
  changesSince: (question: ChangesQuestion, sensorsMax: number) => Flow<ChangesSince>,
  listSensors: (userId: number) => Flow<readonly Sensor[]>,
) {
  return {
    *readChanges(question: ChangesQuestion): Flow<SensorChanges> {
      const { cursor, changes } = yield* changesSince(question, ALL)
      // Read at the cursor's moment or after it: later changes are told again.
      return changes ?? resetTo(cursor, yield* listSensors(question.userId))
    },

    *readFewChanges(question: ChangesQuestion, countMax: number): Flow<SensorChanges | undefined> {
      const { changes } = yield* changesSince(question, countMax + 1)
      if (changes === undefined) return undefined
      const count = changes.sensors.length + changes.deletedIds.length
      return count <= countMax ? changes : undefined
    },
  }
}
