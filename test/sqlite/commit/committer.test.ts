// Goal: whatever is submitted, however often, across seals, merges and crashes, each event is
// accepted once and nothing of a refused submission stays.
// Method: random submissions over few names, times and values against a model in plain maps.

import { expect } from 'chai'
import fc from 'fast-check'
import type { Submission, SubmittedMeasurement } from '../../../src/domain/measurement.ts'
import { serialNumberKey } from '../../../src/domain/sensor.ts'
import { decodeEntries } from '../../../src/sqlite/journal-row.ts'
import { CommitterBench } from '../../support/committer.ts'
import type { DecidedGroup } from '../../support/committer.ts'

/** One whose elements are a list. */
interface ListedSubmission extends Submission {
  readonly measurements: readonly SubmittedMeasurement[]
}

const NOW_MS = 1_800_000_000_000
const STATUS = ['created', 'duplicate', 'conflict']

function one(change: Partial<SubmittedMeasurement> = {}): SubmittedMeasurement {
  const plain = { eventId: 'e-1', serialNumber: 'cellar', tempCelsius: 11.75 }
  return { ...plain, measuredAtMs: NOW_MS - 60_000, ...change }
}

function submit(measurements: readonly SubmittedMeasurement[], userId = 1): Submission {
  return { userId, receivedAtMs: NOW_MS, measurements }
}

function statuses(result: DecidedGroup): (string | undefined)[] {
  return [...result.status].map((status) => STATUS[status])
}

