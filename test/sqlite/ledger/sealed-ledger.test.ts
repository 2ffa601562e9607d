// Goal: whatever is sealed is found again, once, at every step of every merge, after a crash at any
// of them, and in data of the version before.

import { randomFillSync, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Finding } from '../../../src/domain/finding.ts'
import type { Submission, SubmittedMeasurement } from '../../../src/domain/measurement.ts'
import { openForWriting } from '../../../src/sqlite/database.ts'
import type { Connection } from '../../../src/sqlite/database.ts'
import { STATUS_CREATED } from '../../../src/sqlite/commit/group-frame.ts'
import { addToFilter, filterWords } from '../../../src/sqlite/ledger/key-filter.ts'
import type { RunPlan } from '../../../src/sqlite/ledger/ledger-run.ts'
import { OwnFilterWriter } from '../../../src/sqlite/ledger/own-filter-writer.ts'
import { EVENT_BYTES, packEvent, RUN_STRIDE } from '../../../src/sqlite/ledger/run-block.ts'
import { RunWriter } from '../../../src/sqlite/ledger/run-writer.ts'
import { LEDGER_MIGRATIONS, LEDGER_PAGE_BYTES } from '../../../src/sqlite/ledger/schema.ts'
import type { StoredEvent } from '../../../src/sqlite/ledger/hot-ledger.ts'
import { SealedEvents } from '../../../src/sqlite/ledger/sealed-events.ts'
import { readStoredRuns } from '../../../src/sqlite/ledger/stored-runs.ts'
import { LedgerCheck } from '../../../src/sqlite/verify/ledger-check.ts'
import { CommitterBench } from '../../support/committer.ts'

const NOW_MS = 1_800_000_000_000
/** Four lines of a filter: a merge cuts them off one by one. */
const EPOCH_EVENTS = 256
/** What a group has room for. */
const GROUP_EVENTS_MAX = 2 ** 13
/** Enough for four levels, and some runs more. */
const EPOCHS = 44

