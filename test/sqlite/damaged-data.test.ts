// Goal: a flipped bit never becomes an answer: no event is taken twice, none is told otherwise than
// it is stored, and what needs the damaged part is refused while the rest goes on. Method: bits are
// flipped in stored values, where SQLite itself notices nothing, one at a time; all events are sent
// again to the running ledger and after a start.

import { randomInt, randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { Finding } from '../../src/domain/finding.ts'
import type { Submission } from '../../src/domain/measurement.ts'
import type { Connection } from '../../src/sqlite/database.ts'
import { STATUS_DUPLICATE } from '../../src/sqlite/commit/group-frame.ts'
import { checkChecksums } from '../../src/sqlite/verify/checksum-check.ts'
import { checkJournal } from '../../src/sqlite/verify/journal-check.ts'
import { LedgerCheck } from '../../src/sqlite/verify/ledger-check.ts'
import { CommitterBench } from '../support/committer.ts'

const NOW_MS = 1_800_000_000_000
const EPOCH_EVENTS = 256
const FLIPS = 50

describe('stored data with a flipped bit', function () {
  this.timeout(60_000)
  let bench: CommitterBench
  let sent: Submission[]
  beforeEach(() => {
    bench = new CommitterBench({}, EPOCH_EVENTS)
    sent = []
    // A merged run, some young ones, and events that are not sealed.
    for (let epoch = 0; epoch < 7; epoch++) {
      const submission = freshEvents(EPOCH_EVENTS - 1)
      expect(bench.commit([submission]).refusals).to.deep.equal([])
      sent.push(submission)
      bench.seal()
    }
    expect(findings()).to.deep.equal([])
  })
  afterEach(() => bench.close())

  for (const { table, column, id } of [
    { table: 'blocks', column: 'entries', id: 'id' },
    { table: 'blocks', column: 'checksum', id: 'id' },
    { table: 'cohort_segments', column: 'filter', id: 'id' },
    { table: 'fine_filters', column: 'filter', id: 'id' },
    { table: 'time_spans', column: 'spans', id: 'sensor_id' },
  ]) {
    it(`of ${table}.${column} is found by verify, and changes no answer`, () => {
      for (let flip = 0; flip < FLIPS; flip++) {
        const undo = flipOne(bench.ledgerFile, { table, column, id })
        expect(findings(), 'found').to.not.deep.equal([])
        expectNoneTakenAgain()
        undo()
      }
      // What a start has made good or passed over is whole again.
      flipOne(bench.ledgerFile, { table, column, id })
      bench.crash()
      expectNoneTakenAgain()
    })
  }

  it('of a row of the journal is found by verify, and refused at start', () => {
    for (let flip = 0; flip < FLIPS; flip++) {
      const undo = flipOne(bench.control, { table: 'journal', column: 'entries', id: 'seq' })
      expect(findings(), 'found').to.not.deep.equal([])
      undo()
    }
    bench.control.exec('UPDATE journal SET entries = zeroblob(length(entries))')
    expect(() => bench.crash()).to.throw(/a row of the journal in control.db is damaged/)
  })

  it('of the id of a sensor does not make an event one that is not there', () => {
    // The event and its sensor, the second one, whose id becomes 0.
    const blocks = bench.ledgerFile.prepare<[], { id: number; entries: Buffer }>(
      'SELECT id, entries FROM blocks WHERE length(entries) = 34',
    )
    const set = bench.ledgerFile.prepare('UPDATE blocks SET entries = ? WHERE id = ?')
    const ofSecond = blocks.all().filter(({ entries }) => entries.readUInt32LE(16) === 2)
    expect(ofSecond.length).to.be.greaterThan(0)
    for (const { id, entries } of ofSecond) {
      entries.writeUInt32LE(0, 16)
      set.run(entries, id)
    }
    expectNoneTakenAgain()
  })

  it('is refused for what needs it alone', () => {
    // The block of one event of the merged run.
    const id = bench.ledgerFile.prepare<[], number>(
      'SELECT min(id) FROM blocks WHERE length(entries) > 34',
    )
    const blockId = id.pluck().get()
    bench.ledgerFile.prepare('UPDATE blocks SET checksum = 1 WHERE id = ?').run(blockId)
    const refused = sent.flatMap(({ measurements }) =>
      Array.from({ length: measurements.length }, (_, at) => measurements.at(at)!).filter(
        (measurement) => {
          const one = { userId: 1, receivedAtMs: NOW_MS, measurements: [measurement] }
          const [refusal] = bench.commit([one]).refusals
          if (refusal !== undefined) {
            expect(refusal.code).to.equal('data_damaged')
            expect(refusal.cause?.message).to.equal(`block ${blockId} in ledger.db is damaged`)
          }
          return refusal !== undefined
        },
      ),
    )
    expect(refused).to.have.length.within(2, 64)
  })

  /** Every event is answered as a duplicate, or refused. */
  function expectNoneTakenAgain(): void {
    for (const submission of sent) {
      const { status, refusals } = bench.commit([submission])
      if (refusals.length > 0) expect(refusals[0]?.code).to.equal('data_damaged')
      else expect(status.every((each) => each === STATUS_DUPLICATE)).to.equal(true)
    }
  }

  function findings(): Finding[] {
    const found: Finding[] = []
    const report = (finding: Finding) => void found.push(finding)
    checkJournal(bench.control, bench.ledgerFile, report)
    checkChecksums(bench.ledgerFile, report)
    try {
      const steps = new LedgerCheck(bench.control, bench.ledgerFile).check(report)
      while (steps.next().done !== true);
    } catch (error) {
      expect(error).to.have.property('name', 'DamagedData')
      expect(found, 'the journal is damaged').to.not.deep.equal([])
    }
    return found
  }
})

/** Flips one bit of a value of a random row. @returns what puts it back */
function flipOne(
  db: Connection,
  { table, column, id }: { table: string; column: string; id: string },
): () => void {
  const rows = db.prepare<[], number>(`SELECT ${id} FROM ${table} WHERE length(${column}) > 0`)
  const ids = rows.pluck().all()
  const rowId = ids[randomInt(ids.length)]
  const select = db.prepare<[unknown], Buffer | number>(
    `SELECT ${column} FROM ${table} WHERE ${id} = ?`,
  )
  const before = select.pluck().get(rowId)!
  const update = db.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${id} = ?`)
  update.run(typeof before === 'number' ? before ^ (1 << randomInt(31)) : flipped(before), rowId)
  return () => update.run(before, rowId)
}

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  const at = randomInt(copy.length)
  copy[at] = (copy[at] ?? 0) ^ (1 << randomInt(8))
  return copy
}

function freshEvents(count: number): Submission {
  const measurements = Array.from({ length: count }, (_, at) => ({
    eventId: randomUUID(),
    serialNumber: `s-${at % 3}`,
    tempCelsius: at,
    measuredAtMs: NOW_MS - at * 1_000,
  }))
  return { userId: 1, receivedAtMs: NOW_MS, measurements }
}
