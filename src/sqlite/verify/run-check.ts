// Whether a run of the sealed ledger is what its writer makes: each event in the block of its key,
// in key order, in the filter, inside its sensor's time spans, and in no other run. Blocks are read
// a few at a time with no transaction in between, beside the seal thread.

import type { SensorId } from '../../domain/sensor.ts'
import { formatInstant } from '../../domain/time.ts'
import type { EpochMs } from '../../domain/time.ts'
import type { Connection } from '../database.ts'
import { KEY_WORDS } from '../ledger/event-key.ts'
import { filterWords, mayContain } from '../ledger/key-filter.ts'
import { blockOf, blocksOfRun, EVENT_BYTES, findInBlock, RUN_STRIDE } from '../ledger/run-block.ts'
import { decodeSpans } from '../ledger/sealed-ledger.ts'
import type { LedgerRun } from '../ledger/sealed-ledger.ts'
import { isCovered } from '../ledger/time-spans.ts'

/** About 400 KiB. */
const BLOCKS_PER_READ = 512
const PROBLEMS_MAX = 10
const SPAN_CACHE_MAX = 50_000

const BLOCKS = `
  SELECT id, entries FROM blocks WHERE id > ? AND id < ? ORDER BY id LIMIT ${BLOCKS_PER_READ}`
const BLOCK = 'SELECT entries FROM blocks WHERE id = ?'
const SPANS = 'SELECT spans FROM time_spans WHERE sensor_id = ?'

export interface CheckedRun extends LedgerRun {
  /** The first of them. */
  readonly problems: string[]
  /** How many of its events each sensor has. */
  readonly eventsOf: Map<SensorId, number>
}

interface BlockRow {
  readonly id: number
  readonly entries: Buffer
}

export class RunCheck {
  readonly #blocks
  readonly #block
  readonly #spans
  readonly #spanCache = new Map<SensorId, Float64Array>()
  readonly #words = new Uint32Array(KEY_WORDS)

  constructor(ledger: Connection) {
    this.#blocks = ledger.prepare<[number, number], BlockRow>(BLOCKS)
    this.#block = ledger.prepare<[number], Buffer>(BLOCK).pluck()
    this.#spans = ledger.prepare<[number], Buffer>(SPANS).pluck()
  }

  /**
   * Reads a run from end to end; yields how many events it has looked at since.
   *
   * @param others no event of the run may be in one of them
   */
  *check(run: LedgerRun, others: readonly LedgerRun[]): Generator<number, CheckedRun> {
    const checked: CheckedRun = { ...run, problems: [], eventsOf: new Map() }
    const isFilterWhole = run.filter.length === filterWords(run.events)
    if (!isFilterWhole) add(checked, `its filter has ${run.filter.length} words`)
    if (run.blocks !== blocksOfRun(run.events)) add(checked, `it has ${run.blocks} blocks`)
    let events = 0
    let lastId = run.runNo * RUN_STRIDE - 1
    for (;;) {
      const rows = this.#blocks.all(lastId, (run.runNo + 1) * RUN_STRIDE)
      if (rows.length === 0) break
      let looked = 0
      for (const row of rows) looked += this.#checkBlock(row, checked, others)
      events += looked
      lastId = rows.at(-1)?.id ?? lastId
      yield looked
    }
    if (events !== run.events) add(checked, `${events} of its ${run.events} events are there`)
    return checked
  }

  /** Whether the run has an event with that key. */
  has(run: LedgerRun, words: Uint32Array, offset: number): boolean {
    if (!mayContain(run.filter, words, offset)) return false
    const blockNo = blockOf(words[offset] ?? 0, run.blocks)
    const block = this.#block.get(run.runNo * RUN_STRIDE + blockNo)
    return block !== undefined && findInBlock(block, words, offset) !== undefined
  }

  /** @returns how many events are in it */
  #checkBlock({ id, entries }: BlockRow, run: CheckedRun, others: readonly LedgerRun[]): number {
    const blockNo = id - run.runNo * RUN_STRIDE
    const place = `block ${blockNo}`
    if (entries.length % EVENT_BYTES !== 0) {
      add(run, `${place} has ${entries.length} bytes`)
      return 0
    }
    let previousWord = -1
    for (let at = 0; at < entries.length; at += EVENT_BYTES) {
      const firstWord = this.#readKey(entries, at)
      if (firstWord < previousWord) add(run, `${place} is not in key order`)
      if (blockOf(firstWord, run.blocks) !== blockNo) {
        add(run, `${place} has an event that belongs into another block`)
      }
      previousWord = firstWord
      this.#checkEvent(entries, at, run)
      this.#checkOthers(run, others)
    }
    return entries.length / EVENT_BYTES
  }

  #readKey(entries: Buffer, at: number): number {
    for (let word = 0; word < KEY_WORDS; word++) {
      this.#words[word] = entries.readUInt32LE(at + word * 4)
    }
    return this.#words[0] ?? 0
  }

  #checkEvent(entries: Buffer, at: number, run: CheckedRun): void {
    const sensorId = entries.readUInt32LE(at + 16)
    const measuredAtMs = entries.readIntLE(at + 20, 6)
    run.eventsOf.set(sensorId, (run.eventsOf.get(sensorId) ?? 0) + 1)
    if (!mayContain(run.filter, this.#words, 0)) {
      add(run, 'its filter does not know an event that is in it')
    }
    if (this.#isSpanned(sensorId, measuredAtMs)) return
    const time = formatInstant(measuredAtMs)
    add(run, `sensor ${sensorId} has an event of ${time}, which is outside its time spans`)
  }

  #checkOthers(run: CheckedRun, others: readonly LedgerRun[]): void {
    for (const other of others) {
      if (!this.has(other, this.#words, 0)) continue
      add(run, `an event of it is in run ${other.runNo} too`)
    }
  }

  #isSpanned(sensorId: SensorId, measuredAtMs: EpochMs): boolean {
    const known = this.#spanCache.get(sensorId)
    if (known !== undefined && isCovered(known, measuredAtMs)) return true
    // They may have grown since.
    const stored = this.#spans.get(sensorId)
    if (stored === undefined) return false
    const spans = decodeSpans(stored)
    if (this.#spanCache.size >= SPAN_CACHE_MAX) this.#spanCache.clear()
    this.#spanCache.set(sensorId, spans)
    return isCovered(spans, measuredAtMs)
  }
}

function add({ problems }: CheckedRun, problem: string): void {
  if (problems.length < PROBLEMS_MAX && !problems.includes(problem)) problems.push(problem)
}
