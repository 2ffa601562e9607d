// The layout of a sealed run: how an event is packed, and which block it is in.
//
// An event takes 34 bytes: key 16, sensor 4, milliseconds 6, temperature 8, little-endian. The
// block of a key is its first word scaled to the number of blocks, so that the blocks of a run go
// up with the keys in them; within a block events stand in any order.

import { KEY_WORDS } from '../event-key.ts'
import { hasKey } from './hot-ledger.ts'
import type { StoredEvent } from './hot-ledger.ts'

export const EVENT_BYTES = 34

/** Events of a block on average: rows of about 1,100 bytes fill a page of 16 KiB well. */
export const BLOCK_EVENTS_MEAN = 32

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

/** The least first word of a key in that block; 2^32 where there is no such block any more. */
export function firstWordOf(block: number, blocks: number): number {
  return Math.ceil((block * TWO_32) / blocks)
}

/** Events as columns; index i of each belongs to one event, but keys have several words each. */
interface EventColumns {
  readonly keys: Uint32Array
  readonly sensorId: Uint32Array
  readonly measuredAtMs: Float64Array
  readonly tempCelsius: Float64Array
}

/** Packs events, into one piece of memory again and again. */
export class EventPacker {
  #bytes = Buffer.alloc(0)

  /** Those that have an event id; good until the next call. */
  pack(events: EventColumns & { readonly count: number }): Buffer {
    const bytesMax = events.count * EVENT_BYTES
    if (this.#bytes.length < bytesMax) this.#bytes = Buffer.alloc(bytesMax)
    const { buffer, byteOffset } = this.#bytes
    const view = new DataView(buffer, byteOffset, bytesMax)
    let end = 0
    for (let event = 0; event < events.count; event++) {
      if (!hasKey(events.keys, event * KEY_WORDS)) continue
      packEvent(events, event, view, end)
      end += EVENT_BYTES
    }
    return this.#bytes.subarray(0, end)
  }
}

/** @param bytes a view, whose numbers are written several times as fast as a Buffer's */
export function packEvent(events: EventColumns, event: number, bytes: DataView, at: number): void {
  for (let word = 0; word < KEY_WORDS; word++) {
    bytes.setUint32(at + word * 4, events.keys[event * KEY_WORDS + word] ?? 0, true)
  }
  bytes.setUint32(at + 16, events.sensorId[event] ?? 0, true)
  const measuredAtMs = events.measuredAtMs[event] ?? 0
  const highMs = Math.floor(measuredAtMs / TWO_32)
  bytes.setUint32(at + 20, measuredAtMs - highMs * TWO_32, true)
  bytes.setInt16(at + 24, highMs, true)
  bytes.setFloat64(at + 26, events.tempCelsius[event] ?? 0, true)
}

export function unpackEvent(bytes: Buffer): StoredEvent {
  return {
    sensorId: bytes.readUInt32LE(16),
    measuredAtMs: bytes.readIntLE(20, 6),
    tempCelsius: bytes.readDoubleLE(26),
  }
}
