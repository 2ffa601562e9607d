// Whether a run of the sealed ledger is what its writer makes: each event in the block of its key,
// there once, in the filter, inside its sensor's time spans, and in no other run.
//
// Runs that are being merged are looked at together with the run that takes their events over: an
// event is in exactly one of them. All of them are read a stretch of keys at a time, each in one
// view of the file with no transaction in between, beside the seal thread.

import type { SensorId } from '../../domain/sensor.ts'
import { formatInstant } from '../../domain/time.ts'
import type { EpochMs } from '../../domain/time.ts'
import type { Connection } from '../database.ts'
import { KEY_WORDS } from '../event-key.ts'
import { EventLookUp } from '../ledger/event-look-up.ts'
import { filterWords } from '../ledger/key-filter.ts'
import { blockOf, EVENT_BYTES, firstWordOf, RUN_STRIDE } from '../ledger/run-block.ts'
import type { RunPlan } from '../ledger/ledger-run.ts'
import { hasQuotientFilter, linesOf, wordsOf } from '../ledger/run-filter.ts'
import { decodeSpans } from '../ledger/sealed-times.ts'
import { isCovered } from '../ledger/time-spans.ts'
import { mayBeKnown } from './known-run.ts'
import type { KnownRun, RunBeingWritten } from './known-run.ts'

/** About 300 KiB. */
const EVENTS_PER_READ = 8_192
const PROBLEMS_MAX = 10
const SPAN_CACHE_MAX = 50_000

const BLOCKS = 'SELECT id, entries FROM blocks WHERE id >= ? AND id <= ? ORDER BY id'
const STATE = `
  SELECT state, target_no AS intoNo FROM runs LEFT JOIN merges ON source_no = run_no
  WHERE run_no = ?`
const NEXT_BLOCK = 'SELECT next_block FROM merge_progress WHERE target_no = ?'
const SPANS = 'SELECT spans FROM time_spans WHERE sensor_id = ?'

/** A run, or those that are being merged. */
export interface RunGroup {
  readonly runs: readonly KnownRun[]
  /** The run that they are being merged into. */
  readonly into: RunBeingWritten | undefined
}

export interface CheckedGroup extends RunGroup {
  readonly events: number
  /** The first of them. */
  readonly problems: string[]
  /** How many of its events each sensor has. */
  readonly eventsOf: Map<SensorId, number>
}

interface BlockRow {
  readonly id: number
  readonly entries: Buffer
}

/** Keys whose first words are in [firstWord, stopWord). */
interface Stretch {
  readonly firstWord: number
  readonly stopWord: number
}

/** What of a stretch lies in one run. */
interface Part extends Stretch {
  readonly run: RunPlan
}

export class RunCheck {
  readonly #ledger: Connection
  readonly #lookUp: EventLookUp
  readonly #blocks
  readonly #state
  readonly #nextBlock
  readonly #spans
  readonly #spanCache = new Map<SensorId, Float64Array>()
  readonly #words = new Uint32Array(KEY_WORDS)

  constructor(ledger: Connection) {
    this.#ledger = ledger
    this.#lookUp = new EventLookUp(ledger)
    this.#blocks = ledger.prepare<[number, number], BlockRow>(BLOCKS)
    this.#state = ledger.prepare<[number], { state: number; intoNo: number | null }>(STATE)
    this.#nextBlock = ledger.prepare<[number], number>(NEXT_BLOCK).pluck()
    this.#spans = ledger.prepare<[number], Buffer>(SPANS).pluck()
  }

  /**
   * Reads a group from end to end; yields how many events it has looked at since.
   *
   * @param others no event of the group may be in one of them
   * @returns `undefined` when the group is not the same any more
   */
  *check(
    group: RunGroup,
    others: readonly KnownRun[],
  ): Generator<number, CheckedGroup | undefined> {
    const events = group.runs.reduce((sum, run) => sum + run.events, 0)
    const checked: CheckedGroup = { ...group, events, problems: [], eventsOf: new Map() }
    for (const run of group.runs) {
      if ('slot' in run) continue
      const { runNo, filter } = run
      const words = hasQuotientFilter(run) ? wordsOf(linesOf(run)) : filterWords(run.events)
      if (filter.length < words) add(checked, `run ${runNo}: its filter has ${filter.length} words`)
    }
    const stretches = Math.max(1, Math.ceil(events / EVENTS_PER_READ))
    let found = 0
    for (let at = 0; at < stretches; at++) {
      const firstWord = firstWordOf(at, stretches)
      const stretch = { firstWord, stopWord: firstWordOf(at + 1, stretches) }
      const looked = this.#inOneView(() => this.#checkStretch(checked, stretch, others))
      if (looked === undefined) return undefined
      found += looked
      yield looked
    }
    if (found !== events) add(checked, `${nameOf(group)}: ${found} of ${events} events are there`)
    return checked
  }

  /** The first of the runs that has an event with that key. */
  find(runs: readonly KnownRun[], words: Uint32Array, offset: number): KnownRun | undefined {
    return this.#inOneView(() => runs.find((run) => this.#isIn(run, words, offset)))
  }

