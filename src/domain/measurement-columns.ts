// Measurements as columns, and what a row of the journal has of them: the columns one after the
// other, little-endian, eight-byte columns first so that each is aligned:
//   measured_at_ms f64 · temp f64 · sensor u32 · user u32 · tie-break u32

import { assert } from './errors.ts'

/** Bytes of a measurement in all columns. */
export const ENTRY_BYTES = 28

/** Index i of each column belongs to one measurement. In acceptance order. */
export interface MeasurementColumns {
  readonly count: number
  readonly userId: Uint32Array
  readonly sensorId: Uint32Array
  readonly measuredAtMs: Float64Array
  /** 0 … 999,999: distinguishes measurements of one sensor at one millisecond; never reused. */
  readonly tieBreakNs: Uint32Array
  readonly tempCelsius: Float64Array
}

interface Batch {
  readonly measurements: MeasurementColumns
  readonly sensorInfos: readonly { readonly sensorId: number }[]
}

/** A measurement but for its sensor, which may get its id later. */
export interface Entry {
  readonly userId: number
  readonly measuredAtMs: number
  readonly tieBreakNs: number
  readonly tempCelsius: number
}

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1
assert(isLittleEndian, 'the journal is laid out for little-endian processors')

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

/** Sets what the columns have at a place. */
function putEntry(columns: MeasurementColumns, at: number, entry: Entry, sensorId: number): void {
  columns.measuredAtMs[at] = entry.measuredAtMs
  columns.tempCelsius[at] = entry.tempCelsius
  columns.sensorId[at] = sensorId
  columns.userId[at] = entry.userId
  columns.tieBreakNs[at] = entry.tieBreakNs
}

/** Copies the range [from, to) of the columns to `target`, where it starts at place `at`. */
export function copyColumns(
  { source, from, to }: { source: Omit<MeasurementColumns, 'count'>; from: number; to: number },
  target: MeasurementColumns,
  at: number,
): void {
  target.measuredAtMs.set(source.measuredAtMs.subarray(from, to), at)
  target.tempCelsius.set(source.tempCelsius.subarray(from, to), at)
  target.sensorId.set(source.sensorId.subarray(from, to), at)
  target.userId.set(source.userId.subarray(from, to), at)
  target.tieBreakNs.set(source.tieBreakNs.subarray(from, to), at)
}

/** Puts measurements of several rows one after the other, in memory that is used again. */
export class ColumnsGatherer {
  #memory = new ArrayBuffer(0)

  /** Valid until the next call. */
  gather(parts: readonly MeasurementColumns[]): MeasurementColumns {
    const count = parts.reduce((total, part) => total + part.count, 0)
    const bytes = count * ENTRY_BYTES
    if (this.#memory.byteLength < bytes) this.#memory = new ArrayBuffer(bytes)
    const all = columnsOver(this.#memory, 0, count)
    let at = 0
    for (const part of parts) {
      copyColumns({ source: part, from: 0, to: part.count }, all, at)
      at += part.count
    }
    return all
  }
}

/**
 * The entries of one row, in the order of acceptance, and the sensor of each.
 *
 * @param entryBytes of each of them, with columns that follow and stay zero
 */
export function encodeEntries<Any extends Entry>(
  entries: readonly Any[],
  sensorIdOf: (entry: Any) => number,
  entryBytes = ENTRY_BYTES,
): Buffer {
  const buffer = new ArrayBuffer(entries.length * entryBytes)
  const columns = columnsOver(buffer, 0, entries.length)
  entries.forEach((entry, at) => putEntry(columns, at, entry, sensorIdOf(entry)))
  return Buffer.from(buffer)
}

/** The measurements of one row; rests of one more are ignored. */
export function decodeEntries(entries: Uint8Array): MeasurementColumns {
  const { buffer, byteOffset, length } = aligned(entries)
  return columnsOver(buffer, byteOffset, Math.floor(length / ENTRY_BYTES))
}

/** The same bytes, beginning where columns may: a copy if need be. */
export function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes)
}

/** Measurements that a store will never take, with its reasons. */
export function toSetAsideOf(
  columns: MeasurementColumns,
  toSetAside: readonly { readonly index: number; readonly reason: string }[],
) {
  return toSetAside.map(({ index, reason }) => ({ ...entryAt(columns, index), reason }))
}

/** The sensors that there is anything of in a batch. */
export function sensorsOf({ measurements, sensorInfos }: Batch): Set<number> {
  const ids = new Set(measurements.sensorId)
  for (const { sensorId } of sensorInfos) ids.add(sensorId)
  return ids
}

/** The batch without what belongs to these sensors; itself if there are none. */
export function withoutSensors<Any extends Batch>(batch: Any, gone: ReadonlySet<number>): Any {
  if (gone.size === 0) return batch
  const all = batch.measurements
  const kept = [...all.sensorId.keys()].filter((at) => !gone.has(all.sensorId[at] ?? 0))
  const measurements = columnsOver(new ArrayBuffer(kept.length * ENTRY_BYTES), 0, kept.length)
  kept.forEach((from, to) =>
    putEntry(measurements, to, entryAt(all, from), all.sensorId[from] ?? 0),
  )
  const sensorInfos = batch.sensorInfos.filter(({ sensorId }) => !gone.has(sensorId))
  return { ...batch, measurements, sensorInfos }
}

function entryAt(columns: MeasurementColumns, at: number) {
  return {
    userId: columns.userId[at] ?? 0,
    sensorId: columns.sensorId[at] ?? 0,
    measuredAtMs: columns.measuredAtMs[at] ?? 0,
    tieBreakNs: columns.tieBreakNs[at] ?? 0,
    tempCelsius: columns.tempCelsius[at] ?? 0,
  }
}