describe('the sealed ledger', () => {
  it('knows every event once at every step of its merges, and after a crash at any', function () {
    this.timeout(120_000)
    const epoch = fc.record({
      events: fc.integer({ min: EPOCH_EVENTS / 2 + 1, max: EPOCH_EVENTS - 1 }),
      stepsMax: fc.nat({ max: 4 }),
      isCrash: fc.boolean(),
      epochsAgo: fc.nat({ max: 8 }),
    })
    const story = fc.array(epoch, { minLength: EPOCHS, maxLength: EPOCHS })
    fc.assert(
      fc.property(story, (epochs) => {
        const bench = new CommitterBench({}, EPOCH_EVENTS)
        const sent: Submission[] = []
        for (const { events, stepsMax, isCrash, epochsAgo } of epochs) {
          const submission = freshEvents(events)
          expect(createdOf(bench, submission)).to.equal(events)
          sent.push(submission)
          bench.seal(stepsMax)
          if (isCrash) bench.crash()
          for (const at of [sent.length >> 1, Math.max(0, sent.length - 1 - epochsAgo)]) {
            expect(createdOf(bench, sent[at]!), 'created again').to.equal(0)
          }
        }
        expect(findingsOf(bench), 'in the middle').to.deep.equal([])
        for (const submission of sent) expect(createdOf(bench, submission)).to.equal(0)
        bench.seal()
        expect(findingsOf(bench), 'in the end').to.deep.equal([])
        for (const submission of sent) expect(createdOf(bench, submission)).to.equal(0)
        bench.close()
      }),
      { numRuns: 8 },
    )
  })

  it('knows after a crash what a merge has moved and not yet told its filter', function () {
    this.timeout(120_000)
    // Of a segment's eight blocks the last step has moved four.
    const { bench, sent } = withUnfinishedMerge({ level: 0, steps: 100, epochEvents: 2 ** 14 })
    bench.crash()
    for (const submission of sent) expect(createdOf(bench, submission)).to.equal(0)
    bench.close()
  })

  it('finds the few events that are sent again among new ones', () => {
    const bench = new CommitterBench({}, 2 ** 11)
    const known: SubmittedMeasurement[] = []
    while (levelsOf(bench).filter((level) => level === 1).length < 2) {
      const measurements = freshMeasurements(2 ** 11 - 1)
      createdOf(bench, submissionOf(measurements))
      known.push(...measurements)
      bench.seal()
    }
    for (let at = 0; at < known.length; at += 97) {
      const mixed = submissionOf([...freshMeasurements(200), ...known.slice(at, at + 4)])
      expect(createdOf(bench, mixed)).to.equal(200)
    }
    bench.close()
  })

  it('takes no more room for a merge than a step of it', () => {
    const epochEvents = 2 ** 14
    const bench = new CommitterBench({}, epochEvents)
    for (let epoch = 0; epoch < 8; epoch++) {
      createdOf(bench, freshEvents(epochEvents))
      bench.seal()
    }
    expect(levelsOf(bench)).to.deep.equal([1, 0, 0, 0])
    const bytes = 7 * epochEvents * (EVENT_BYTES + 2)
    expect(pagesOf(bench) * LEDGER_PAGE_BYTES).to.be.lessThan(bytes * 1.3)
    bench.close()
  })

  for (const { level, table, damage } of [
    { level: 0, table: 'cohort_segments', damage: 'filter = zeroblob(length(filter))' },
    { level: 0, table: 'fine_filters', damage: 'filter = zeroblob(length(filter))' },
    { level: 1, table: 'filter_parts', damage: 'lines = zeroblob(length(lines))' },
  ]) {
    it(`checks what is stored in ${table} of a merge that is under way`, () => {
      const { bench } = withUnfinishedMerge({ level })
      expect(findingsOf(bench)).to.deep.equal([])
      const forget = bench.ledgerFile.prepare(`UPDATE ${table} SET ${damage}`)
      expect(forget.run().changes).to.be.greaterThan(0)
      const [finding] = findingsOf(bench)
      expect(finding?.problem).to.match(/its filter does not know an event that is in it/)
      bench.close()
    })
  }

  for (const version of [2, 4, 5]) {
    it(`finishes a merge that version ${version} has begun`, () => {
      const { bench, sent } = withUnfinishedMerge({ level: 0 })
      bench.ledgerFile.exec('DROP TABLE fine_filters')
      if (version < 5) {
        bench.ledgerFile.exec('UPDATE runs SET filter_word = 0 WHERE state = 0')
        bench.ledgerFile.exec('DROP TABLE cohort_runs; DROP TABLE cohort_segments')
      }
      if (version < 4) bench.ledgerFile.exec('DROP TABLE filter_parts')
      bench.ledgerFile.pragma(`user_version = ${version}`)
      bench.crash()
      // What has been sealed meanwhile lets the merge go on.
      sent.push(freshEvents(EPOCH_EVENTS - 1), freshEvents(EPOCH_EVENTS - 1))
      for (const submission of sent) createdOf(bench, submission)
      bench.seal()
      bench.crash()
      for (const submission of sent) expect(createdOf(bench, submission)).to.equal(0)
      expect(findingsOf(bench)).to.deep.equal([])
      bench.close()
    })
  }

  it('finishes a merge with the kind of filter that it was begun with', () => {
    const { bench, sent } = withUnfinishedMerge({ level: 1, steps: 0 })
    const begun = bench.ledgerFile.prepare('UPDATE runs SET filter_word = -60 WHERE state = 0')
    expect(begun.run().changes).to.equal(1)
    for (const steps of [1, Infinity]) {
      bench.crash()
      sent.push(freshEvents(EPOCH_EVENTS - 1))
      for (const submission of sent) createdOf(bench, submission)
      bench.seal(steps)
      expect(findingsOf(bench)).to.deep.equal([])
    }
    const kinds = bench.ledgerFile.prepare('SELECT filter_word FROM runs WHERE level = 2').pluck()
    expect(kinds.all()).to.deep.equal([-60])
    for (const submission of sent) expect(createdOf(bench, submission)).to.equal(0)
    bench.close()
  })

  it('merges runs that have filters of their own, as the version before has written them', () => {
    const { bench, sent } = withMergedRuns(1)
    giveOwnFilters(bench.ledgerFile)
    bench.ledgerFile.exec('DELETE FROM cohort_runs; DELETE FROM cohort_segments')
    bench.crash()
    while (levelsOf(bench).filter((level) => level === 2).length === 0) {
      expect(findingsOf(bench)).to.deep.equal([])
      sent.push(freshEvents(EPOCH_EVENTS - 1))
      for (const submission of sent) createdOf(bench, submission)
      bench.seal(3)
    }
    for (const submission of sent) expect(createdOf(bench, submission)).to.equal(0)
    expect(findingsOf(bench)).to.deep.equal([])
    const numbers = (sql: string) => bench.ledgerFile.prepare(sql).pluck().all()
    const left = numbers('SELECT run_no FROM runs WHERE level = 1 AND state < 2')
    expect(numbers('SELECT run_no FROM cohort_runs')).to.deep.equal(left)
    bench.close()
  })

  it('knows after a start what cohorts know, in segments that are worth giving back', function () {
    this.timeout(120_000)
    const { bench, sent } = withMergedRuns(2, 2 ** 15)
    const least = bench.ledgerFile.prepare('SELECT min(length(filter)) FROM cohort_segments')
    expect(least.pluck().get()).to.be.greaterThan(2_048)
    bench.crash()
    for (const submission of sent.slice(0, 3)) expect(createdOf(bench, submission)).to.equal(0)
    bench.close()
  })

  it('lets go of the filters of a cohort as its runs are merged', () => {
    const { bench } = withUnfinishedMerge({ level: 1, steps: 20 })
    const fineParts = bench.ledgerFile.prepare<[], { runNo: number; segmentNo: number }>(
      'SELECT id / 2048 AS runNo, id % 2048 / 8 AS segmentNo FROM fine_filters ORDER BY id',
    )
    const [firstPart] = fineParts.all()
    const segments = bench.ledgerFile.prepare<[], { cohortNo: number; segmentNo: number }>(
      'SELECT id / 256 AS cohortNo, id % 256 AS segmentNo FROM cohort_segments ORDER BY id',
    )
    const [first] = segments.all()
    expect(first?.segmentNo).to.be.within(1, 255)
    expect(firstPart?.segmentNo).to.equal(first?.segmentNo)
    while (!levelsOf(bench).includes(2)) {
      createdOf(bench, freshEvents(EPOCH_EVENTS - 1))
      bench.seal()
    }
    const left = new Set(segments.all().map(({ cohortNo }) => cohortNo))
    expect([...left]).to.not.include(first?.cohortNo)
    const runsLeft = new Set(fineParts.all().map(({ runNo }) => runNo))
    expect([...runsLeft]).to.not.include(firstPart?.runNo)
    bench.close()
  })

  it('finds events of the version before, and leaves nothing of its unfinished merges', () => {
    const dir = mkdtempSync(join(tmpdir(), 'thermolog-ledger-'))
    const file = join(dir, 'ledger.db')
    const before = openForWriting(file, LEDGER_MIGRATIONS.slice(0, 1), LEDGER_PAGE_BYTES)
    const keys = randomFillSync(new Uint32Array(4))
    insertAsBefore(before, 1, keys)
    for (const state of [0, 2]) insertAsBefore(before, state, randomFillSync(new Uint32Array(4)))
    before.close()

    const db = openForWriting(file, LEDGER_MIGRATIONS)
    const found = new Map<number, StoredEvent>()
    new SealedEvents(db, readStoredRuns(db, [])).findAll(keys, 1, found)
    const event = { sensorId: 7, measuredAtMs: NOW_MS, tempCelsius: 21.5 }
    expect([...found]).to.deep.equal([[0, event]])
    expect(db.prepare('SELECT count(*) FROM blocks').pluck().get()).to.equal(1)
    db.close()
    rmSync(dir, { recursive: true })
  })
})

