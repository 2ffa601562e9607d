// Goal: an import adds what is not stored yet, however that came in, and nothing else. Method: a
// model counts what is stored of each sensor, time and temperature; files with any lines are
// imported into the whole service by what the command does, on each store.

import { Readable } from 'node:stream'
import { expect } from 'chai'
import fc from 'fast-check'
import { streamSource } from '../../src/cli/import/byte-source.ts'
import { findColumns } from '../../src/cli/import/columns.ts'
import { openRecords } from '../../src/cli/import/read-records.ts'
import { storeFile } from '../../src/cli/import/store-file.ts'
import type { TemperatureUnit } from '../../src/cli/import/temperature-unit.ts'
import { Progress } from '../../src/cli/terminal/progress.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import type { Sensor } from '../../src/domain/sensor.ts'
import { DAY_MS } from '../../src/domain/time.ts'
import { importMeasurements } from '../../src/operations/import-measurements.ts'
import { OperationError } from '../../src/operations/failure.ts'
import type { Operations } from '../../src/commands/operations.ts'
import type { ImportOrder } from '../../src/operations/import-order.ts'
import type { Submission } from '../../src/domain/measurement.ts'
import type { ReadBarrier } from '../../src/ports/journal-queue.ts'
import type { MeasurementReader } from '../../src/ports/measurement-store.ts'
import { send, sendBatch, sendBatches } from '../support/http.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { onEachStore } from '../support/stores.ts'

const START_MS = Date.UTC(2026, 2, 10)
const USER = 'ana@example.org'

interface Reading {
  readonly sn: string
  readonly atMs: number
  readonly temp: number
  readonly eventId?: string
}

interface Form {
  readonly user?: string
  readonly keepsEqual?: boolean
  readonly unit?: TemperatureUnit
}

/** Imports a file as the command does, in one pass. */
async function importText(service: Pick<TestService, 'operations'>, text: string, form: Form = {}) {
  const { operations } = service
  const { user = USER, keepsEqual = false, unit = 'C' } = form
  const source = await openRecords(streamSource('a file', Readable.from([Buffer.from(text)])))
  const job = {
    user,
    source,
    columns: findColumns(source.columns, {}, false, unit),
    unit,
    hasDecimalComma: false,
    localTimes: undefined,
    serialNumber: undefined,
    rules: await operations.importRules(user),
    keepsEqual,
    progress: new Progress(new Terminal(process), undefined, 'lines'),
  }
  const totals = await storeFile(job, operations, undefined)
  expect(totals.conflicts.named).to.deep.equal([])
  return { created: totals.created, duplicates: totals.duplicates }
}

function csvOf(readings: readonly Reading[]): string {
  const lines = readings.map(({ sn, atMs, temp, eventId = '' }) => {
    return `${new Date(atMs).toISOString()},${sn},${temp},${eventId}\n`
  })
  return `timestamp,sn,temp,event_id\n${lines.join('')}`
}

function bodyOf({ sn, atMs, temp, eventId }: Reading) {
  const timestamp = new Date(atMs).toISOString()
  return { sn, temp, timestamp, ...(eventId !== undefined && { event_id: eventId }) }
}

/** Equal readings are frequent. */
const reading = fc.record({
  sn: fc.constantFrom('cellar', 'AA:BB:CC:DD'),
  atMs: fc
    .tuple(fc.constantFrom(0, 1, 3), fc.constantFrom(0, 1, DAY_MS - 1))
    .map(([day, ms]) => START_MS + day * DAY_MS + ms),
  temp: fc.constantFrom(-0.5, 21, 21.111111),
})
const readings = fc.array(reading, { maxLength: 40 })

const contentOf = ({ sn, atMs, temp }: Reading) => `${sn} ${atMs} ${temp}`

/** How many lines there are, and how many of them are not more than are stored already. */
function compare(stored: readonly Reading[], lines: readonly Reading[]) {
  const before = Map.groupBy(stored, contentOf)
  const equals = Map.groupBy(lines, contentOf)
    .entries()
    .map(([content, { length }]) => Math.min(length, before.get(content)?.length ?? 0))
  return { lines: lines.length, equal: [...equals].reduce((sum, count) => sum + count, 0) }
}

