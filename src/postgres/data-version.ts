// What PostgreSQL makes of opaque versions and cursors. Nothing in them is a time. An epoch, random
// and new after each restore or promotion, comes first: afterwards numbers are given again.

import type { DataVersion } from '../domain/sensor.ts'
import type { ChangesCursor } from '../ports/sensor-changes.ts'
import type { JournalPlace } from '../ports/journal-queue.ts'

/** Rows of the journal, at most one of each stream, as `stream:seq,stream:seq`. */
export type PlacesText = string

export function placesText(places: readonly JournalPlace[]): PlacesText {
  return places.map(({ stream, seq }) => `${stream}:${seq}`).join(',')
}

export function placesOf(text: PlacesText): readonly JournalPlace[] {
  if (text === '') return []
  return text.split(',').map((place) => {
    const [stream, seq] = place.split(':').map(Number)
    return { stream: stream ?? 0, seq: seq ?? 0 }
  })
}

/**
 * Of the sensor with the state `t`: the epoch, a number that grows with each change of its data,
 * and its last row in each stream that may not have forwarded it yet.
 */
export const DATA_VERSION = `
  (SELECT epoch FROM data_identity) || '|' || t.version || '|' || t.pending`

/** The rows that a reader of a version must find in the measurement store, and their epoch. */
export function pendingOf(version: DataVersion): {
  readonly epoch: string
  readonly places: readonly JournalPlace[]
} {
  const [epoch = '', , pending = ''] = version.split('|')
  return { epoch, places: placesOf(pending) }
}

/** What a client has seen that follows changes. */
export interface ClientSeen {
  /** Sensors heard from since then were shown online. */
  readonly onlineSinceMs: number
  readonly epoch: string
  /** One more with each registration, change and deletion of the user's sensors. */
  readonly settings: number
  /** The last row of each stream, by its number: from 0 on, without a gap. */
  readonly heads: readonly number[]
}

/** Numbers take nine digits even after a takeover. */
const RADIX = 36

export function changesCursorOf({
  onlineSinceMs,
  epoch,
  settings,
  heads,
}: ClientSeen): ChangesCursor {
  const numbers = [settings, ...heads].map((number) => number.toString(RADIX))
  return [onlineSinceMs, epoch, ...numbers].join('.')
}

/** @param cursor empty: of a client that has nothing, which is of no data */
export function seenByClient(cursor: ChangesCursor): ClientSeen {
  const [sinceMs, epoch = '', ...numbers] = cursor.split('.')
  const [settings = 0, ...heads] = numbers.map((digits) => parseInt(digits, RADIX))
  return { onlineSinceMs: Number(sinceMs), epoch, settings, heads }
}