/** A merge of runs of that level, of which some steps have moved the first events. */
function withUnfinishedMerge({
  level,
  steps = 1,
  epochEvents = EPOCH_EVENTS,
}: {
  level: number
  steps?: number
  epochEvents?: number
}) {
  const { bench, sent } = withMergedRuns(level === 0 ? 0 : 3, epochEvents)
  const isBegun = bench.ledgerFile.prepare('SELECT 1 FROM runs WHERE state = 0')
  while (isBegun.get() === undefined) {
    const submission = freshEvents(Math.min(epochEvents, GROUP_EVENTS_MAX) - 1)
    createdOf(bench, submission)
    sent.push(submission)
    bench.seal(0)
  }
  bench.seal(steps)
  return { bench, sent }
}

/** So many runs of the second level. */
function withMergedRuns(count: number, epochEvents = EPOCH_EVENTS) {
  const bench = new CommitterBench({}, epochEvents)
  const sent: Submission[] = []
  while (levelsOf(bench).filter((level) => level === 1).length < count) {
    const submission = freshEvents(Math.min(epochEvents, GROUP_EVENTS_MAX) - 1)
    createdOf(bench, submission)
    sent.push(submission)
    bench.seal()
  }
  return { bench, sent }
}

function levelsOf({ ledgerFile }: CommitterBench): unknown[] {
  return ledgerFile.prepare('SELECT level FROM runs WHERE state = 1').pluck().all()
}

