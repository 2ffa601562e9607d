// Measurements and infos in InfluxDB's line protocol. Pure functions of immutable data: a repeated
// write has the same series and the same nanosecond and overwrites itself.
//
// People who read the bucket directly rely on these names. A number without a suffix is a float; a
// single integer would hide all floats of its field from queries.

import { digitsOf, writeAscii, writeDigits, writeNumber } from '../bytes/digits.ts'
import type { MeasurementColumns } from '../domain/measurement-columns.ts'
import type { SensorInfo } from '../ports/measurement-store.ts'

export const TEMPERATURE = 'temperature'
export const TEMPERATURE_FIELD = 'temp'
export const SENSOR_INFO = 'sensor_info'

const TIE_BREAKS = 1_000_000
const NO_TIE_BREAK = '000000'
const SPACE = 32
const LINE_END = 10

/** Digits of the nanoseconds within a millisecond. */
const TIE_BREAK_DIGITS = 6

/** A temperature's line: names 37, ids 26, a double 24, nanoseconds 20, and two separators. */
const LINE_BYTES_MAX = 128

/**
 * One line per measurement, in the order of `places`, written as bytes: one growing string takes
 * twice the time and creates garbage. Tags are ordered by name, or InfluxDB sorts them for each
 * line, which takes up to a fifth of its time.
 *
 * @param places indices into the columns
 */
export function temperatureLines(columns: MeasurementColumns, places: Uint32Array): Buffer {
  const { userId, sensorId, measuredAtMs, tieBreakNs, tempCelsius } = columns
  const prefixes = new Map<number, string>()
  const lines = Buffer.allocUnsafeSlow(places.length * LINE_BYTES_MAX)
  let end = 0
  for (const place of places) {
    const sensor = sensorId[place] as number
    let prefix = prefixes.get(sensor)
    if (prefix === undefined) {
      prefix = `${TEMPERATURE},sensor_id=${sensor},user_id=${userId[place]} ${TEMPERATURE_FIELD}=`
      prefixes.set(sensor, prefix)
    }
    end = writeAscii(lines, end, prefix)
    end = writeNumber(lines, end, tempCelsius[place] as number)
    lines[end++] = SPACE
    end = writeTime(lines, end, measuredAtMs[place] as number, tieBreakNs[place] as number)
    lines[end++] = LINE_END
  }
  return lines.subarray(0, end)
}

/** In the form of `timestampNs`. */
function writeTime(bytes: Buffer, start: number, atMs: number, tieBreakNs: number): number {
  if (atMs <= 0) return writeAscii(bytes, start, timestampNs(atMs, tieBreakNs))
  const tieBreakAt = writeDigits(bytes, start, atMs, digitsOf(atMs))
  return writeDigits(bytes, tieBreakAt, tieBreakNs, TIE_BREAK_DIGITS)
}

/** One line per info. */
export function sensorInfoLines(infos: readonly SensorInfo[]): Buffer {
  const lines = infos.map((info) => {
    const { userId, sensorId, serialNumber, alias, compensationCelsius, atMs } = info
    const fields = `sn=${quoted(serialNumber)},alias=${quoted(alias)}`
    const series = `${SENSOR_INFO},sensor_id=${sensorId},user_id=${userId}`
    return `${series} ${fields},compensation=${compensationCelsius} ${timestampNs(atMs, 0)}\n`
  })
  return Buffer.from(lines.join(''), 'utf8')
}

/** Nanoseconds since the epoch, as digits: too large for a double, too frequent for bigints. */
export function timestampNs(atMs: number, tieBreakNs: number): string {
  if (atMs <= 0) return String(BigInt(atMs) * BigInt(TIE_BREAKS) + BigInt(tieBreakNs))
  if (tieBreakNs === 0) return atMs + NO_TIE_BREAK
  return atMs + String(TIE_BREAKS + tieBreakNs).slice(1)
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}
