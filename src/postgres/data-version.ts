// What PostgreSQL makes of opaque versions and cursors. Nothing in them is a time. An epoch, random
// and new after each restore or promotion, comes first: afterwards numbers are given again.

import type { DataVersion } from '../domain/sensor.ts'
import type { ChangesCursor } from '../ports/sensor-changes.ts'
import type { SensorCursor } from '../ports/control-reader.ts'
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

interface SensorData {
  readonly epoch: string
  /** One more with each change of the sensor's data. */
  readonly version: number
  /** Its last row in each stream that may not have forwarded it yet. */
  readonly pending: PlacesText
}

export function versionOf({ epoch, version, pending }: SensorData): DataVersion {
  return `${epoch}|${version}|${pending}`
}

/** The rows that a reader of a version must find in the measurement store, and their epoch. */
export function pendingOf(version: DataVersion): {
  readonly epoch: string
  readonly places: readonly JournalPlace[]
} {
  const [epoch = '', , pending = ''] = version.split('|')
  return { epoch, places: placesOf(pending) }
}

interface SeenSensors {
  readonly epoch: string
  /** One more with each registration, change and deletion of the user's sensors. */
  readonly settings: number
  /** The last row of each stream, by its number: from 0 on, without a gap. */
  readonly heads: readonly number[]
}

/** Numbers take nine digits even after a takeover. */
const RADIX = 36

export function cursorOf({ epoch, settings, heads }: SeenSensors): SensorCursor {
  return [epoch, ...[settings, ...heads].map((number) => number.toString(RADIX))].join('.')
}

export function seenAt(cursor: SensorCursor): SeenSensors {
  const [epoch = '', ...numbers] = cursor.split('.')
  const [settings = 0, ...heads] = numbers.map((digits) => parseInt(digits, RADIX))
  return { epoch, settings, heads }
}

/** What a client has seen that follows changes. */
export interface ClientSeen extends SeenSensors {
  /** Sensors heard from since then were shown online. */
  readonly onlineSinceMs: number
}

export function changesCursorOf({ onlineSinceMs, ...seen }: ClientSeen): ChangesCursor {
  return `${onlineSinceMs}.${cursorOf(seen)}`
}

export function seenByClient(cursor: ChangesCursor): ClientSeen {
  const end = cursor.indexOf('.')
  return { ...seenAt(cursor.slice(end + 1)), onlineSinceMs: Number(cursor.slice(0, end)) }
}
