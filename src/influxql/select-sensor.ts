// SELECT … FROM sensor: one row per sensor, as it is now, without the measurement store.

import { setImmediate } from 'node:timers/promises'
import { meanCelsius } from '../history/history-points.ts'
import { compensate, roundCelsius } from '../domain/sensor.ts'
import type { SensorState } from '../sensors/sensors.ts'
import { limitSeries } from './limits.ts'
import type { Work } from './limits.ts'
import type { Row } from './row-text.ts'
import type { Series } from './series-text.ts'
import type { MEASUREMENTS } from './vocabulary.ts'
import { StatementError } from './scanner.ts'
import { selectorOf } from './statement.ts'
import type { Column, Select } from './statement.ts'
import type { Aggregate } from './vocabulary.ts'
import type { Group } from './tagged-sensors.ts'

/** Rows between two pauses for other work. */
const ROWS_AT_ONCE = 1_000

type Field = keyof typeof MEASUREMENTS.sensor

/** What a row needs besides the sensor. */
export interface Moment {
  readonly nowMs: number
  /** Sensors with acknowledged data that cannot be read yet. */
  readonly unreadable: ReadonlySet<number>
}

type FieldValue = (state: SensorState, moment: Moment) => number | null

const VALUES: Readonly<Record<Field, FieldValue>> = {
  compensation: ({ sensor }) => sensor.compensationCelsius,
  online: ({ isOnline }) => Number(isOnline),
  silence: ({ sensor: { latest, lastSeenAtMs, createdAtMs } }, { nowMs }) => {
    const newestMs = Math.min(latest?.measuredAtMs ?? Infinity, lastSeenAtMs ?? Infinity)
    // It was heard from in the future if the service's own clock was ahead then.
    const sinceMs = newestMs > nowMs ? createdAtMs : newestMs
    return Math.max(0, nowMs - sinceMs) / 1_000
  },
  temp: ({ sensor: { latest, compensationCelsius } }) =>
    latest === null ? null : compensate(latest.rawCelsius, compensationCelsius),
  unreadable: ({ sensor }, { unreadable }) => Number(unreadable.has(sensor.id)),
}

/** @throws StatementError if it asks for windows, or for too much */
export function sensorSeries(
  select: Select,
  groups: readonly Group[],
  moment: Moment,
  work: Work,
): readonly Series[] {
  if (select.windowMs !== undefined) {
    const remedy = 'leave time(…) out, or take it from temperature'
    throw new StatementError(`sensor has only current values, no windows: ${remedy}`)
  }
  limitSeries(groups.length, 1)
  const sensors = groups.reduce((sum, group) => sum + group.sensors.length, 0)
  work.take('values', sensors * select.columns.length)
  const columns = ['time', ...select.columns.map(({ name }) => name)]
  const isAggregate = select.columns.some(({ aggregate }) => aggregate !== undefined)
  return groups.map(({ tags, sensors: members }) => {
    const states = members.map(({ state }) => state)
    const rows = isAggregate ? totalRow(select, states, moment) : rowsOf(select, states, moment)
    return { name: 'sensor', tags, columns, rows }
  })
}

/** Made when they are written: a client may never take those of many sensors. */
async function* rowsOf(
  select: Select,
  states: readonly SensorState[],
  moment: Moment,
): AsyncIterable<readonly Row[]> {
  const { columns, isDescending, limit } = select
  const atMs = timeOf(select, moment)
  const ordered = (isDescending ? states.toReversed() : states).slice(0, limit)
  for (let at = 0; at < ordered.length; at += ROWS_AT_ONCE) {
    if (at > 0) await setImmediate()
    yield ordered
      .slice(at, at + ROWS_AT_ONCE)
      .map((state) => [
        atMs,
        ...columns.map((column) => computed(column, valueOf(column, state, moment))),
      ])
  }
}

async function* totalRow(
  select: Select,
  states: readonly SensorState[],
  moment: Moment,
): AsyncIterable<readonly Row[]> {
  const totals = select.columns.map((column) => {
    const values = states.map((state) => valueOf(column, state, moment))
    const known = values.filter((value) => value !== null)
    return computed(column, total(column.aggregate, known))
  })
  const isPoint = selectorOf(select) !== undefined
  yield [[isPoint ? timeOf(select, moment) : select.range.startMs, ...totals]]
}

function timeOf({ range }: Select, { nowMs }: Moment): number {
  return Math.min(range.stopMs - 1, nowMs)
}

function computed({ compute }: Column, value: number | null): number | null {
  return value === null ? null : compute(value)
}

function valueOf({ field }: Column, state: SensorState, moment: Moment): number | null {
  return VALUES[field as Field](state, moment)
}

function total(aggregate: Aggregate | undefined, values: readonly number[]): number | null {
  if (aggregate === 'count') return values.length
  if (values.length === 0) return null
  const sum = values.reduce((before, value) => before + value, 0)
  const min = values.reduce((least, value) => Math.min(least, value))
  const max = values.reduce((most, value) => Math.max(most, value))
  if (aggregate === 'min') return min
  if (aggregate === 'max') return max
  if (aggregate === 'spread') return roundCelsius(max - min)
  if (aggregate === 'first') return values[0] ?? null
  if (aggregate === 'last') return values.at(-1) ?? null
  return aggregate === 'sum' ? roundCelsius(sum) : meanCelsius({ sum, count: values.length }, 0)
}
