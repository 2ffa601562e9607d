// What a run of the sealed ledger is to the code that writes, merges, reads and checks runs, and
// its layout: how an event is packed, and which block and segment a key belongs to.
//
// An event takes 34 bytes: key 16, sensor 4, milliseconds 6, temperature 8, little-endian. The
// block of a key is its first word scaled to the number of blocks, so blocks are in the order of
// their keys; within a block, events are in no order. The first byte of a key is its segment: the
// unit in which runs are merged and filters stored.

import { KEY_WORDS } from '../event-key.ts'
import type { Segment } from './cohort-segment.ts'
import type { StoredEvent } from './hot-ledger.ts'

export interface Run {
  readonly runNo: number
  readonly events: number
  /** A multiple of the number of segments: no block has keys of two segments. */
  readonly blocks: number
}

/** A run as it was sealed, with a filter of its own in memory. */
export interface YoungRun extends Run {
  readonly filter: Uint32Array
  /** The events of segments below this one are in the run that it is being merged into. */
  readonly movedBelow: number
}

/** A run made by merging young runs; its cohort's filter knows it by its slot. */
export interface MergedRun extends Run {
  readonly cohortNo: number
  readonly slot: number
}

/** A cohort as it is stored. */
export interface StoredCohort {
  readonly runs: readonly MergedRun[]
  readonly segments: readonly NumberedSegment[]
}

export interface NumberedSegment {
  readonly segmentNo: number
  readonly segment: Segment
}

/** Young runs that share a filter (run-generation.ts). */
export interface RunGeneration {
  readonly no: number
  readonly filter: Uint32Array<SharedArrayBuffer>
}

/** A run that has just been sealed, with the generation it was added to. */
export interface SealedRun {
  readonly run: YoungRun
  readonly generation: RunGeneration
}

/** What is found at start. */
export interface StoredRuns {
  /** Newest first, in one generation. */
  readonly young: readonly YoungRun[]
  readonly generation: RunGeneration
  readonly cohorts: readonly StoredCohort[]
}

/** How far a merge is. */
export interface MergeProgress {
  readonly run: MergedRun
  /** Segments of its cohort's filter that know more than before. */
  readonly segments: readonly NumberedSegment[]
  /** The young runs being merged. */
  readonly sourceNos: readonly number[]
  /** The events of segments below this one are in the merged run. */
  readonly stopSegment: number
}

/** What readers look up in a merged run alone. */
export interface TakenSegments {
  readonly runNo: number
  /** Segments below this one. */
  readonly stopSegment: number
}

export const EVENT_BYTES = 34

export const SEGMENTS = 256

/** Events per block on average: rows of about 1,100 bytes fill a page of 16 KiB well. */
const BLOCK_EVENTS_MEAN = 32

/**
 * Events per block at most. Keys are encrypted, so only chance fills a block, and goes beyond this
 * in one of 10^37.
 */
export const BLOCK_EVENTS_MAX = 128

/** Distance between the block ids of two runs. */
const RUN_STRIDE = 2 ** 24

const TWO_32 = 0x1_0000_0000

export function blocksFor(events: number): number {
  return SEGMENTS * Math.max(1, Math.ceil(events / (BLOCK_EVENTS_MEAN * SEGMENTS)))
}

export function segmentOf(firstWord: number): number {
  return firstWord >>> 24
}

/** The id of the block for keys with that first word. */
export function blockIdOf({ runNo, blocks }: Pick<Run, 'runNo' | 'blocks'>, firstWord: number) {
  return runNo * RUN_STRIDE + Math.floor((firstWord * blocks) / TWO_32)
}

/** The id of the first block of a segment; one past the last block for the number of segments. */
export function firstBlockIdOf({ runNo, blocks }: Pick<Run, 'runNo' | 'blocks'>, segment: number) {
  return runNo * RUN_STRIDE + (blocks / SEGMENTS) * segment
}

/** Events as columns: index i of each belongs to one event, but keys have several words each. */
interface EventColumns {
  readonly keys: Uint32Array
  readonly hasEventId: Uint8Array
  readonly sensorId: Uint32Array
  readonly measuredAtMs: Float64Array
  readonly tempCelsius: Float64Array
}

/** Packs events, reusing one buffer. */
export class EventPacker {
  #bytes = Buffer.alloc(0)

  /** Those that have an event id; valid until the next call. */
  pack(events: EventColumns & { readonly count: number }): Buffer {
    const bytesMax = events.count * EVENT_BYTES
    if (this.#bytes.length < bytesMax) this.#bytes = Buffer.alloc(bytesMax)
    const { buffer, byteOffset } = this.#bytes
    const view = new DataView(buffer, byteOffset, bytesMax)
    let end = 0
    for (let event = 0; event < events.count; event++) {
      if (events.hasEventId[event] === 0) continue
      packEvent(events, event, view, end)
      end += EVENT_BYTES
    }
    return this.#bytes.subarray(0, end)
  }
}

/** @param bytes a view, whose numbers are written several times as fast as a Buffer's */
function packEvent(events: EventColumns, event: number, bytes: DataView, at: number): void {
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