describe('importing measurements', () => {
  onEachStore((start) => {
    let service: TestService
    let token: string
    let users = 0
    before(async () => {
      service = await start()
      token = await service.createToken(USER)
    })
    after(() => service?.stop())

    it('adds of each reading as many as the file has more than are stored', async () => {
      const run = async (sent: Reading[], own: Reading[], added: Reading[], isKept: boolean[]) => {
        const user = `user-${users++}@example.org`
        const ofUser = await service.createToken(user)
        // Half of them with event ids.
        const named = sent.map((one, at) => (at % 2 === 0 ? { ...one, eventId: `e${at}` } : one))
        if (named.length > 0) await sendBatch(service.url, ofUser, named.map(bodyOf))
        const unnamed = [...sent.filter((_, at) => isKept[at] ?? true), ...added]
        const withIds = own.map((one, at) => ({ ...one, eventId: `own-${at}` }))
        // Serial numbers in another spelling.
        const file = csvOf([...unnamed, ...withIds]).replaceAll('AA:BB:CC:DD', 'aabbccdd')
        const { lines, equal } = compare(sent, unnamed)
        const all = lines + own.length
        const first = { created: all - equal, duplicates: equal }
        expect(await importText(service, file, { user })).to.deep.equal(first)
        const again = { created: 0, duplicates: all }
        expect(await importText(service, file, { user })).to.deep.equal(again)
        const kept = { created: equal, duplicates: all - equal }
        expect(await importText(service, file, { user, keepsEqual: true })).to.deep.equal(kept)
        expect(await importText(service, file, { user })).to.deep.equal(again)
      }
      const kept = fc.array(fc.boolean(), { maxLength: 40 })
      await fc.assert(fc.asyncProperty(readings, readings, readings, kept, run), { numRuns: 4 })
    })

    it('compares what was submitted, in whatever unit the file is', async () => {
      const body = { sn: 'attic', temp: 21.111111, timestamp: new Date(START_MS).toISOString() }
      const sent = await sendBatch(service.url, token, [body, { ...body, temp: 20 }])
      const id = (sent.body.data.measurements as { sensor_id: number }[])[0]?.sensor_id
      const change = { method: 'PATCH', path: `/api/v1/sensors/${id}`, token }
      await send(service.url, { ...change, body: { compensation: -0.4 } })
      const rows = [70, 68, 20].map((temp) => `${body.timestamp},attic,${temp}\n`)
      const file = `time,sn,temp_f\n${rows.join('')}`
      const counts = { created: 1, duplicates: 2 }
      expect(await importText(service, file, { unit: 'F' })).to.deep.equal(counts)
    })

    it('compares every part of a file, while others send', async () => {
      const stored = Array.from({ length: 3_000 }, (_, at) => {
        return { sn: `busy-${at % 3}`, atMs: START_MS + at * 1_000, temp: at / 8 }
      })
      await sendBatches(service.url, token, stored.map(bodyOf))
      const more = stored.map((one) => ({ ...one, atMs: one.atMs + 500 }))
      const others = stored.map((one) => ({ ...one, atMs: one.atMs + 250 }))
      const file = csvOf([...stored, ...more, ...stored.slice(0, 5)])
      const [counts] = await Promise.all([
        importText(service, file),
        sendBatches(service.url, token, others.map(bodyOf)),
      ])
      expect(counts).to.deep.equal({ created: 3_005, duplicates: 3_000 })
      expect(await importText(service, file)).to.deep.equal({ created: 0, duplicates: 6_005 })
    })

    it('takes a deleted sensor for one that has nothing, each time it is', async () => {
      const user = 'deleting@example.org'
      const ofUser = await service.createToken(user)
      const gone = [0, 0, 1].map((ms) => ({ sn: 'gone', atMs: START_MS + ms, temp: 3 }))
      await sendBatch(service.url, ofUser, gone.map(bodyOf))
      for (let time = 0; time < 3; time++) {
        const [sensor] = await service.operations.run('sensor list', { user })
        await service.operations.run('sensor delete', { id: String(sensor?.id ?? 0) })
        const counts = { created: 3, duplicates: 0 }
        expect(await importText(service, csvOf(gone), { user })).to.deep.equal(counts)
        const again = { created: 0, duplicates: 3 }
        expect(await importText(service, csvOf(gone), { user })).to.deep.equal(again)
      }
    })

    it('counts lines with event ids among the equal ones', async () => {
      const user = 'both@example.org'
      await service.createToken(user)
      const [named, plain] = [
        { sn: 'both', atMs: START_MS, temp: 7, eventId: 'q2' },
        { sn: 'both', atMs: START_MS, temp: 7 },
      ]
      const counts = (created: number, duplicates: number) => ({ created, duplicates })
      const add = async (...lines: Reading[]) => importText(service, csvOf(lines), { user })
      // As if it had been interrupted there.
      expect(await add(named)).to.deep.equal(counts(1, 0))
      expect(await add(named, plain)).to.deep.equal(counts(1, 1))
      expect(await add(named, plain)).to.deep.equal(counts(0, 2))
      expect(await add(plain, named, plain)).to.deep.equal(counts(1, 2))
    })

    it('lists a bounded number of periods, and none too few', async () => {
      const days = Array.from({ length: 150 }, (_, at) => START_MS - at * 2 * DAY_MS)
      await sendBatch(
        service.url,
        token,
        days.map((atMs) => bodyOf({ sn: 'sparse', atMs, temp: 1 })),
      )
      const serialNumbers = ['SPARSE', 'nobody']
      const order = { user: USER, serialNumbers }
      const [periods = [], none] = await service.operations.listMeasuredPeriods(order)
      expect(none).to.deep.equal([])
      expect(periods).to.have.lengthOf(100)
      const isCovered = (atMs: number) =>
        periods.some(({ startMs, stopMs }) => startMs <= atMs && atMs + DAY_MS <= stopMs)
      expect(days.every(isCovered)).to.equal(true)
      expect(isCovered(START_MS - 299 * DAY_MS)).to.equal(false)
    })
  })
})

