// Goal: whatever was accepted, sealed or not, the check finds nothing; where a tie-break could be
// given again it names the sensor and the first time. Method: random submissions over few times,
// sealed now and then, all of them in a real store; then each table is damaged.

import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Finding } from '../../../src/domain/finding.ts'
import { openForReading } from '../../../src/sqlite/database.ts'
import { decodeEntries } from '../../../src/sqlite/journal-row.ts'
import { SqliteMeasurementWriter } from '../../../src/sqlite/measurements/measurement-writer.ts'
import { TieBreakCheck } from '../../../src/sqlite/verify/tie-break-check.ts'
import { CommitterBench } from '../../support/committer.ts'

const NOW_MS = 1_800_000_000_000
const START_MS = NOW_MS - 60_000
const ENTRIES = 'SELECT entries FROM journal WHERE entries IS NOT NULL ORDER BY seq'

describe('TieBreakCheck', () => {
  let bench: CommitterBench
  beforeEach(() => {
    bench = new CommitterBench({}, 16)
  })
  afterEach(() => bench.close())

  /** One measurement of a sensor at each time. */
  const submit = (serialNumber: string, times: readonly number[]) => {
    const measurements = times.map((time, at) => ({
      eventId: at % 3 === 0 ? null : crypto.randomUUID(),
      serialNumber,
      tempCelsius: 11,
      measuredAtMs: START_MS + time,
    }))
    bench.commit([{ userId: 1, receivedAtMs: NOW_MS, measurements }])
  }

  /** Everything in the journal is in the store. */
  const forward = async () => {
    const writer = new SqliteMeasurementWriter(join(bench.dir, 'measurements.db'))
    for (const entries of bench.control.prepare<[], Buffer>(ENTRIES).pluck().all()) {
      await writer.write({ measurements: decodeEntries(entries), sensorInfos: [] })
    }
    await writer.close()
  }

  const check = () => {
    const measurements = openForReading(bench.dir, 'measurements.db')
    const files = { control: bench.control, ledger: bench.ledgerFile, measurements }
    const found: Finding[] = []
    const steps = new TieBreakCheck(files).check((finding) => found.push(finding))
    const looked = [...steps].reduce((sum, count) => sum + count, 0)
    measurements.close()
    const total = 'SELECT total(measurements) FROM journal'
    expect(looked).to.equal(bench.control.prepare<[], number>(total).pluck().get())
    return found.map(({ sensorId, problem }) => `${sensorId}: ${problem}`)
  }

  it('finds nothing in what was accepted', async () => {
    const step = fc.oneof(
      fc.record({
        serialNumber: fc.constantFrom('A1', 'B2'),
        times: fc.array(fc.nat(40), { minLength: 1, maxLength: 8 }),
      }),
      fc.constant('seal' as const),
    )
    const story = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      bench.close()
      bench = new CommitterBench({}, 16)
      for (const one of steps) {
        if (one === 'seal') bench.seal()
        else submit(one.serialNumber, one.times)
      }
      await forward()
      expect(check()).to.deep.equal([])
    })
    await fc.assert(story, { numRuns: 40 })
  })

  it('names sealed times of which the ledger has no tie-break, or too low a one', async () => {
    submit('A1', [1, 1, 1, 2, 2, 3, 4])
    submit('B2', [5, 6])
    submit('A1', [10, 11, 12, 13, 14, 15, 16, 17, 18])
    bench.seal()
    await forward()
    expect(check()).to.deep.equal([])
    const problem = (id: number, time: number, others: number) =>
      `${id}: a new measurement of ${new Date(START_MS + time).toISOString()} would get the ` +
      `tie-break of one that is stored${others === 0 ? '' : `, and so at ${others} other times`}`
    bench.ledgerFile.exec(`UPDATE tie_breaks SET next_ns = 2 WHERE next_ns = 3`)
    expect(check()).to.deep.equal([problem(1, 1, 0)])
    bench.ledgerFile.exec('DELETE FROM tie_breaks')
    expect(check()).to.deep.equal([problem(1, 1, 1)])
    bench.ledgerFile.exec('DELETE FROM time_spans')
    expect(check()).to.deep.equal([problem(1, 1, 3), problem(2, 5, 1)])
  })

  it('names times that only the journal could know, and does not', async () => {
    submit('A1', [1, 1, 2])
    await forward()
    expect(check()).to.deep.equal([])
    bench.control.exec('UPDATE journal SET is_repeated = 1')
    expect(check()[0]).to.match(/ and so at 1 other times$/)
  })
})
