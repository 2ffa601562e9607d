// Writing one run of the sealed ledger: events come in key order, leave as blocks, and set the
// bits of the run's filter on the way.

import type { Connection } from '../database.ts'
import { KEY_WORDS } from './event-key.ts'
import { addToFilter, filterWords } from './key-filter.ts'
import { blockOf, blocksOfRun, EVENT_BYTES, packEvent, RUN_STRIDE } from './run-block.ts'
import type { PackedEvent } from './run-block.ts'

const BLOCK_BYTES_FIRST = 64 * EVENT_BYTES

const INSERT_RUN = 'INSERT INTO runs (state, level, events, blocks) VALUES (0, ?, ?, ?)'
const INSERT_BLOCK = 'INSERT INTO blocks (id, entries) VALUES (?, ?)'

export class RunWriter {
  readonly runNo: number
  readonly level: number
  readonly events: number
  readonly blocks: number
  readonly filter: Uint32Array
  readonly #insertBlock
  readonly #words = new Uint32Array(KEY_WORDS)
  #block = Buffer.alloc(BLOCK_BYTES_FIRST)
  #view = viewOf(this.#block)
  #blockNo = 0
  #blockBytes = 0

  /** Registers the run as being written; the caller puts it into use (state 1) when it is whole. */
  constructor(db: Connection, level: number, events: number) {
    this.level = level
    this.events = events
    this.blocks = blocksOfRun(events)
    this.filter = new Uint32Array(filterWords(events))
    const { lastInsertRowid } = db.prepare(INSERT_RUN).run(level, events, this.blocks)
    this.runNo = Number(lastInsertRowid)
    this.#insertBlock = db.prepare<[number, Buffer]>(INSERT_BLOCK)
  }

  /** Adds an event from columns. Keys must not descend. */
  add(event: PackedEvent): void {
    this.#startBlockOf(event.keys[event.keyOffset] ?? 0)
    packEvent(event, this.#view, this.#blockBytes)
    this.#blockBytes += EVENT_BYTES
    addToFilter(this.filter, event.keys, event.keyOffset)
  }

  /** Adds an event that is already packed. Keys must not descend. */
  addPacked(source: Buffer, at: number): void {
    for (let word = 0; word < KEY_WORDS; word++) {
      this.#words[word] = source.readUInt32LE(at + word * 4)
    }
    this.#startBlockOf(this.#words[0] ?? 0)
    source.copy(this.#block, this.#blockBytes, at, at + EVENT_BYTES)
    this.#blockBytes += EVENT_BYTES
    addToFilter(this.filter, this.#words, 0)
  }

  /** Writes the last block. */
  finish(): void {
    this.#flushBlock()
  }

  #startBlockOf(firstWord: number): void {
    const blockNo = blockOf(firstWord, this.blocks)
    if (blockNo !== this.#blockNo) {
      this.#flushBlock()
      this.#blockNo = blockNo
    }
    if (this.#blockBytes + EVENT_BYTES <= this.#block.length) return
    this.#block = Buffer.concat([this.#block, Buffer.alloc(this.#block.length)])
    this.#view = viewOf(this.#block)
  }

  #flushBlock(): void {
    if (this.#blockBytes === 0) return
    const id = this.runNo * RUN_STRIDE + this.#blockNo
    this.#insertBlock.run(id, this.#block.subarray(0, this.#blockBytes))
    this.#blockBytes = 0
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}
