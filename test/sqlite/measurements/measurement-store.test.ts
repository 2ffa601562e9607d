import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ServiceError } from '../../../src/domain/errors.ts'
import { openTagged } from '../../../src/sqlite/database.ts'
import { SqliteMeasurementReader } from '../../../src/sqlite/measurements/measurement-reader.ts'
import { SqliteMeasurementWriter } from '../../../src/sqlite/measurements/measurement-writer.ts'
import { describeMeasurementStore } from '../../contract/measurement-store.ts'
import type { OpenStore } from '../../contract/measurement-store.ts'
import { damageLeaf } from '../../support/damage.ts'
import { batchOf, collect } from '../../support/measurements.ts'

const HOUR_MS = 3_600_000
const START_MS = Date.UTC(2026, 0, 1)
const EVER = { startMs: Date.UTC(1900, 0, 1), stopMs: Date.UTC(2100, 0, 1) }

function openIn(directory: string): OpenStore {
  const file = join(directory, 'measurements.db')
  const writer = new SqliteMeasurementWriter(file)
  const reader = new SqliteMeasurementReader(file)
  const close = async (): Promise<void> => {
    await reader.close()
    await writer.close()
  }
  return { writer, reader, close }
}

const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'thermolog-'))

async function openFresh(): Promise<OpenStore> {
  const directory = newDirectory()
  const store = openIn(directory)
  const close = async (): Promise<void> => {
    await store.close()
    rmSync(directory, { recursive: true })
  }
  return { ...store, close }
}

describeMeasurementStore('SQLite', openFresh, { propertyRuns: 40 })

describe('SqliteMeasurementWriter', () => {
  let directory: string
  let store: OpenStore
  beforeEach(() => {
    directory = newDirectory()
    store = openIn(directory)
  })
  afterEach(async () => {
    await store.close()
    rmSync(directory, { recursive: true })
  })

  const series = (sensorId: number, count: number, stepMs: number) =>
    Array.from({ length: count }, (_, at) => ({
      sensorId,
      measuredAtMs: START_MS + at * stepMs,
      tempCelsius: (at % 100) / 4,
    }))

  const countRaw = async (sensorId: number): Promise<number> =>
    (await collect(store.reader.readRaw({ sensorIds: [sensorId], ...EVER }))).length

  const countInWindows = async (sensorId: number): Promise<number> => {
    const windows = await collect(
      store.reader.readWindows({ sensorIds: [sensorId], ...EVER }, HOUR_MS),
    )
    return windows.reduce((sum, { count }) => sum + count, 0)
  }

  it('keeps everything when it is closed and opened again', async () => {
    await store.writer.write(batchOf(series(1, 3_000, 1_000)))
    await store.close()
    store = openIn(directory)
    expect(await countRaw(1)).to.equal(3_000)
    await store.writer.write(batchOf(series(1, 4_000, 1_000)))
    expect(await countRaw(1)).to.equal(4_000)
    expect(await countInWindows(1)).to.equal(4_000)
  })

  it('keeps the first value of a measurement, also within one batch', async () => {
    const first = { sensorId: 1, measuredAtMs: START_MS, tempCelsius: 1 }
    const other = { ...first, tempCelsius: 2 }
    await store.writer.write(batchOf([first, other]))
    await store.writer.write(batchOf([other]))
    const raw = await collect(store.reader.readRaw({ sensorIds: [1], ...EVER }))
    expect(raw).to.deep.equal([{ sensorId: 1, measuredAtMs: START_MS, rawCelsius: 1 }])
    expect(await countInWindows(1)).to.equal(1)
  })

  it('puts measurements before 1970 into the window that holds them', async () => {
    const before = { sensorId: 1, measuredAtMs: -1, tempCelsius: 4 }
    await store.writer.write(batchOf([before, { ...before, measuredAtMs: 0 }]))
    const hours = await collect(store.reader.readWindows({ sensorIds: [1], ...EVER }, HOUR_MS))
    expect(hours.map(({ startMs, count }) => [startMs, count])).to.deep.equal([
      [-HOUR_MS, 1],
      [0, 1],
    ])
  })

  it('deletes a sensor with more rows than one transaction takes', async () => {
    await store.writer.write(batchOf([...series(1, 130_000, 1_000), ...series(2, 10, 1_000)]))
    await store.writer.deleteSensor({ userId: 1, sensorId: 1 }, EVER)
    expect(await countRaw(1)).to.equal(0)
    expect(await countInWindows(1)).to.equal(0)
    expect(await countRaw(2)).to.equal(10)
  })

  it('stores nothing of a batch that fails, and all of it afterwards', async () => {
    const batch = batchOf(series(1, 40, 1_000))
    const broken = batchOf(series(1, 40, 1_000))
    broken.measurements.tempCelsius[39] = NaN
    const failure = await store.writer.write(broken).catch((error: unknown) => error)
    expect(failure).to.be.an('error')
    expect(await countRaw(1)).to.equal(0)
    await store.writer.write(batch)
    expect(await countRaw(1)).to.equal(40)
    expect(await countInWindows(1)).to.equal(40)
  })
})