describe('Committer', () => {
  let bench: CommitterBench
  afterEach(() => bench.close())

  it('creates an event once and answers its repeats with duplicate, also after a crash', () => {
    bench = new CommitterBench()
    expect(statuses(bench.commit([submit([one()])]))).to.deep.equal(['created'])
    expect(statuses(bench.commit([submit([one()])]))).to.deep.equal(['duplicate'])
    bench.crash()
    expect(statuses(bench.commit([submit([one()])]))).to.deep.equal(['duplicate'])
    expect(acceptedRows(bench)).to.have.length(1)
  })

  it('recognises a repeat without a timestamp by sensor and temperature', () => {
    bench = new CommitterBench()
    bench.commit([submit([one({ measuredAtMs: null })])])
    const later = { ...submit([one({ measuredAtMs: null })]), receivedAtMs: NOW_MS + 5_000 }
    const repeat = bench.commit([later])
    expect(statuses(repeat)).to.deep.equal(['duplicate'])
    expect(repeat.measuredAtMs[0]).to.equal(NOW_MS)
  })

  it('tells a conflict by temperature, time or sensor, and says what is stored', () => {
    bench = new CommitterBench()
    bench.commit([submit([one()])])
    const others = [{ tempCelsius: 11.8 }, { measuredAtMs: NOW_MS }, { serialNumber: 'attic' }]
    for (const change of others) {
      const result = bench.commit([submit([one(change)])])
      expect(statuses(result)).to.deep.equal(['conflict'])
      expect(result.conflicts).to.deep.equal([
        {
          element: 0,
          serialNumber: 'cellar',
          sensorId: 1,
          tempCelsius: 11.75,
          measuredAtMs: NOW_MS - 60_000,
        },
      ])
    }
    expect(sensorCount(bench)).to.equal(1)
  })

  it('answers a known event from the ledger before its time is looked at', () => {
    bench = new CommitterBench({ measuredAtMsMin: NOW_MS - 120_000 })
    bench.commit([submit([one()])])
    bench.crash()
    const later = { ...submit([one()]), receivedAtMs: NOW_MS - 3_600_000 }
    expect(statuses(bench.commit([later]))).to.deep.equal(['duplicate'])
  })

  it('refuses one submission of a group and leaves nothing of it behind', () => {
    bench = new CommitterBench({ sensorsPerUserMax: 1 })
    const result = bench.commit([
      submit([one()]),
      submit([one({ eventId: 'e-2' }), one({ eventId: 'e-3', serialNumber: 'attic' })]),
      submit([one({ eventId: 'e-4', measuredAtMs: NOW_MS + 600_000, serialNumber: 'attic' })]),
      submit([one({ eventId: 'e-2' })]),
    ])
    expect(result.rejections.map(({ submission, code }) => [submission, code])).to.deep.equal([
      [1, 'sensor_quota'],
      [2, 'validation_failed'],
    ])
    expect(result.rejections[0]?.faults?.map(({ index }) => index)).to.deep.equal([1])
    expect(result.rejections[1]?.faults?.map(({ code }) => code)).to.deep.equal(
      ['timestamp_in_future', 'sensor_quota'].slice(0, 1),
    )
    expect(acceptedRows(bench).map(({ tieBreakNs }) => tieBreakNs)).to.deep.equal([0, 1])
    expect(sensorCount(bench)).to.equal(1)
  })

  it('takes a repeat of a deleted sensor as a duplicate with the old sensor', () => {
    bench = new CommitterBench()
    bench.commit([submit([one()])])
    bench.control.exec('UPDATE sensors SET deleted_at_ms = 1')
    bench.crash()
    const repeat = bench.commit([submit([one({ serialNumber: 'CELLAR' })])])
    expect(statuses(repeat)).to.deep.equal(['duplicate'])
    expect(sensorCount(bench)).to.equal(0)
    const fresh = bench.commit([submit([one({ eventId: 'e-2' })])])
    expect(fresh.sensorId[0]).to.equal(2)
  })

  it('keeps a million measurements of one millisecond apart and refuses the next', () => {
    bench = new CommitterBench({}, 2 ** 16)
    const measurements = Array.from({ length: 10_000 }, () => one({ eventId: null }))
    for (let group = 0; group < 100; group++) {
      expect(bench.commit([submit(measurements)]).rejections).to.have.length(0)
      bench.seal()
    }
    const next = bench.commit([submit([one()])])
    expect(next.rejections[0]?.faults?.[0]?.code).to.equal('too_many_at_one_time')
  })

  it('refuses the one submission over which it stumbles, and takes the others', () => {
    bench = new CommitterBench()
    const find = bench.committer.sensors.find.bind(bench.committer.sensors)
    bench.committer.sensors.find = (userId, serialNumber) => {
      if (serialNumber === 'attic') throw new TypeError('this cannot be read')
      return find(userId, serialNumber)
    }
    const result = bench.commit([
      submit([one()]),
      submit([one({ eventId: 'e-2' }), one({ eventId: 'e-3', serialNumber: 'attic' })]),
      submit([one({ eventId: 'e-2', tempCelsius: 1 })]),
    ])
    expect(result.rejections.map(({ submission, code }) => [submission, code])).to.deep.equal([
      [1, 'internal_error'],
    ])
    expect(result.rejections[0]?.cause?.message).to.equal('this cannot be read')
    expect(acceptedRows(bench)).to.have.length(2)
    bench.crash()
    expect(
      statuses(bench.commit([submit([one({ eventId: 'e-2', tempCelsius: 1 })])])),
    ).to.deep.equal(['duplicate'])
  })

  it('takes the whole group back when its transaction fails', () => {
    bench = new CommitterBench()
    bench.commit([submit([one()])])
    bench.control.exec(`
      CREATE TEMP TRIGGER full BEFORE INSERT ON journal
      BEGIN SELECT raise(ABORT, 'no room'); END`)
    const another = [submit([one({ eventId: 'e-2', serialNumber: 'attic' })])]
    expect(() => bench.commit(another)).to.throw('no room')
    bench.control.exec('DROP TRIGGER full')
    expect(statuses(bench.commit(another))).to.deep.equal(['created'])
    expect(sensorCount(bench)).to.equal(2)
  })

  it('deletes journal rows only when they are forwarded and sealed', () => {
    bench = new CommitterBench({}, 64)
    for (let at = 0; at < 100; at++) bench.commit([submit([one({ eventId: `e-${at}` })])])
    bench.committer.noteForwarded(100)
    bench.committer.tidy()
    expect(journalRowCount(bench)).to.equal(100)
    bench.seal()
    bench.commit([submit([one({ eventId: 'last' })])])
    for (let seq = 101; seq < 106; seq++) {
      bench.committer.noteForwarded(seq)
      bench.committer.tidy()
    }
    expect(journalRowCount(bench)).to.equal(101 - 64)
  })

  it('goes on deleting rows when the forwarder takes many at a time', () => {
    bench = new CommitterBench({}, 64)
    for (let at = 0; at < 100; at++) bench.commit([submit([one({ eventId: `e-${at}` })])])
    bench.seal()
    bench.committer.noteForwarded(100)
    for (let at = 100; at < 104; at++) bench.commit([submit([one({ eventId: `e-${at}` })])])
    expect(journalRowCount(bench)).to.equal(104 - 64)
  })

  it('agrees with a model under random submissions, seals, merges and crashes', () => {
    fc.assert(
      fc.property(steps, (run) => {
        bench = new CommitterBench({ sensorsPerUserMax: 4 }, 64)
        const model = new Model(4)
        for (const step of run) {
          if (step === 'crash') bench.crash()
          else if (step === 'seal') bench.seal()
          else expect(outcomes(step, bench.commit(step))).to.deep.equal(model.commit(step))
        }
        expect(summarise(bench)).to.deep.equal(model.summary())
        bench.close()
      }),
      { numRuns: 60 },
    )
    bench = new CommitterBench()
  })
})

