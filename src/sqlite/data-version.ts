// SQLite's form of opaque versions and cursors: the journal has one writer, so a reader's position
// is the number of a row.

import type { DataVersion, OnlineTimes } from '../domain/sensor.ts'
import type { ChangesCursor } from '../ports/sensor-changes.ts'

/** Everything accepted up to a row of the journal. */
export function versionOf(seq: number): DataVersion {
  return String(seq)
}

/** The journal row that a version names. */
export function seqOf(version: DataVersion): number {
  return Number(version)
}

/** The last row that any of the versions names; 0 without any. */
export function lastSeqOf(versions: readonly DataVersion[]): number {
  return versions.reduce((last, version) => Math.max(last, seqOf(version)), 0)
}

/** What a client has seen that follows changes. */
export interface ClientSeen {
  readonly dataId: string
  /** The last row of the journal. */
  readonly seq: number
  /** By which sensors were shown online. */
  readonly online: OnlineTimes
}

export function changesCursorOf({ dataId, seq, online }: ClientSeen): ChangesCursor {
  return [dataId, seq, online.sinceMs, online.untilMs].join('.')
}

/** @param cursor empty: of a client that has nothing, which is of no data */
export function seenByClient(cursor: ChangesCursor): ClientSeen {
  const [dataId = '', ...numbers] = cursor.split('.')
  const [seq = 0, sinceMs = 0, untilMs = 0] = numbers.map(Number)
  return { dataId, seq, online: { sinceMs, untilMs } }
}
