// Measurements for tests of the store and of what reads it.

import { readFileSync } from 'node:fs'
import type { MeasurementColumns } from '../../src/domain/measurement-columns.ts'
import type { StoreBatch } from '../../src/ports/measurement-store.ts'

export interface TestMeasurement {
  readonly sensorId: number
  readonly measuredAtMs: number
  readonly tieBreakNs?: number
  readonly tempCelsius: number
}

/** A batch of these measurements, in this order, and of deletions after them. */
export function batchOf(measurements: readonly TestMeasurement[]): StoreBatch {
  const columns: MeasurementColumns = {
    count: measurements.length,
    userId: new Uint32Array(measurements.length).fill(1),
    sensorId: Uint32Array.from(measurements, ({ sensorId }) => sensorId),
    measuredAtMs: Float64Array.from(measurements, ({ measuredAtMs }) => measuredAtMs),
    tieBreakNs: Uint32Array.from(measurements, ({ tieBreakNs }) => tieBreakNs ?? 0),
    tempCelsius: Float64Array.from(measurements, ({ tempCelsius }) => tempCelsius),
  }
  return { measurements: columns, sensorInfos: [] }
}

/** Everything that an iterable of chunks yields. */
export async function collect<Item>(chunks: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const items: Item[] = []
  for await (const chunk of chunks) items.push(...chunk)
  return items
}

export async function listAll<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

/** The readings of the buoy as text, in the order of the file. */
export function readBuoy(): { readonly time: string; readonly celsius: string }[] {
  const file = new URL('../fixtures/buoy-sea-temperature.csv', import.meta.url)
  const [, ...lines] = readFileSync(file, 'utf8').trim().split(/\r?\n/)
  return lines.map((line) => {
    const [time = '', celsius = ''] = line.split(',')
    return { time, celsius }
  })
}

/** The readings of the buoy as measurements of one sensor; the doubled time gets two tie-breaks. */
export function buoyMeasurements(sensorId: number): TestMeasurement[] {
  let lastMs = NaN
  return readBuoy().map(({ time, celsius }) => {
    const measuredAtMs = Date.parse(time)
    const tieBreakNs = measuredAtMs === lastMs ? 1 : 0
    lastMs = measuredAtMs
    return { sensorId, measuredAtMs, tieBreakNs, tempCelsius: Number(celsius) }
  })
}
