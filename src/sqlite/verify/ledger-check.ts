// Checks that the event ledger knows every event once: all runs in use, the events in the journal
// that are not sealed yet, and both against the number accepted per sensor.
//
// Runs come and go meanwhile. If the merge of a run begins after it was read, its results are
// discarded and all runs of that merge are read together. In the end, the runs read are exactly
// those in use at one moment, with the mark up to which they seal the journal.

import { RESTORE_BACKUP } from '../../domain/finding.ts'
import type { Finding, Report } from '../../domain/finding.ts'
import { inOneViewOf, LEDGER_FILE } from '../database.ts'
import type { Connection, InOneView } from '../database.ts'
import { decodeEntries } from '../journal-row.ts'
import type { JournalColumns } from '../journal-row.ts'
import { KEY_WORDS } from '../event-key.ts'
import type { Run } from '../ledger/ledger-run.ts'
import { KnownRuns } from './known-run.ts'
import type { KnownRun } from './known-run.ts'
import { RunCheck } from './run-check.ts'
import type { CheckedGroup, RunGroup } from './run-check.ts'

// Runs being merged, and the run they are merged into, go by that run's number.
const LIVE_GROUPS = 'SELECT DISTINCT coalesce(merged_into, run_no) FROM runs ORDER BY 1'
const YOUNG_RUNS = `
  SELECT run_no AS runNo, events, blocks FROM runs
  WHERE merged_no IS NULL AND coalesce(merged_into, run_no) = ? ORDER BY run_no`
const EVENTS = 'SELECT total(events) FROM runs WHERE merged_into IS NULL'
const SEALED = 'SELECT seq FROM sealed WHERE id = 1'
const UNSEALED = 'FROM journal WHERE seq > ? AND measurements > 0 AND is_repeated = 0'
const COUNT_UNSEALED = `SELECT total(measurements) ${UNSEALED}`
const UNSEALED_ROWS = `SELECT entries ${UNSEALED} ORDER BY seq`
// If measurements of a sensor were dropped, it has fewer than its events; how many is not recorded.
const ACCEPTED = `
  SELECT id, (SELECT total(measurements) FROM accepted_per_day WHERE sensor_id = id) AS accepted
  FROM sensors WHERE deleted_at_ms IS NULL
    AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'set_aside' AND seq > 0)`
const IS_KNOWN = 'SELECT 1 FROM sensors WHERE id = ?'

/** The number of event ids now, sealed or not: as many as `LedgerCheck` finds. */
export function countEventIds(control: Connection, ledger: Connection): number {
  const { sealedSeq, events } = inOneViewOf(ledger)(() => ({
    sealedSeq: ledger.prepare<[], number>(SEALED).pluck().get() ?? 0,
    events: ledger.prepare<[], number>(EVENTS).pluck().get() ?? 0,
  }))
  let count = events
  for (const { hasEventId } of unsealedRows(control, sealedSeq)) {
    for (const isOne of hasEventId) count += isOne
  }
  return count
}

function* unsealedRows(control: Connection, sealedSeq: number): Generator<JournalColumns> {
  const rows = control.prepare<[number], Buffer>(UNSEALED_ROWS).pluck()
  for (const entries of rows.iterate(sealedSeq)) yield decodeEntries(entries)
}

/** Keys of events not yet sealed, four words each. */
interface Unsealed {
  readonly keys: Uint32Array
  readonly count: number
}

export class LedgerCheck {
  readonly #control: Connection
  readonly #ledger: Connection
  readonly #inOneView: InOneView
  readonly #runCheck: RunCheck
  readonly #knownRuns: KnownRuns
  readonly #checked = new Map<number, CheckedGroup>()

  constructor(control: Connection, ledger: Connection) {
    this.#control = control
    this.#ledger = ledger
    this.#inOneView = inOneViewOf(ledger)
    this.#runCheck = new RunCheck(ledger)
    this.#knownRuns = new KnownRuns(ledger)
  }

  /** The number of events now, sealed or not. */
  total(): number {
    const sealed = this.#ledger.prepare<[], number>(EVENTS).pluck().get() ?? 0
    return sealed + this.#countUnsealed(this.#sealedSeq())
  }

  /** Yields the number of events checked since the last yield. @returns the number of all */
  *check(report: Report): Generator<number, number> {
    let sealedSeq = this.#settledSeq()
    while (sealedSeq === undefined) {
      yield* this.#checkNextGroup()
      sealedSeq = this.#settledSeq()
    }
    const counts = new Map<number, number>()
    let events = 0
    for (const group of this.#checked.values()) {
      for (const problem of group.problems) report(findingOf(problem))
      for (const [sensorId, count] of group.eventsOf) addTo(counts, sensorId, count)
      events += group.events
    }
    const unsealed = this.#readUnsealed(sealedSeq, counts, report)
    yield* this.#checkUnsealed(unsealed, report)
    return events + unsealed.count
  }