const NO_SENSORS = {
  control: { findSensors: async () => [] },
  progress: {} as ReadBarrier,
  reader: {} as MeasurementReader,
}

describe('an import', () => {
  let service: TestService
  before(async () => {
    service = await startService()
    await service.createToken(USER)
  })
  after(() => service?.stop())

  it('compares what daemons send on the day of the import, while it runs', async () => {
    const user = 'today@example.org'
    const ofUser = await service.createToken(user)
    const rules = await service.operations.importRules(user)
    const atMs = Math.floor(rules.measuredAtMsMax / DAY_MS) * DAY_MS
    const old = { sn: 'today', atMs: START_MS, temp: 1 }
    const fresh = { sn: 'today', atMs, temp: 2 }
    const { operations } = service
    const sending = {
      importRules: operations.importRules,
      importMeasurements: operations.importMeasurements,
      listMeasuredPeriods: async (order: Parameters<Operations['listMeasuredPeriods']>[0]) => {
        const periods = await operations.listMeasuredPeriods(order)
        const { status } = await sendBatch(service.url, ofUser, [bodyOf(fresh)])
        expect(status).to.equal(201)
        return periods
      },
    } as Partial<Operations> as Operations
    const outcome = await importText({ operations: sending }, csvOf([old, fresh]), { user })
    expect(outcome).to.deep.equal({ created: 1, duplicates: 1 })
  })

  it('stores of equal lines none before those that come before it', async () => {
    const { operations } = service
    const lines = Array.from({ length: 1_000 }, (_, at) => {
      return { sn: 'twice', atMs: START_MS + (at % 999), temp: 1 }
    })
    const submitted: number[] = []
    const failing = {
      clock: { nowMs: () => START_MS, monotonicMs: () => 0 },
      submissions: {
        submit: async ({ measurements }: Submission) => {
          submitted.push(measurements.length)
          throw new Error('interrupted')
        },
      },
    }
    const interrupted = {
      importRules: operations.importRules,
      listMeasuredPeriods: operations.listMeasuredPeriods,
      importMeasurements: (order: ImportOrder) =>
        importMeasurements({ ...NO_SENSORS, ...failing }, 1, order),
    } as Partial<Operations> as Operations
    for (const [file, parts] of [
      [csvOf(lines), [500]],
      [csvOf(lines.slice(0, 999)), [500, 499]],
    ] as const) {
      const outcome = importText({ operations: interrupted }, file)
      expect(await outcome.catch((error: Error) => error.message)).to.equal('interrupted')
      expect(submitted.splice(0)).to.deep.equal(parts)
    }
  })

  const wrong = [
    { equalsBefore: [], says: /says of each measurement how many equal ones/ },
    { equalsBefore: [-1], says: /says of each/ },
    { equalsBefore: [0.5], says: /says of each/ },
    { equalsBefore: ['0'], says: /says of each/ },
    { equalsBefore: undefined, says: /says of each/ },
  ]
  for (const { equalsBefore, says } of wrong) {
    it(`refuses ${JSON.stringify(equalsBefore)} for what is before a line`, async () => {
      const one = { eventId: 'x', serialNumber: 'x', tempCelsius: 1, measuredAtMs: START_MS }
      const counts = equalsBefore as number[]
      const order = { user: USER, measurements: [one], equalsBefore: counts, isInOrder: true }
      const outcome = service.operations.importMeasurements(order)
      expect(await outcome.catch((error: Error) => error.message)).to.match(says)
    })
  }

  it('refuses to list more sensors than a part of an import can have', async () => {
    for (const serialNumbers of [Array.from({ length: 4_001 }, () => 'a'), 'a', [''], [7]]) {
      const order = { user: USER, serialNumbers: serialNumbers as string[] }
      const outcome = service.operations.listMeasuredPeriods(order)
      const isRefused = (error: unknown) => error instanceof OperationError
      expect(await outcome.catch(isRefused)).to.equal(true)
    }
  })
})