interface Row {
  userId: number
  sensorId: number
  measuredAtMs: number
  tieBreakNs: number
  tempCelsius: number
}

function acceptedRows(bench: CommitterBench): Row[] {
  const select = 'SELECT entries FROM journal WHERE measurements > 0 ORDER BY seq'
  const rows = bench.control.prepare<[], Buffer>(select).pluck().all()
  return rows.flatMap((entries) => {
    const columns = decodeEntries(entries)
    return Array.from({ length: columns.count }, (_, at) => ({
      userId: columns.userId[at] ?? 0,
      sensorId: columns.sensorId[at] ?? 0,
      measuredAtMs: columns.measuredAtMs[at] ?? 0,
      tieBreakNs: columns.tieBreakNs[at] ?? 0,
      tempCelsius: columns.tempCelsius[at] ?? 0,
    }))
  })
}

function count(bench: CommitterBench, sql: string): number {
  return bench.control.prepare<[], number>(sql).pluck().get() ?? 0
}

function sensorCount(bench: CommitterBench): number {
  return count(bench, 'SELECT count(*) FROM sensors WHERE deleted_at_ms IS NULL')
}

function journalRowCount(bench: CommitterBench): number {
  return count(bench, 'SELECT count(*) FROM journal')
}

// ---- the model ----

const measurement = fc.record({
  eventId: fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'ä', '7'), { freq: 4 }),
  serialNumber: fc.constantFrom('S1', 's1', 'AA:BB:CC:DD', 'aabbccdd', 'x-1', 'x1'),
  tempCelsius: fc.constantFrom(1, 2),
  measuredAtMs: fc.option(
    fc.constantFrom(0, 1, 2).map((at) => NOW_MS - at),
    { freq: 4 },
  ),
})
const fresh = fc.record({
  eventId: fc.uuid(),
  serialNumber: fc.constantFrom('S1', 'x-1'),
  tempCelsius: fc.integer({ min: 0, max: 9 }),
  measuredAtMs: fc.integer({ min: 0, max: 40 }).map((at) => NOW_MS - at),
})
const late = fc.record({
  eventId: fc.constant('late'),
  serialNumber: fc.constant('S1'),
  tempCelsius: fc.constant(1),
  measuredAtMs: fc.constant(NOW_MS + 400_000),
})
const submission = fc.record({
  userId: fc.constantFrom(1, 2),
  receivedAtMs: fc.constant(NOW_MS),
  measurements: fc.array(
    fc.oneof(
      { weight: 6, arbitrary: measurement },
      { weight: 8, arbitrary: fresh },
      { weight: 1, arbitrary: late },
    ),
    { minLength: 1, maxLength: 12 },
  ),
})
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.array(submission, { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.constant('crash' as const) },
    { weight: 2, arbitrary: fc.constant('seal' as const) },
  ),
  { minLength: 1, maxLength: 40 },
)