  #inOneView<Result>(work: () => Result): Result {
    return this.#ledger.transaction(work)()
  }

  #isIn(run: KnownRun, words: Uint32Array, offset: number): boolean {
    return mayBeKnown(run, words, offset) && this.#lookUp.find(run, words, offset) !== undefined
  }

  /** @returns how many events are in it, or `undefined` when the group has changed */
  #checkStretch(
    group: CheckedGroup,
    stretch: Stretch,
    others: readonly KnownRun[],
  ): number | undefined {
    const intoNo = group.into?.runNo ?? null
    const isSame = group.runs.every(({ runNo }) => {
      const now = this.#state.get(runNo)
      return now?.state === 1 && now.intoNo === intoNo
    })
    if (!isSame) return undefined
    const halves: bigint[] = []
    for (const part of this.#partsOf(group, stretch)) {
      for (const row of this.#blocksOf(part)) {
        this.#checkBlock(row, { part, group, others, halves })
      }
    }
    // Two different keys among some thousand agree in 64 bits with a chance of one in 10^12.
    const isTwice = new Set(halves).size < halves.length
    if (isTwice) add(group, `${nameOf(group)}: an event is there twice`)
    return halves.length
  }

  /** What has been merged is in the new run alone, whatever is still in the block of an old one. */
  #partsOf({ runs, into }: RunGroup, { firstWord, stopWord }: Stretch): Part[] {
    const nextBlock = into === undefined ? 0 : (this.#nextBlock.get(into.runNo) ?? 0)
    const movedWord = into === undefined ? 0 : firstWordOf(nextBlock, into.blocks)
    const unmoved = { firstWord: Math.max(firstWord, movedWord), stopWord }
    const moved = { firstWord, stopWord: Math.min(stopWord, movedWord) }
    const parts = runs.map((run) => ({ run, ...unmoved }))
    const all = into === undefined ? parts : [{ run: into, ...moved }, ...parts]
    return all.filter((part) => part.firstWord < part.stopWord)
  }

  #blocksOf({ run, firstWord, stopWord }: Part): BlockRow[] {
    const idOf = (word: number) => run.runNo * RUN_STRIDE + blockOf(word, run.blocks)
    return this.#blocks.all(idOf(firstWord), idOf(stopWord - 1))
  }

  #checkBlock(
    { id, entries }: BlockRow,
    at: { part: Part; group: CheckedGroup; others: readonly KnownRun[]; halves: bigint[] },
  ): void {
    const { part, group, others, halves } = at
    const blockNo = id - part.run.runNo * RUN_STRIDE
    const place = `run ${part.run.runNo}: block ${blockNo}`
    if (entries.length % EVENT_BYTES !== 0) {
      add(group, `${place} has ${entries.length} bytes`)
      return
    }
    for (let event = 0; event < entries.length; event += EVENT_BYTES) {
      const firstWord = this.#readKey(entries, event)
      if (blockOf(firstWord, part.run.blocks) !== blockNo) {
        add(group, `${place} has an event that belongs into another block`)
      }
      if (firstWord < part.firstWord || firstWord >= part.stopWord) continue
      halves.push(entries.readBigUInt64LE(event))
      this.#checkEvent(entries, event, group)
      const other = others.find((run) => this.#isIn(run, this.#words, 0))
      if (other !== undefined) {
        add(group, `${nameOf(group)}: an event of it is in run ${other.runNo} too`)
      }
    }
  }

  #readKey(entries: Buffer, at: number): number {
    for (let word = 0; word < KEY_WORDS; word++) {
      this.#words[word] = entries.readUInt32LE(at + word * 4)
    }
    return this.#words[0] ?? 0
  }

  #checkEvent(entries: Buffer, at: number, group: CheckedGroup): void {
    const sensorId = entries.readUInt32LE(at + 16)
    const measuredAtMs = entries.readIntLE(at + 20, 6)
    group.eventsOf.set(sensorId, (group.eventsOf.get(sensorId) ?? 0) + 1)
    if (!this.#isInFilter(group)) {
      add(group, `${nameOf(group)}: its filter does not know an event that is in it`)
    }
    if (this.#isSpanned(sensorId, measuredAtMs)) return
    const event = `sensor ${sensorId} has an event of ${formatInstant(measuredAtMs)}`
    add(group, `${nameOf(group)}: ${event}, which is outside its time spans`)
  }

  // What the new run's filter knows need not be known to those of the old ones any more.
  #isInFilter({ runs, into }: RunGroup): boolean {
    const hasMoved = into !== undefined && (this.#words[0] ?? 0) < into.knownBelowWord
    const knowing = hasMoved ? [into] : runs
    return knowing.some((run) => mayBeKnown(run, this.#words, 0))
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

function nameOf({ runs }: RunGroup): string {
  const [first, ...more] = runs.map(({ runNo }) => runNo)
  return more.length === 0 ? `run ${first}` : `runs ${first} to ${more.at(-1)}`
}

function add({ problems }: CheckedGroup, problem: string): void {
  if (problems.length < PROBLEMS_MAX && !problems.includes(problem)) problems.push(problem)
}
