// SQLite's form of opaque versions and cursors: the journal has one writer, so a reader's position
// is the number of a row.

import type { DataVersion } from '../domain/sensor.ts'
import type { ChangesCursor } from '../ports/sensor-changes.ts'
import type { SensorCursor } from '../ports/control-reader.ts'

/** Everything accepted up to a row of the journal. */
export function versionOf(seq: number): DataVersion {
  return String(seq)
}

/** The journal row that a version names. */
export function seqOf(version: DataVersion): number {
  return Number(version)
}

interface SeenSensors {
  readonly dataSeq: number
  readonly settings: string
}

export function cursorOf({ dataSeq, settings }: SeenSensors): SensorCursor {
  return `${dataSeq}|${settings}`
}

export function seenAt(cursor: SensorCursor): SeenSensors {
  const end = cursor.indexOf('|')
  return { dataSeq: Number(cursor.slice(0, end)), settings: cursor.slice(end + 1) }
}

/** What a client has seen that follows changes. */
export interface ClientSeen {
  readonly dataId: string
  readonly userId: number
  /** The last row of the journal. */
  readonly seq: number
  /** Sensors heard from since then were shown online. */
  readonly onlineSinceMs: number
}

export function changesCursorOf({ dataId, userId, seq, onlineSinceMs }: ClientSeen): ChangesCursor {
  return [dataId, userId, seq, onlineSinceMs].join('|')
}

/** @returns `undefined` for what is no cursor: it comes from clients */
export function seenByClient(cursor: ChangesCursor): ClientSeen | undefined {
  const [, dataId = '', ...numbers] = /^(\w+)\|(\d+)\|(\d+)\|(-?\d+)$/.exec(cursor) ?? []
  const [userId = NaN, seq = NaN, onlineSinceMs = NaN] = numbers.map(Number)
  const isWhole = [userId, seq, onlineSinceMs].every(Number.isSafeInteger)
  return isWhole ? { dataId, userId, seq, onlineSinceMs } : undefined
}
