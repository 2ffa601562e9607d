// Checks that a run of the sealed ledger is as its writer makes it: each event once, in the block
// of its key, in the filters, within its sensor's time spans, and in no other run.
//
// Runs being merged are checked together with the run they are merged into: each event is in
// exactly one of them. A group is read segment by segment, each in one view of the file with no
// transaction in between, beside the seal thread.

import { decodeSpans, isCovered } from '../../domain/time-spans.ts'
import { formatInstant } from '../../domain/time.ts'
import { ifWhole, inOneViewOf } from '../database.ts'
import type { Connection, InOneView } from '../database.ts'
import { KEY_WORDS } from '../event-key.ts'
import { EventLookUp } from '../ledger/event-look-up.ts'
import { blockIdOf, EVENT_BYTES, firstBlockIdOf, SEGMENTS } from '../ledger/ledger-run.ts'
import { learn, mayBeKnown } from './known-run.ts'
import type { KnownRun } from './known-run.ts'

const PROBLEMS_MAX = 10
const SPAN_CACHE_MAX = 50_000

const BLOCKS = 'SELECT id, entries FROM blocks WHERE id >= ? AND id < ? ORDER BY id'
const STATE = `
  SELECT segments_written AS written, merged_into AS intoNo FROM runs WHERE run_no = ?`
const SPANS = 'SELECT spans FROM time_spans WHERE sensor_id = ?'

/** A run, or all runs of a merge. */
export interface RunGroup {
  readonly runs: readonly KnownRun[]
  /** The run they are being merged into. */
  readonly into: KnownRun | undefined
}

export interface CheckedGroup extends RunGroup {
  readonly events: number
  /** The first of them. */
  readonly problems: string[]
  /** Number of its events per sensor. */
  readonly eventsOf: Map<number, number>
}

interface BlockRow {
  readonly id: number
  readonly entries: Buffer
}

interface State {
  readonly written: number
  readonly intoNo: number | null
}

export class RunCheck {
  readonly #inOneView: InOneView
  readonly #lookUp: EventLookUp
  readonly #blocks
  readonly #state
  readonly #spans
  readonly #spanCache = new Map<number, Float64Array>()
  readonly #words = new Uint32Array(KEY_WORDS)

  constructor(ledger: Connection) {
    this.#inOneView = inOneViewOf(ledger)
    this.#lookUp = new EventLookUp(ledger)
    this.#blocks = ledger.prepare<[number, number], BlockRow>(BLOCKS)
    this.#state = ledger.prepare<[number], State>(STATE)
    this.#spans = ledger.prepare<[number], Buffer>(SPANS).pluck()
  }

  /**
   * Reads a whole group; yields the number of events checked since the last yield.
   *
   * @param others runs that must not have any event of the group
   * @returns `undefined` if the group has changed meanwhile
   */
  *check(
    group: RunGroup,
    others: readonly KnownRun[],
  ): Generator<number, CheckedGroup | undefined> {
    const events = group.runs.reduce((sum, run) => sum + run.events, 0)
    const checked: CheckedGroup = { ...group, events, problems: [], eventsOf: new Map() }
    let found = 0
    for (let segment = 0; segment < SEGMENTS; segment++) {
      const looked = this.#inOneView(() => this.#checkSegment(checked, segment, others))
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

  #isIn(run: KnownRun, words: Uint32Array, offset: number): boolean {
    if (!mayBeKnown(run, words, offset)) return false
    // Damage is reported when the run itself is checked.
    return ifWhole(() => this.#lookUp.find(run, words, offset)) !== undefined
  }

  /** @returns the number of events in it, or `undefined` if the group has changed */
  #checkSegment(
    group: CheckedGroup,
    segment: number,
    others: readonly KnownRun[],
  ): number | undefined {
    const runs = this.#runsWith(group, segment)
    if (runs === undefined) return undefined
    const halves: bigint[] = []
    for (const run of runs) {
      const range = [firstBlockIdOf(run, segment), firstBlockIdOf(run, segment + 1)] as const
      for (const row of this.#blocks.iterate(...range)) {
        this.#checkBlock(row, { run, group, others, halves })
      }
    }
    // The chance that two different keys in a few thousand share their 64 bits is one in 10^12.
    const isTwice = new Set(halves).size < halves.length
    if (isTwice) add(group, `${nameOf(group)}: an event is there twice`)
    return halves.length
  }

  /** The runs of a group that hold the events of a segment, if the group is still the same. */
  #runsWith({ runs, into }: CheckedGroup, segment: number): readonly KnownRun[] | undefined {
    const intoNo = into?.runNo ?? null
    const isSame = runs.every(({ runNo }) => this.#state.get(runNo)?.intoNo === intoNo)
    if (!isSame) return undefined
    const written = into === undefined ? 0 : (this.#state.get(into.runNo)?.written ?? 0)
    return into !== undefined && segment < written ? [into] : runs
  }

  #checkBlock(
    { id, entries }: BlockRow,
    at: { run: KnownRun; group: CheckedGroup; others: readonly KnownRun[]; halves: bigint[] },
  ): void {
    const { run, group, others, halves } = at
    const place = `run ${run.runNo}: block ${id - firstBlockIdOf(run, 0)}`
    for (let event = 0; event < entries.length; event += EVENT_BYTES) {
      const firstWord = this.#readKey(entries, event)
      if (blockIdOf(run, firstWord) !== id) {
        add(group, `${place} has an event that belongs into another block`)
      }
      halves.push(entries.readBigUInt64LE(event))
      learn(run, this.#words, 0)
      if (!mayBeKnown(run, this.#words, 0)) {
        add(group, `${nameOf(group)}: its filter does not know an event that is in it`)
      }
      this.#checkTime(entries, event, group)
      const other = others.find((known) => this.#isIn(known, this.#words, 0))
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

  #checkTime(entries: Buffer, at: number, group: CheckedGroup): void {
    const sensorId = entries.readUInt32LE(at + 16)
    const measuredAtMs = entries.readIntLE(at + 20, 6)
    group.eventsOf.set(sensorId, (group.eventsOf.get(sensorId) ?? 0) + 1)
    if (this.#isSpanned(sensorId, measuredAtMs)) return
    const event = `sensor ${sensorId} has an event of ${formatInstant(measuredAtMs)}`
    add(group, `${nameOf(group)}: ${event}, which is outside its time spans`)
  }

  #isSpanned(sensorId: number, measuredAtMs: number): boolean {
    const known = this.#spanCache.get(sensorId)
    if (known !== undefined && isCovered(known, measuredAtMs)) return true
    // They may have grown meanwhile.
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
