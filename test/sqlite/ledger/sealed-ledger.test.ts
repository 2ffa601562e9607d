// Goal: whatever is sealed is found again, once, at every merge step, by readers that hear
// of a merge step late, and after a crash at any of them.

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Finding } from '../../../src/domain/finding.ts'
import type { Submission, SubmittedMeasurement } from '../../../src/domain/measurement.ts'
import { STATUS_CREATED, STATUS_DUPLICATE } from '../../../src/sqlite/commit/group-frame.ts'
import { LOOK_UP_MS_MAX } from '../../../src/sqlite/commit/group-look-up.ts'
import { BlockShuffle } from '../../../src/sqlite/ledger/block-shuffle.ts'
import { BlockStore } from '../../../src/sqlite/ledger/block-store.ts'
import { EVENT_BYTES, SEGMENTS } from '../../../src/sqlite/ledger/ledger-run.ts'
import type { Run } from '../../../src/sqlite/ledger/ledger-run.ts'
import { LEDGER_PAGE_BYTES } from '../../../src/sqlite/ledger/schema.ts'
import { LedgerCheck } from '../../../src/sqlite/verify/ledger-check.ts'
import { CommitterBench } from '../../support/committer.ts'
import { damageLeaf } from '../../support/damage.ts'

const NOW_MS = 1_800_000_000_000
const EPOCH_EVENTS = 256
/** A page has few of the segments of a run as large as this. */
const EVENTS_OF_MANY_PAGES = 2 ** 13
/** In the middle of the second run of a merge. */
const LEAF_OF_A_SOURCE = 24
const MANY = 2_000
/** What a group has room for. */
const GROUP_EVENTS_MAX = 2 ** 13
/** Enough for a dozen merges. */
const EPOCHS = 52

