// The measurements of a row of the journal: columns one after the other, little-endian, eight-byte
// columns first so that each is aligned:
//   measured_at_ms f64 · temp f64 · sensor u32 · user u32 · tie-break u32
// 28 bytes a measurement. Keys of events are in the ledger alone.

import type { MeasurementColumns } from '../ports/measurement-store.ts'

export const ENTRY_BYTES = 28

/** Columns over `count` entries that begin at a multiple of 8. */
export function columnsOver(
  buffer: ArrayBufferLike,
  start: number,
  count: number,
): MeasurementColumns {
  const words = start + count * 16
  return {
    count,
    measuredAtMs: new Float64Array(buffer, start, count),
    tempCelsius: new Float64Array(buffer, start + count * 8, count),
    sensorId: new Uint32Array(buffer, words, count),
    userId: new Uint32Array(buffer, words + count * 4, count),
    tieBreakNs: new Uint32Array(buffer, words + count * 8, count),
  }
}

interface Entry {
  readonly userId: number
  readonly measuredAtMs: number
  readonly tieBreakNs: number
  readonly tempCelsius: number
}

/** The entries of one row, in the order of acceptance, and the sensor of each. */
export function encodeEntries(
  entries: readonly Entry[],
  sensorIdAt: (at: number) => number,
): Buffer {
  const buffer = new ArrayBuffer(entries.length * ENTRY_BYTES)
  const columns = columnsOver(buffer, 0, entries.length)
  entries.forEach((entry, at) => {
    columns.measuredAtMs[at] = entry.measuredAtMs
    columns.tempCelsius[at] = entry.tempCelsius
    columns.sensorId[at] = sensorIdAt(at)
    columns.userId[at] = entry.userId
    columns.tieBreakNs[at] = entry.tieBreakNs
  })
  return Buffer.from(buffer)
}

/** The measurements of some rows, one after the other. */
export function decodeEntries(rows: readonly Buffer[]): MeasurementColumns {
  const parts = rows.map((row) => {
    const bytes = new Uint8Array(row)
    return columnsOver(bytes.buffer, 0, bytes.length / ENTRY_BYTES)
  })
  const count = parts.reduce((total, part) => total + part.count, 0)
  const all = columnsOver(new ArrayBuffer(count * ENTRY_BYTES), 0, count)
  let at = 0
  for (const part of parts) {
    all.measuredAtMs.set(part.measuredAtMs, at)
    all.tempCelsius.set(part.tempCelsius, at)
    all.sensorId.set(part.sensorId, at)
    all.userId.set(part.userId, at)
    all.tieBreakNs.set(part.tieBreakNs, at)
    at += part.count
  }
  return all
}
