// The layout of a journal row's entries: measurements as domain/measurement-columns.ts lays them
// out, and after them the keys of their events as columns:
//   key 4 × u32 · whether it has an event id u8 (its key means nothing where it has none)
// 45 bytes per measurement.

import { journalEntryBytes } from '../domain/limits.ts'
import { aligned, columnsOver, copyColumns, ENTRY_BYTES } from '../domain/measurement-columns.ts'
import type { MeasurementColumns } from '../domain/measurement-columns.ts'
import { KEY_WORDS } from './event-key.ts'

/** Keeps rows below 64 KiB: many small buffers are easier on memory than a few large ones. */
export const ROW_MEASUREMENTS_MAX = 1_450

/** The measurements of a journal row, with the keys of their events. */
export interface JournalColumns extends MeasurementColumns {
  readonly keys: Uint32Array
  /** 1 if a measurement has an event id. */
  readonly hasEventId: Uint8Array
}

/** Encodes measurements as rows, reusing one buffer. */
export class EntriesEncoder {
  readonly #buffer = new ArrayBuffer(ROW_MEASUREMENTS_MAX * journalEntryBytes)

  /** Encodes the range [from, to) of the columns as one row; valid until the next call. */
  encode(source: Omit<JournalColumns, 'count'>, from: number, to: number): Buffer {
    const count = to - from
    const target = rowOver(this.#buffer, 0, count)
    copyColumns({ source, from, to }, target, 0)
    target.keys.set(source.keys.subarray(from * KEY_WORDS, to * KEY_WORDS))
    target.hasEventId.set(source.hasEventId.subarray(from, to))
    return Buffer.from(this.#buffer, 0, count * journalEntryBytes)
  }
}

/** Decodes the entries of a journal row. */
export function decodeEntries(entries: Buffer): JournalColumns {
  const { buffer, byteOffset, length } = aligned(entries)
  return rowOver(buffer, byteOffset, Math.floor(length / journalEntryBytes))
}

function rowOver(buffer: ArrayBufferLike, start: number, count: number): JournalColumns {
  const keysAt = start + count * ENTRY_BYTES
  return {
    ...columnsOver(buffer, start, count),
    keys: new Uint32Array(buffer, keysAt, count * KEY_WORDS),
    hasEventId: new Uint8Array(buffer, keysAt + count * 4 * KEY_WORDS, count),
  }
}