  /** The mark that belongs to the checked runs, if they are the ones in use. */
  #settledSeq(): number | undefined {
    return this.#inOneView(() => {
      const isSettled = this.#forgetGone().every((groupNo) => this.#checked.has(groupNo))
      return isSettled ? this.#sealedSeq() : undefined
    })
  }

  #sealedSeq(): number {
    return this.#ledger.prepare<[], number>(SEALED).pluck().get() ?? 0
  }

  #countUnsealed(sealedSeq: number): number {
    return this.#control.prepare<[number], number>(COUNT_UNSEALED).pluck().get(sealedSeq) ?? 0
  }

  /** @returns the numbers of the current groups */
  #forgetGone(): number[] {
    const live = this.#ledger.prepare<[], number>(LIVE_GROUPS).pluck().all()
    for (const groupNo of this.#checked.keys()) {
      if (!live.includes(groupNo)) this.#checked.delete(groupNo)
    }
    return live
  }

  *#checkNextGroup(): Generator<number> {
    const next = this.#inOneView(() => {
      const groupNo = this.#forgetGone().find((no) => !this.#checked.has(no))
      return groupNo === undefined ? undefined : { groupNo, group: this.#readGroup(groupNo) }
    })
    if (next === undefined) return
    const checked = yield* this.#runCheck.check(next.group, this.#checkedRuns())
    if (checked !== undefined) this.#checked.set(next.groupNo, checked)
  }

  #readGroup(groupNo: number): RunGroup {
    const young = this.#ledger.prepare<[number], Run>(YOUNG_RUNS).all(groupNo)
    const runs = young.map((run) => this.#knownRuns.readYoung(run))
    const merged = this.#knownRuns.readMerged(groupNo)
    if (merged === undefined) return { runs, into: undefined }
    return runs.length === 0 ? { runs: [merged], into: undefined } : { runs, into: merged }
  }

  #checkedRuns(): KnownRun[] {
    return [...this.#checked.values()].flatMap(({ runs, into }) =>
      into === undefined ? runs : [...runs, into],
    )
  }

  /** One view of control.db, so that accepted and journalled events agree. */
  #readUnsealed(sealedSeq: number, counts: Map<number, number>, report: Report): Unsealed {
    return this.#control.transaction(() => {
      const keys = new Uint32Array(this.#countUnsealed(sealedSeq) * KEY_WORDS)
      let count = 0
      for (const columns of unsealedRows(this.#control, sealedSeq)) {
        for (let at = 0; at < columns.count; at++) {
          const offset = at * KEY_WORDS
          if (columns.hasEventId[at] === 0) continue
          keys.set(columns.keys.subarray(offset, offset + KEY_WORDS), count++ * KEY_WORDS)
          addTo(counts, columns.sensorId[at] ?? 0, 1)
        }
      }
      this.#checkSensors(counts, report)
      return { keys, count }
    })()
  }

  #checkSensors(counts: ReadonlyMap<number, number>, report: Report): void {
    const isKnown = this.#control.prepare(IS_KNOWN)
    for (const sensorId of counts.keys()) {
      if (isKnown.get(sensorId) !== undefined) continue
      report({ ...findingOf('it has events of a sensor that never was'), sensorId })
    }
    const rows = this.#control.prepare<[], { id: number; accepted: number }>(ACCEPTED)
    for (const { id: sensorId, accepted } of rows.iterate()) {
      const events = counts.get(sensorId) ?? 0
      if (events <= accepted) continue
      const problem = `it knows ${events} events, but ${accepted} measurements were accepted`
      report({ ...findingOf(problem), sensorId })
    }
  }

  *#checkUnsealed({ keys, count }: Unsealed, report: Report): Generator<number> {
    const runs = this.#checkedRuns()
    for (let event = 0; event < count; event++) {
      const run = this.#runCheck.find(runs, keys, event * KEY_WORDS)
      if (run !== undefined) report(findingOf(`an event of run ${run.runNo} is journalled again`))
    }
    yield count
    // The chance that two different keys in a million share their 64 bits is one in 10^7.
    const halves = new BigUint64Array(count)
    const view = new BigUint64Array(keys.buffer, 0, count * 2)
    for (let event = 0; event < count; event++) halves[event] = view[event * 2] ?? 0n
    halves.sort()
    const isTwice = halves.some((half, at) => at > 0 && half === halves[at - 1])
    if (isTwice) report(findingOf('an event is journalled twice'))
  }
}

function addTo(counts: Map<number, number>, sensorId: number, count: number): void {
  counts.set(sensorId, (counts.get(sensorId) ?? 0) + count)
}

function findingOf(problem: string): Finding {
  return { check: 'ledger', where: LEDGER_FILE, problem, remedy: RESTORE_BACKUP }
}