function giveOwnFilters(db: Connection): void {
  const plans = db.prepare<[], RunPlan>(
    `SELECT run_no AS runNo, events, blocks, filter_word AS filterWord FROM runs
     WHERE state = 1 AND level = 1`,
  )
  const blocks = db.prepare<[number, number], Buffer>(
    'SELECT entries FROM blocks WHERE id >= ? AND id < ? ORDER BY id',
  )
  for (const plan of plans.all()) {
    const writer = new RunWriter(db, new OwnFilterWriter(db, plan))
    const start = plan.runNo * RUN_STRIDE
    for (const entries of blocks.pluck().all(start, start + plan.blocks)) writer.learn(entries)
    writer.putIntoUse()
  }
}

function freshEvents(count: number): Submission {
  return submissionOf(freshMeasurements(count))
}

function submissionOf(measurements: readonly SubmittedMeasurement[]): Submission {
  return { userId: 1, receivedAtMs: NOW_MS, measurements }
}

function freshMeasurements(count: number): SubmittedMeasurement[] {
  return Array.from({ length: count }, (_, at) => ({
    eventId: randomUUID(),
    serialNumber: `s-${at % 3}`,
    tempCelsius: at,
    measuredAtMs: NOW_MS - at * 1_000,
  }))
}

function createdOf(bench: CommitterBench, submission: Submission): number {
  return bench.commit([submission]).status.filter((status) => status === STATUS_CREATED).length
}

function findingsOf({ control, ledgerFile }: CommitterBench): Finding[] {
  const findings: Finding[] = []
  const steps = new LedgerCheck(control, ledgerFile).check((finding) => findings.push(finding))
  while (steps.next().done !== true);
  return findings
}

function pagesOf({ ledgerFile }: CommitterBench): number {
  return Number(ledgerFile.pragma('page_count', { simple: true }))
}

function insertAsBefore(db: Connection, state: number, keys: Uint32Array): void {
  const filter = new Uint32Array(filterWords(1))
  const [, w1 = 0, w2 = 0, w3 = 0] = keys
  addToFilter(filter, w3, w1, w2)
  const run = db.prepare(
    'INSERT INTO runs (state, level, events, blocks, filter) VALUES (?, 0, 1, 1, ?)',
  )
  const { lastInsertRowid } = run.run(state, Buffer.from(filter.buffer))
  const entries = new DataView(new ArrayBuffer(EVENT_BYTES))
  const columns = {
    sensorId: Uint32Array.of(7),
    measuredAtMs: Float64Array.of(NOW_MS),
    tempCelsius: Float64Array.of(21.5),
  }
  packEvent({ keys, ...columns }, 0, entries, 0)
  const block = db.prepare('INSERT INTO blocks (id, entries) VALUES (?, ?)')
  block.run(Number(lastInsertRowid) * RUN_STRIDE, Buffer.from(entries.buffer))
}
