// The layout of a journal row's entries: the columns of a group's measurements one after the other,
// little-endian, with eight-byte columns first so that each is aligned:
//   measured_at_ms f64 · temp f64 · key 4 × u32 · sensor u32 · user u32 · tie-break u32 ·
//   whether it has an event id u8 (its key means nothing where it has none)
// 45 bytes per measurement. The byte after them is 1 if the row repeats earlier ones.

import { endianness } from 'node:os'
import { assert } from '../domain/errors.ts'
import { journalEntryBytes } from '../domain/limits.ts'
import type { MeasurementColumns } from '../ports/measurement-store.ts'
import { KEY_WORDS } from './event-key.ts'

/** Keeps rows below 64 KiB: many small buffers are easier on memory than a few large ones. */
export const ROW_MEASUREMENTS_MAX = 1_450

const TRAILER_BYTES = 1

/** The measurements of a journal row, with the keys of their events. */
export interface JournalColumns extends MeasurementColumns {
  readonly keys: Uint32Array
  /** 1 if a measurement has an event id. */
  readonly hasEventId: Uint8Array
}

/** The measurements of one row. */
export interface RowColumns extends JournalColumns {
  /** They were accepted before and are only forwarded again: nothing new for the ledger. */
  readonly isRepeated: boolean
}

assert(endianness() === 'LE', 'the journal is laid out for little-endian processors')

/** Columns over one buffer of `count * journalEntryBytes` bytes, starting at a multiple of 8. */
export function columnsOver(buffer: ArrayBufferLike, start: number, count: number): JournalColumns {
  const keysAt = start + count * 16
  const sensorsAt = keysAt + count * 4 * KEY_WORDS
  return {
    count,
    measuredAtMs: new Float64Array(buffer, start, count),
    tempCelsius: new Float64Array(buffer, start + count * 8, count),
    keys: new Uint32Array(buffer, keysAt, count * KEY_WORDS),
    sensorId: new Uint32Array(buffer, sensorsAt, count),
    userId: new Uint32Array(buffer, sensorsAt + count * 4, count),
    tieBreakNs: new Uint32Array(buffer, sensorsAt + count * 8, count),
    hasEventId: new Uint8Array(buffer, sensorsAt + count * 12, count),
  }
}

/** Gathers measurements of many rows in one set of columns, whose memory is reused. */
export class ColumnsGatherer {
  #buffer = new ArrayBuffer(0)

  /** Columns for `count` measurements; valid until the next call. */
  columns(count: number): JournalColumns {
    if (this.#buffer.byteLength < count * journalEntryBytes) {
      this.#buffer = new ArrayBuffer(count * journalEntryBytes)
    }
    return columnsOver(this.#buffer, 0, count)
  }
}

/** Encodes measurements as rows, reusing one buffer. */
export class EntriesEncoder {
  readonly #buffer = new ArrayBuffer(entriesBytes(ROW_MEASUREMENTS_MAX))

  /** Encodes the range [from, to) of the columns as one row; valid until the next call. */
  encode(source: Columns, from: number, to: number): Buffer {
    const count = to - from
    copyRecords({ source, from, to }, columnsOver(this.#buffer, 0, count), 0)
    return endEntries(Buffer.from(this.#buffer, 0, entriesBytes(count)), false)
  }
}

/**
 * Copies all measurements of `source` to `target`, starting at place `at`.
 *
 * @returns how many were copied
 */
export function copyColumns(source: JournalColumns, target: Columns, at: number): number {
  copyRecords({ source, from: 0, to: source.count }, target, at)
  return source.count
}

type Columns = Omit<JournalColumns, 'count'>

function copyRecords(
  { source, from, to }: { source: Columns; from: number; to: number },
  target: Columns,
  at: number,
): void {
  target.measuredAtMs.set(source.measuredAtMs.subarray(from, to), at)
  target.tempCelsius.set(source.tempCelsius.subarray(from, to), at)
  target.keys.set(source.keys.subarray(from * KEY_WORDS, to * KEY_WORDS), at * KEY_WORDS)
  target.sensorId.set(source.sensorId.subarray(from, to), at)
  target.userId.set(source.userId.subarray(from, to), at)
  target.tieBreakNs.set(source.tieBreakNs.subarray(from, to), at)
  target.hasEventId.set(source.hasEventId.subarray(from, to), at)
}

/** Size of the entries of a row with that many measurements. */
export function entriesBytes(measurements: number): number {
  return measurements * journalEntryBytes + TRAILER_BYTES
}

/** Completes entries whose columns have been written. */
export function endEntries(entries: Buffer, isRepeated: boolean): Buffer {
  entries[entries.length - TRAILER_BYTES] = isRepeated ? 1 : 0
  return entries
}

/** Decodes the entries of a journal row. */
export function decodeEntries(entries: Buffer): RowColumns {
  const isAligned = entries.byteOffset % 8 === 0
  const bytes = isAligned ? entries : Buffer.from(new Uint8Array(entries).buffer)
  const count = (bytes.length - TRAILER_BYTES) / journalEntryBytes
  const isRepeated = bytes[bytes.length - TRAILER_BYTES] === 1
  return { ...columnsOver(bytes.buffer, bytes.byteOffset, count), isRepeated }
}
