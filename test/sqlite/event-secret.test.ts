// Goal: data are never used with a secret that did not make their keys: a start, `verify` and
// `restore` all refuse them, and a secret is made for new data alone.

import { expect } from 'chai'
import type { Finding } from '../../src/domain/finding.ts'
import { checkFiles } from '../../src/sqlite/backup/check-files.ts'
import { STATUS_DUPLICATE } from '../../src/sqlite/commit/group-frame.ts'
import { checkSecret } from '../../src/sqlite/verify/secret-check.ts'
import { CommitterBench } from '../support/committer.ts'

const NOW_MS = 1_800_000_000_000
const FILES = ['control.db', 'ledger.db']

const EVENT = { eventId: 'e-1', serialNumber: 'a', tempCelsius: 1, measuredAtMs: NOW_MS }
const SUBMISSION = { userId: 1, receivedAtMs: NOW_MS, measurements: [EVENT] }

describe('the event secret', () => {
  let bench: CommitterBench
  beforeEach(() => {
    bench = new CommitterBench()
    bench.commit([SUBMISSION])
  })
  afterEach(() => bench.close())

  it('is the same after every start', () => {
    expect(findings()).to.deep.equal([])
    checkFiles(bench.dir, FILES)
    bench.crash()
    expect([...bench.commit([SUBMISSION]).status]).to.deep.equal([STATUS_DUPLICATE])
  })

  for (const { name, file, sql, where, problem } of [
    {
      name: 'a ledger of other data',
      file: 'ledgerFile',
      sql: 'UPDATE sealed SET key_check = zeroblob(16)',
      where: 'ledger.db',
      problem: /ledger.db does not belong to the secret in control.db/,
    },
    {
      name: 'a damaged secret',
      file: 'control',
      sql: 'UPDATE event_secret SET secret = zeroblob(32)',
      where: 'control.db',
      problem: /the event secret in control.db is damaged/,
    },
    {
      name: 'a journal of other data',
      file: 'control',
      sql: 'UPDATE event_secret SET journal_check = zeroblob(16)',
      where: 'control.db',
      problem: /the journal in control.db was written with another secret/,
    },
    {
      name: 'data that have lost theirs',
      file: 'control',
      sql: 'DELETE FROM event_secret',
      where: 'control.db',
      problem: /control.db has lost its event secret/,
    },
  ] as const) {
    it(`refuses ${name} at start, when verified and when restored`, () => {
      bench[file].exec(sql)
      const [finding] = findings()
      expect(finding).to.include({ check: 'ledger', where })
      expect(finding?.problem).to.match(problem)
      expect(() => checkFiles(bench.dir, FILES)).to.throw(problem)
      expect(() => bench.crash()).to.throw(problem)
    })
  }

  function findings(): Finding[] {
    const found: Finding[] = []
    checkSecret(bench.control, bench.ledgerFile, (finding) => found.push(finding))
    return found
  }
})