describe('a store of which a page is damaged', () => {
  let directory: string
  let store: OpenStore
  const damaged: string[] = []
  const second = (sensorId: number, at: number) => ({
    sensorId,
    measuredAtMs: START_MS + at * 1_000,
    tempCelsius: at,
  })
  const readRaw = (sensorId: number) =>
    collect(store.reader.readRaw({ sensorIds: [sensorId], ...EVER }))
  beforeEach(async () => {
    directory = newDirectory()
    store = openIn(directory)
    const seconds = Array.from({ length: 3_000 }, (_, at) => [second(1, at), second(2, at)])
    await store.writer.write(batchOf(seconds.flat()))
    await store.close()
    const file = join(directory, 'measurements.db')
    damageLeaf(file, 'measurements', 3)
    const reader = new SqliteMeasurementReader(file, (problem) => damaged.push(problem))
    store = { ...openIn(directory), reader }
  })
  afterEach(async () => {
    await store.close()
    rmSync(directory, { recursive: true })
  })

  it('refuses the histories that need it, names it, and answers all others', async () => {
    const failure = await readRaw(1).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(ServiceError)
    expect(failure).to.have.property('code', 'data_damaged')
    expect(damaged).to.deep.equal(['what measurements.db has of sensor 1 is damaged'])
    expect(await readRaw(2)).to.have.lengthOf(3_000)
    const days = await collect(store.reader.readWindows({ sensorIds: [1], ...EVER }, 24 * HOUR_MS))
    expect(days.map(({ count }) => count)).to.deep.equal([3_000])
  })

  it('refuses the measurements that belong there, and takes all others', async () => {
    const late = Array.from({ length: 500 }, (_, at) => ({ ...second(1, at), tieBreakNs: 1 }))
    const refused = await store.writer.write(batchOf([second(2, 3_000), ...late]))
    expect(refused.map(({ index }) => index)).to.deep.equal(late.map((_, at) => at + 1))
    expect(refused[0]?.reason).to.equal('what measurements.db has of sensor 1 is damaged')
    expect(await readRaw(2)).to.have.lengthOf(3_001)
    const failure = await store.writer.deleteSensor({ userId: 1, sensorId: 1 }, EVER).catch(String)
    expect(failure).to.match(/sensor 1 is damaged/)
    await store.writer.deleteSensor({ userId: 1, sensorId: 2 }, EVER)
    expect(await readRaw(2)).to.deep.equal([])
  })
})

describe('SqliteMeasurementReader', () => {
  it('reads on while the writer writes and lets other work run between chunks', async () => {
    const store = await openFresh()
    const at = (second: number) => ({
      sensorId: 1,
      measuredAtMs: START_MS + second * 1_000,
      tempCelsius: second,
    })
    await store.writer.write(batchOf(Array.from({ length: 5_000 }, (_, second) => at(second))))
    const seen: number[] = []
    for await (const chunk of store.reader.readRaw({ sensorIds: [1], ...EVER })) {
      if (seen.length === 0) await store.writer.write(batchOf([at(-1), at(5_000)]))
      seen.push(...chunk.map(({ rawCelsius }) => rawCelsius))
    }
    expect(seen).to.deep.equal(Array.from({ length: 5_001 }, (_, second) => second))
    await store.close()
  })

  it('says that the history is unavailable when the file cannot be read', async () => {
    const directory = newDirectory()
    const store = openIn(directory)
    await store.writer.write(batchOf([{ sensorId: 1, measuredAtMs: 0, tempCelsius: 1 }]))
    await store.writer.close()
    const file = join(directory, 'measurements.db')
    const other = openTagged(file)
    other.exec('DROP TABLE measurements')
    const failure = await collect(store.reader.readRaw({ sensorIds: [1], ...EVER })).catch(
      (error: unknown) => error,
    )
    other.close()
    await store.reader.close()
    rmSync(directory, { recursive: true })
    expect(failure).to.be.instanceOf(ServiceError)
    expect(failure).to.have.property('code', 'history_unavailable')
  })
})
