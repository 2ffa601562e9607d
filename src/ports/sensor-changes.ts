// What has changed of a user's sensors and their histories, for clients that keep them.

import type { OnlineTimes, Sensor } from '../domain/sensor.ts'

/**
 * How far a client has followed a user's changes: letters, digits, `-` and `.`, opaque to all but
 * its adapter. It gets back only what it has made for the same user, with these data or others.
 */
export type ChangesCursor = string

export interface ChangesQuestion {
  readonly userId: number
  readonly online: OnlineTimes
  /** `undefined`: the client has nothing. */
  readonly since: ChangesCursor | undefined
}

export interface SensorChanges {
  readonly cursor: ChangesCursor
  /** Whether `sensors` are all there are: the cursor is unknown, too old, or of other data. */
  readonly isReset: boolean
  /** By id; of a reset all, else those in which anything shown differs. */
  readonly sensors: readonly Sensor[]
  /** Those of them that have gone offline. */
  readonly silentIds: readonly number[]
  /** By id. */
  readonly deletedIds: readonly number[]
  /** By sensor. */
  readonly histories: readonly HistoryChange[]
}

export interface HistoryChange {
  readonly sensorId: number
  /**
   * At most an hour before the oldest measurement accepted; `-Infinity`: that is not known after
   * more than a week; `undefined`: there is none.
   */
  readonly acceptedFromMs: number | undefined
  /** All of it differs. */
  readonly isCompensated: boolean
}

export interface SensorChangesReader {
  /**
   * What has changed since a cursor, read at one moment: what was acknowledged before is in it, and
   * nothing falls between two cursors.
   */
  readChanges(question: ChangesQuestion): Promise<SensorChanges>
  /**
   * The same where it is little, without reading more.
   *
   * @returns `undefined`: more than so many sensors are changed or deleted, or it is a reset
   */
  readFewChanges(question: ChangesQuestion, countMax: number): Promise<SensorChanges | undefined>
}
