// Measurements and infos as lines of InfluxDB's line protocol. Pure functions of immutable data:
// what is written again has the same series and the same nanosecond and overwrites itself.
//
// The names here are what people who read the bucket directly build upon. A number without a suffix
// is a float; an integer, written once, would hide all floats of its field from queries.

import type { EpochMs } from '../domain/time.ts'
import type { MeasurementColumns, SensorInfo } from '../ports.ts'

export const TEMPERATURE = 'temperature'
export const TEMPERATURE_FIELD = 'temp'
export const SENSOR_INFO = 'sensor_info'

const TIE_BREAKS = 1_000_000
const NO_TIE_BREAK = '000000'

/**
 * One line for each measurement named, in that order.
 *
 * @param places indices into the columns
 */
export function temperatureLines(columns: MeasurementColumns, places: Uint32Array): Buffer {
  const { userId, sensorId, measuredAtMs, tieBreakNs, tempCelsius } = columns
  const prefixes = new Map<number, string>()
  let lines = ''
  for (const place of places) {
    const sensor = sensorId[place] as number
    let prefix = prefixes.get(sensor)
    if (prefix === undefined) {
      prefix = `${TEMPERATURE},user_id=${userId[place]},sensor_id=${sensor} ${TEMPERATURE_FIELD}=`
      prefixes.set(sensor, prefix)
    }
    const time = timestampNs(measuredAtMs[place] as number, tieBreakNs[place] as number)
    lines += `${prefix}${tempCelsius[place]} ${time}\n`
  }
  return Buffer.from(lines, 'latin1')
}

/** One line for each info. */
export function sensorInfoLines(infos: readonly SensorInfo[]): Buffer {
  const lines = infos.map((info) => {
    const { userId, sensorId, serialNumber, alias, compensationCelsius, atMs } = info
    const fields = `sn=${quoted(serialNumber)},alias=${quoted(alias)}`
    const series = `${SENSOR_INFO},user_id=${userId},sensor_id=${sensorId}`
    return `${series} ${fields},compensation=${compensationCelsius} ${timestampNs(atMs, 0)}\n`
  })
  return Buffer.from(lines.join(''), 'utf8')
}

/** Nanoseconds since the epoch in digits: too large for a double, too many for bigints. */
export function timestampNs(atMs: EpochMs, tieBreakNs: number): string {
  if (atMs <= 0) return String(BigInt(atMs) * BigInt(TIE_BREAKS) + BigInt(tieBreakNs))
  if (tieBreakNs === 0) return atMs + NO_TIE_BREAK
  return atMs + String(TIE_BREAKS + tieBreakNs).slice(1)
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}