describe('the sealed ledger', () => {
  it('knows every event once at every merge step, and after a crash at any', () => {
    const epoch = fc.record({
      events: fc.integer({ min: EPOCH_EVENTS / 2 + 1, max: EPOCH_EVENTS - 1 }),
      mergeStepsMax: fc.nat({ max: 4 }),
      isCrash: fc.boolean(),
      epochsAgo: fc.nat({ max: 8 }),
    })
    const story = fc.array(epoch, { minLength: EPOCHS, maxLength: EPOCHS })
    fc.assert(
      fc.property(story, (epochs) => {
        const bench = new CommitterBench({}, EPOCH_EVENTS)
        const sent: Submission[] = []
        for (const { events, mergeStepsMax, isCrash, epochsAgo } of epochs) {
          const submission = freshEvents(events)
          expect(createdOf(bench, submission)).to.equal(events)
          sent.push(submission)
          bench.seal(mergeStepsMax)
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
      { numRuns: 3 },
    )
  })

  it('finds the few events that are sent again among new ones', () => {
    const bench = new CommitterBench({}, 2 ** 11)
    const known: SubmittedMeasurement[] = []
    while (mergedRunsOf(bench) < 2) {
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

  it('takes no more room for a merge than one merge step', () => {
    const epochEvents = 2 ** 14
    const bench = new CommitterBench({}, epochEvents)
    for (let epoch = 0; epoch < 8; epoch++) {
      createdOf(bench, freshEvents(epochEvents))
      bench.seal()
    }
    expect(mergedRunsOf(bench)).to.equal(1)
    const bytes = 7 * epochEvents * (EVENT_BYTES + 2)
    expect(pagesOf(bench) * LEDGER_PAGE_BYTES).to.be.lessThan(bytes * 1.3)
    bench.close()
  })

  for (const table of ['cohort_segments', 'fine_filters']) {
    it(`checks what is stored in ${table} of a merge that is under way`, () => {
      const bench = withUnfinishedMerge()
      expect(findingsOf(bench)).to.deep.equal([])
      const forget = bench.ledgerFile.prepare(
        `UPDATE ${table} SET filter = zeroblob(length(filter))`,
      )
      expect(forget.run().changes).to.be.greaterThan(0)
      const [finding] = findingsOf(bench)
      expect(finding?.problem).to.match(/its filter does not know an event that is in it/)
      bench.close()
    })
  }

  it('refuses what it has no time to look up, those with the most events first', () => {
    const bench = new CommitterBench({}, 2 ** 13)
    const batches = Array.from({ length: 3 }, () => freshEvents(2_000))
    const single = { ...freshEvents(1), userId: 2 }
    bench.commit([...batches, single])
    createdOf(bench, freshEvents(2 ** 13 - 1))
    bench.seal()
    bench.lookMs = LOOK_UP_MS_MAX / 4
    const { rejections } = bench.commit([...batches, single])
    expect(rejections.map(({ submission, code }) => [submission, code])).to.deep.equal([
      [0, 'overloaded'],
      [1, 'overloaded'],
      [2, 'overloaded'],
    ])
    bench.lookMs = 0
    expect(bench.commit([...batches, single]).rejections).to.deep.equal([])
    bench.close()
  })

  it('goes on with other merges where one has met a damaged page', () => {
    const bench = withUnfinishedMerge(EVENTS_OF_MANY_PAGES)
    bench.crash(() => damageLeaf(join(bench.dir, 'ledger.db'), 'blocks', LEAF_OF_A_SOURCE))
    const known: Submission[] = []
    for (const starts of [1, 2]) {
      const before = mergedRunsOf(bench)
      while (mergedRunsOf(bench) < before + 2) {
        const fresh = freshMeasurements(MANY).map((each) => submissionOf([each]))
        const { rejections } = bench.commit(fresh)
        const refused = new Set(rejections.map(({ submission }) => submission))
        expect(refused.size, 'needs what is damaged').to.be.within(1, MANY / 4)
        known.push(...fresh.filter((_, at) => !refused.has(at)))
        bench.seal()
      }
      expect(bench.damaged).to.have.lengthOf(starts)
      for (let at = 0; at < known.length; at += MANY) {
        const { rejections, status } = bench.commit(known.slice(at, at + MANY))
        expect(rejections).to.deep.equal([])
        expect(status.every((each) => each === STATUS_DUPLICATE)).to.equal(true)
      }
      bench.crash()
    }
    bench.close()
  })

  it('names an event that is in two runs', () => {
    const bench = new CommitterBench({}, EPOCH_EVENTS)
    createdOf(bench, freshEvents(EPOCH_EVENTS - 1))
    createdOf(bench, freshEvents(EPOCH_EVENTS - 1))
    bench.seal()
    const { ledgerFile } = bench
    ledgerFile.exec(
      `INSERT INTO runs (events, blocks, segments_written)
         SELECT events, blocks, segments_written FROM runs`,
    )
    const select = 'SELECT run_no AS runNo, events, blocks FROM runs ORDER BY run_no'
    const [run, copy] = ledgerFile.prepare<[], Run>(select).all()
    const blocks = new BlockStore(ledgerFile)
    const shuffle = new BlockShuffle()
    for (let segment = 0; segment < SEGMENTS; segment++) shuffle.gather(blocks.read(run!, segment))
    blocks.write(copy!, 0, shuffle.arrange(copy!, 0, SEGMENTS))
    const problems = findingsOf(bench).map(({ problem }) => problem)
    expect(problems).to.include('run 2: an event of it is in run 1 too')
    bench.close()
  })

  it('knows after a start what cohorts know, in segments that are worth giving back', () => {
    const bench = new CommitterBench({}, 2 ** 15)
    const sent: Submission[] = []
    while (mergedRunsOf(bench) < 2) {
      const submission = freshEvents(GROUP_EVENTS_MAX - 1)
      createdOf(bench, submission)
      sent.push(submission)
      bench.seal()
    }
    const least = bench.ledgerFile.prepare('SELECT min(length(filter)) FROM cohort_segments')
    expect(least.pluck().get()).to.be.greaterThan(2_048)
    bench.crash()
    for (const submission of sent.slice(0, 3)) expect(createdOf(bench, submission)).to.equal(0)
    bench.close()
  })

  it('begins another cohort when sixteen runs share one', () => {
    const bench = new CommitterBench({}, 64)
    const sent: Submission[] = []
    while (mergedRunsOf(bench) < 18) {
      const submission = freshEvents(63)
      createdOf(bench, submission)
      sent.push(submission)
      bench.seal()
    }
    const cohorts = bench.ledgerFile.prepare('SELECT DISTINCT id / 256 FROM cohort_segments')
    expect(cohorts.pluck().all()).to.deep.equal([0, 1])
    bench.crash()
    for (const submission of sent) expect(createdOf(bench, submission)).to.equal(0)
    expect(findingsOf(bench)).to.deep.equal([])
    bench.close()
  })
})

/** A merge whose first merge steps have moved the first events. */
function withUnfinishedMerge(epochEvents = EPOCH_EVENTS): CommitterBench {
  const bench = new CommitterBench({}, epochEvents)
  const merging = bench.ledgerFile.prepare('SELECT 1 FROM runs WHERE merged_into IS NOT NULL')
  while (merging.get() === undefined) {
    createdOf(bench, freshEvents(epochEvents - 1))
    bench.seal(0)
  }
  bench.seal(2)
  return bench
}

/** Those that are whole. */
function mergedRunsOf({ ledgerFile }: CommitterBench): number {
  const count = ledgerFile.prepare<[], number>(
    'SELECT count(*) FROM runs WHERE merged_no IS NOT NULL AND segments_written = 256',
  )
  return count.pluck().get() ?? 0
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
