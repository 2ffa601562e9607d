// Versions and cursors on PostgreSQL. They tell new rows by their numbers, never by a time, and
// carry the epoch of the data, new after each restore, because numbers may repeat then.

import type { DataVersion, OnlineTimes } from '../domain/sensor.ts'
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
 * SQL, for the sensor with the state `t`: the epoch, a number that grows with each change of its
 * data, and its last row in each stream that may not have forwarded it yet.
 */
export const DATA_VERSION = `
  (SELECT epoch FROM data_identity) || '|' || t.version || '|' || t.pending`

/** The rows that must be in the measurement store for a version to be readable, and their epoch. */
export function pendingOf(version: DataVersion): {
  readonly epoch: string
  readonly places: readonly JournalPlace[]
} {
  const [epoch = '', , pending = ''] = version.split('|')
  return { epoch, places: placesOf(pending) }
}

/** What a client that follows changes has seen. */
export interface ClientSeen {
  /** By which sensors were shown online. */
  readonly online: OnlineTimes
  readonly epoch: string
  /** Counts registrations, changes and deletions of the user's sensors. */
  readonly settings: number
  /** The last row of each stream, by the stream's number: from 0 on, without gaps. */
  readonly heads: readonly number[]
}

/** Keeps numbers to nine digits even after a restore. */
const RADIX = 36

export function changesCursorOf({ online, epoch, settings, heads }: ClientSeen): ChangesCursor {
  const numbers = [settings, ...heads].map((number) => number.toString(RADIX))
  return [online.sinceMs, online.untilMs, epoch, ...numbers].join('.')
}

/** @param cursor empty for a client that has nothing: then the epoch is no one's */
export function seenByClient(cursor: ChangesCursor): ClientSeen {
  const [sinceMs, untilMs = 0, epoch = '', ...numbers] = cursor.split('.')
  const [settings = 0, ...heads] = numbers.map((digits) => parseInt(digits, RADIX))
  const online = { sinceMs: Number(sinceMs), untilMs: Number(untilMs) }
  return { online, epoch, settings, heads }
}
