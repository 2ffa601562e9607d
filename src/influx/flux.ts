// Every Flux query, as text. Values are inserted only through the client library's sanitiser.
//
// InfluxDB computes queries of this shape inside its storage engine: a filter on measurement, tag
// and field, one aggregate over adjoining windows, and `keep` at the end. Each pipeline has its own
// `from()`: pipelines that share one run outside the engine, dozens of times slower. A range always
// has a stop, because without one InfluxDB leaves out points in the future.

import { flux, fluxDateTime, fluxDuration, fluxExpression } from '@influxdata/influxdb-client'
import { SUMMARY_VALUES } from '../domain/history.ts'
import type { Selector, SeriesRange, SummaryValue } from '../domain/history.ts'
import { formatInstant } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import { SENSOR_INFO, TEMPERATURE, TEMPERATURE_FIELD } from './line-protocol.ts'

/** One field of one sensor in one of InfluxDB's measurements. */
export interface FieldOfSensor {
  readonly measurement: string
  readonly field: string
  readonly sensorId: number
}

/** Columns `_time`, `_value` and `sensor_id`: every measurement, by sensor and time. */
export function rawQuery(influxBucket: string, range: SeriesRange): string {
  return `${temperatures(influxBucket, range)}\n${KEEP_SENSOR}`
}

/** The same of one measurement of each sensor. */
export function oneQuery(influxBucket: string, range: SeriesRange, selector: Selector): string {
  return `${temperatures(influxBucket, range)}\n  |> ${selector}()\n${KEEP_SENSOR}`
}

/**
 * One result per aggregate that is needed, named after it: columns `_time`, the start of the
 * window, `_value` and `sensor_id`.
 */
export function windowsQuery(influxBucket: string, range: SeriesRange, windowMs: number): string {
  const windows = aggregateWindow('fn', windowMs)
  const pipeline = `${temperatures(influxBucket, range)}\n${windows}\n${KEEP_SENSOR}`
  const yields = aggregatesOf(range).map(
    (name) => `summarize(fn: ${name}) |> yield(name: "${name}")`,
  )
  return [`summarize = (fn) => ${pipeline}`, ...yields].join('\n')
}

/** The same of the whole range as one window. */
export function totalsQuery(influxBucket: string, range: SeriesRange): string {
  return windowsQuery(influxBucket, range, Infinity)
}

/** Those that a question needs. */
export function aggregatesOf({ needed }: SeriesRange): readonly SummaryValue[] {
  return SUMMARY_VALUES.filter((name) => name === 'count' || (needed?.has(name) ?? true))
}

/** The number of values: columns `_time`, the start of the window, and `_value`. */
export function countQuery(
  influxBucket: string,
  series: FieldOfSensor,
  range: TimeRange,
  windowMs: number,
): string {
  const pipeline = source(influxBucket, series, range)
  return [pipeline, aggregateWindow('count', windowMs), KEEP].join('\n')
}

/** Columns `_time` and `_value`: each sensor that has measurements, by its id. */
export function sensorsQuery(influxBucket: string, range: TimeRange): string {
  return flux`from(bucket: ${influxBucket})
  |> range(start: ${instant(range.startMs)}, stop: ${instant(range.stopMs)})
  |> filter(fn: (r) => r._measurement == ${TEMPERATURE} and r._field == ${TEMPERATURE_FIELD})
  |> first()
  |> keep(columns: ["_time", "sensor_id"])
  |> group()
  |> map(fn: (r) => ({_time: r._time, _value: int(v: r.sensor_id)}))`.toString()
}

/**
 * A row with `_value`, the highest id that a tag of ours has, and a `_time` that means nothing; no
 * row if there is none. The form that InfluxDB answers from its index, up to `distinct`.
 */
export function highestIdQuery(
  influxBucket: string,
  tag: 'user_id' | 'sensor_id',
  range: TimeRange,
): string {
  return flux`from(bucket: ${influxBucket})
  |> range(start: ${instant(range.startMs)}, stop: ${instant(range.stopMs)})
  |> filter(fn: (r) => r._measurement == ${TEMPERATURE} or r._measurement == ${SENSOR_INFO})
  |> keep(columns: [${tag}])
  |> group()
  |> distinct(column: ${tag})
  |> filter(fn: (r) => r._value =~ /^[0-9]{1,10}$/)
  |> map(fn: (r) => ({_time: time(v: 0), _value: int(v: r._value)}))
  |> max()`.toString()
}

const KEEP = '  |> keep(columns: ["_time", "_value"])'

const KEEP_SENSOR = '  |> keep(columns: ["_time", "_value", "sensor_id"])'

function temperatures(influxBucket: string, { sensorIds, ...range }: SeriesRange): string {
  const series = { measurement: TEMPERATURE, field: TEMPERATURE_FIELD }
  const [sensorId = 0] = sensorIds
  if (sensorIds.length === 1) return source(influxBucket, { ...series, sensorId }, range)
  // One expression, however many: InfluxDB compiles it once and holds it against its index.
  const ids = new RegExp(`^(?:${sensorIds.join('|')})$`)
  return flux`${fluxExpression(fieldSource(influxBucket, series, range))}
  |> filter(fn: (r) => r.sensor_id =~ ${ids})`.toString()
}

function source(
  influxBucket: string,
  { sensorId, ...field }: FieldOfSensor,
  range: TimeRange,
): string {
  return flux`${fluxExpression(fieldSource(influxBucket, field, range))}
  |> filter(fn: (r) => r.sensor_id == ${String(sensorId)})`.toString()
}

function fieldSource(
  influxBucket: string,
  { measurement, field }: Omit<FieldOfSensor, 'sensorId'>,
  range: TimeRange,
): string {
  return flux`from(bucket: ${influxBucket})
  |> range(start: ${instant(range.startMs)}, stop: ${instant(range.stopMs)})
  |> filter(fn: (r) => r._measurement == ${measurement} and r._field == ${field})`.toString()
}

function aggregateWindow(fn: string, windowMs: number): string {
  const every = windowMs === Infinity ? fluxExpression('inf') : fluxDuration(`${windowMs}ms`)
  return flux`  |> aggregateWindow(every: ${every}, fn: ${fluxExpression(fn)},
    timeSrc: "_start", createEmpty: false)`.toString()
}

function instant(atMs: number): ReturnType<typeof fluxDateTime> {
  return fluxDateTime(formatInstant(atMs))
}