describe('importing what is not readable yet', () => {
  it('stores nothing of the part and can be tried again', async () => {
    const sensor = { id: 1, serialNumber: 'a1' } as Sensor
    let isReadable = false
    const submitted: unknown[] = []
    const sources = {
      clock: { nowMs: () => START_MS, monotonicMs: () => 0 },
      control: { findSensors: async () => [sensor] },
      progress: {
        waitUntilReadable: async () => isReadable,
        findUnreadable: async function* () {
          if (!isReadable) yield 1
        },
        listUnreadable: async () => new Set<number>(),
      },
      reader: {
        readRaw: async function* () {
          yield [{ sensorId: 1, measuredAtMs: START_MS, rawCelsius: 1 }]
        },
      } as Partial<MeasurementReader> as MeasurementReader,
      submissions: {
        submit: async (submission: unknown) => {
          submitted.push(submission)
          throw new Error('not submitted')
        },
      },
    }
    const one = { eventId: 'x', serialNumber: 'A1', tempCelsius: 1, measuredAtMs: START_MS }
    const other = { ...one, measuredAtMs: START_MS + 400 * DAY_MS, eventId: 'y' }
    const store = (measurements: readonly (typeof one)[]) =>
      importMeasurements(sources, 1, {
        measurements,
        equalsBefore: measurements.map(() => 0),
        isInOrder: false,
      })
    const failure = await store([other, one]).catch((error: OperationError) => error.failure)
    expect(failure).to.include({ kind: 'failed', retryAfterSeconds: 1 })
    expect(submitted).to.deep.equal([])
    isReadable = true
    expect(await store([one])).to.deep.equal({
      created: 0,
      duplicates: 1,
      conflicts: [],
      deleted: [],
    })
    expect(submitted).to.deep.equal([])
  })
})
