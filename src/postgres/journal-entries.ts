// Encoding a row of the journal, laid out as domain/measurement-columns.ts says. Keys of events are
// in the ledger alone.

import { columnsOver, ENTRY_BYTES, putEntry } from '../domain/measurement-columns.ts'
import type { Entry } from '../domain/measurement-columns.ts'

/** The entries of one row, in the order of acceptance, and the sensor of each. */
export function encodeEntries(
  entries: readonly Entry[],
  sensorIdAt: (at: number) => number,
): Buffer {
  const buffer = new ArrayBuffer(entries.length * ENTRY_BYTES)
  const columns = columnsOver(buffer, 0, entries.length)
  entries.forEach((entry, at) => putEntry(columns, at, entry, sensorIdAt(at)))
  return Buffer.from(buffer)
}