type Outcome = 'refused' | (string | undefined)[]

function outcomes(group: readonly Submission[], result: DecidedGroup): Outcome[] {
  const refused = new Set(result.rejections.map(({ submission: at }) => at))
  let element = 0
  return group.map(({ measurements }, at) => {
    const start = element
    element += measurements.length
    return refused.has(at) ? 'refused' : statuses(result).slice(start, element)
  })
}

interface Known {
  sensor: string
  tempCelsius: number
  measuredAtMs: number
}

/** Everything that a commit promises, on maps that are copied for each submission. */
class Model {
  readonly #sensorsPerUserMax: number
  #events = new Map<string, Known>()
  #sensors = new Set<string>()
  #accepted: Known[] = []

  constructor(sensorsPerUserMax: number) {
    this.#sensorsPerUserMax = sensorsPerUserMax
  }

  commit(group: readonly ListedSubmission[]): Outcome[] {
    return group.map((submitted) => this.#submit(submitted))
  }

  summary(): unknown {
    const perSensor = new Map<string, { count: number; latestMs: number; latest: number }>()
    for (const { sensor, measuredAtMs, tempCelsius } of this.#accepted) {
      const known = perSensor.get(sensor) ?? { count: 0, latestMs: 0, latest: 0 }
      known.count++
      if (measuredAtMs >= known.latestMs) {
        known.latestMs = measuredAtMs
        known.latest = tempCelsius
      }
      perSensor.set(sensor, known)
    }
    const bySensor = [...perSensor].toSorted(([a], [b]) => (a < b ? -1 : 1))
    return { bySensor, isApart: true, accepted: this.#accepted.length }
  }

  #submit({ userId, measurements, receivedAtMs }: ListedSubmission): Outcome {
    const events = new Map(this.#events)
    const sensors = new Set(this.#sensors)
    const accepted = [...this.#accepted]
    const result: string[] = []
    let isRefused = false
    for (const { eventId, serialNumber, tempCelsius, measuredAtMs } of measurements) {
      const sensor = `${userId}/${serialNumberKey(serialNumber)}`
      const known = eventId === null ? undefined : this.#events.get(`${userId}/${eventId}`)
      if (known !== undefined) {
        const isSameTime = measuredAtMs === null || measuredAtMs === known.measuredAtMs
        const isSame = known.sensor === sensor && known.tempCelsius === tempCelsius && isSameTime
        result.push(isSame ? 'duplicate' : 'conflict')
        continue
      }
      const mine = [...this.#sensors].filter((name) => name.startsWith(`${userId}/`)).length
      if (!this.#sensors.has(sensor) && mine >= this.#sensorsPerUserMax) isRefused = true
      if ((measuredAtMs ?? receivedAtMs) > receivedAtMs + 300_000) isRefused = true
      this.#sensors.add(sensor)
      const event = { sensor, tempCelsius, measuredAtMs: measuredAtMs ?? receivedAtMs }
      if (eventId !== null) this.#events.set(`${userId}/${eventId}`, event)
      this.#accepted.push(event)
      result.push('created')
    }
    if (!isRefused) return result
    this.#events = events
    this.#sensors = sensors
    this.#accepted = accepted
    return 'refused'
  }
}

/** What the files say, in the model's words. */
function summarise(bench: CommitterBench): unknown {
  const rows = acceptedRows(bench)
  const places = rows.map((row) => `${row.sensorId}/${row.measuredAtMs}/${row.tieBreakNs}`)
  const select = `
    SELECT user_id || '/' || serial_number_key AS sensor, total(measurements) AS count,
      measured_at_ms AS latestMs, temp_celsius AS latest
    FROM sensors
    JOIN sensor_latest l ON l.sensor_id = id
    JOIN accepted_per_day d ON d.sensor_id = id
    GROUP BY id ORDER BY sensor`
  const sensors = bench.control.prepare<[], { sensor: string }>(select).all()
  return {
    bySensor: sensors.map(({ sensor, ...rest }) => [sensor, rest]),
    isApart: new Set(places).size === places.length,
    accepted: rows.length,
  }
}
