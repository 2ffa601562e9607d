// The layout of a sealed run: how an event is packed, and which block it is in.
//
// An event takes 34 bytes: key 16, sensor 4, milliseconds 6, temperature 8, little-endian. Within a
// block events stand in key order. The block of a key is its first word scaled to the number of
// blocks, so that block order is key order.

import { KEY_WORDS } from './event-key.ts'
import type { StoredEvent } from './hot-ledger.ts'

export const EVENT_BYTES = 34

/** Events of a block on average: rows of about 800 bytes fill a page of 16 KiB well. */
const BLOCK_EVENTS_MEAN = 24

/** Up to here `word * blocks` is exact in a double. */
const BLOCKS_MAX = 2 ** 21

/** Distance between the block ids of two runs. */
export const RUN_STRIDE = 2 ** 24

const TWO_32 = 0x1_0000_0000

export function blocksOfRun(events: number): number {
  return Math.min(BLOCKS_MAX, Math.max(1, Math.ceil(events / BLOCK_EVENTS_MEAN)))
}

export function blockOf(firstWord: number, blocks: number): number {
  return Math.floor((firstWord * blocks) / TWO_32)
}

export interface PackedEvent extends StoredEvent {
  readonly keys: Uint32Array
  readonly keyOffset: number
}

/** @param bytes a view, whose numbers are written several times as fast as a Buffer's */
export function packEvent(event: PackedEvent, bytes: DataView, at: number): void {
  for (let word = 0; word < KEY_WORDS; word++) {
    bytes.setUint32(at + word * 4, event.keys[event.keyOffset + word] ?? 0, true)
  }
  bytes.setUint32(at + 16, event.sensorId, true)
  const highMs = Math.floor(event.measuredAtMs / TWO_32)
  bytes.setUint32(at + 20, event.measuredAtMs - highMs * TWO_32, true)
  bytes.setInt16(at + 24, highMs, true)
  bytes.setFloat64(at + 26, event.tempCelsius, true)
}

/** The event with that key in a block, if it is there. */
export function findInBlock(
  block: Buffer,
  words: Uint32Array,
  offset: number,
): StoredEvent | undefined {
  for (let at = 0; at < block.length; at += EVENT_BYTES) {
    const isSame =
      block.readUInt32LE(at) === words[offset] &&
      block.readUInt32LE(at + 4) === words[offset + 1] &&
      block.readUInt32LE(at + 8) === words[offset + 2] &&
      block.readUInt32LE(at + 12) === words[offset + 3]
    if (!isSame) continue
    return {
      sensorId: block.readUInt32LE(at + 16),
      measuredAtMs: block.readIntLE(at + 20, 6),
      tempCelsius: block.readDoubleLE(at + 26),
    }
  }
  return undefined
}
