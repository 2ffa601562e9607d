// SELECT first|last|min|max(…) FROM temperature, alone and without windows: one measurement of each
// series, with its own time.

import type { Selector, StoredPoint } from '../domain/history.ts'
import { compensate } from '../domain/sensor.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { limitSeries } from './limits.ts'
import type { Work } from './limits.ts'
import { knownSeries } from './series-text.ts'
import type { Reading, Series } from './series-text.ts'
import type { Select } from './statement.ts'
import { compensationOf, inParts, sensorsOf } from './tagged-sensors.ts'
import type { Group } from './tagged-sensors.ts'

/** Sensors that are asked for at once. */
const PART_SENSORS = 10_000

interface Point {
  readonly atMs: number
  readonly celsius: number
}

/** Negative where the one goes before the other; of equal values the earlier does. */
const ORDER: Readonly<Record<Selector, (one: Point, other: Point) => number>> = {
  first: (one, other) => one.atMs - other.atMs,
  last: (one, other) => other.atMs - one.atMs,
  min: (one, other) => one.celsius - other.celsius || one.atMs - other.atMs,
  max: (one, other) => other.celsius - one.celsius || one.atMs - other.atMs,
}

/** @throws StatementError if it asks for too much */
export function pointSeries(
  select: Select,
  selector: Selector,
  groups: readonly Group[],
  work: Work,
): Reading {
  limitSeries(groups.length, 1)
  work.take('values', groups.length)
  work.take('windows', sensorsOf(groups).length)
  return {
    range: select.range,
    read: async (reader) => seriesOf(select, selector, groups, reader),
  }
}

async function* seriesOf(
  { range, columns: [column] }: Select,
  selector: Selector,
  groups: readonly Group[],
  reader: MeasurementReader,
): AsyncIterable<Series> {
  if (column === undefined) throw new Error('BUG: a selector of nothing')
  for (const part of inParts(groups, ({ sensors }) => sensors.length, PART_SENSORS)) {
    const sensorIds = sensorsOf(part).map(({ id }) => id)
    const stored = new Map<number, StoredPoint>()
    for await (const chunk of reader.readOne({ sensorIds, ...range }, selector)) {
      for (const point of chunk) stored.set(point.sensorId, point)
    }
    for (const group of part) {
      const points = sensorsOf([group]).flatMap((sensor): Point[] => {
        const point = stored.get(sensor.id)
        if (point === undefined) return []
        const celsius = compensate(point.rawCelsius, compensationOf(column.field, sensor))
        return [{ atMs: point.measuredAtMs, celsius }]
      })
      const rows = points
        .toSorted(ORDER[selector])
        .slice(0, 1)
        .map(({ atMs, celsius }) => [atMs, column.compute(celsius)])
      yield knownSeries('temperature', ['time', column.name], rows, group.tags)
    }
  }
}
