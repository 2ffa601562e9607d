// Counts in a body of line protocol, at little cost, before any of it is stored: one that exceeds a
// limit is refused whole.

import { ServiceError } from '../domain/errors.ts'
import { lineBodyLinesMax, lineBodyMeasurementsMax } from '../domain/limits.ts'
import { PART_BYTES_MAX } from './line.ts'
import type { LineWalk } from './line.ts'
import { numberIn } from './temperature-value.ts'

const TAB = 9
const NEW_LINE = 10
const BLANK = 32
const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92
const LOWER_CASES = 0x2020

/** Characters before a field or at the end of a line, by code. */
const SEPARATORS = new Uint8Array(COMMA + 1)
for (const code of [TAB, NEW_LINE, BLANK, COMMA]) SEPARATORS[code] = 1

/** Whether a temperature's name begins with these two bytes, except names added by a setting. */
const BEGINNINGS = new Uint8Array(2 ** 16)
for (const text of ['te', 'cu', 'fl', 'pr', 'va', 'ga', 'st']) {
  BEGINNINGS[Buffer.from(text).readInt16BE()] = 1
}

/** A field with its value and the character before it. */
const FIELD_BYTES_MIN = { ofKnownName: ' temp=1'.length, ofAnyName: ' a=1'.length }

/**
 * Counts the lines of a body, including line breaks in strings.
 *
 * @throws ServiceError `batch_too_large`
 */
export function limitLines(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; count++) {
    if (count === lineBodyLinesMax) throw tooLarge(lineBodyLinesMax)
    const end = text.indexOf('\n', at)
    at = end === -1 ? text.length : end + 1
  }
  return count
}

/** @throws ServiceError `batch_too_large` */
export async function limitTemperatures(
  body: Buffer,
  isAnyName: boolean,
  walk: () => LineWalk,
  letOthers: () => Promise<void>,
): Promise<void> {
  if (!mayHaveMoreTemperatures(body, isAnyName)) return
  const lines = walk()
  let count = 0
  let turnAt = PART_BYTES_MAX
  for (let read = lines.next(); read !== undefined; read = lines.next()) {
    const { series, fields = [] } = read.point ?? {}
    for (const { key, value } of fields) {
      if (typeof numberIn(value) !== 'number' || series?.hasTemperature(key) !== true) continue
      if (++count > lineBodyMeasurementsMax) throw tooLarge(lineBodyMeasurementsMax)
    }
    if (lines.bytesRead < turnAt) continue
    turnAt = lines.bytesRead + PART_BYTES_MAX
    await letOthers()
  }
}

function tooLarge(limit: number): ServiceError {
  return new ServiceError('batch_too_large', { members: { limit } })
}

/**
 * Whether a body may have too many temperatures, judging by how its fields' names begin.
 *
 * @param isAnyName whether every name may be a temperature's
 * @returns `false` only if it certainly has no more
 */
function mayHaveMoreTemperatures(body: Buffer, isAnyName: boolean): boolean {
  const bytesMin = isAnyName ? FIELD_BYTES_MIN.ofAnyName : FIELD_BYTES_MIN.ofKnownName
  // From here on, the remaining bytes cannot hold more than is allowed.
  let enoughAt = body.length - lineBodyMeasurementsMax * bytesMin
  // A line break in a string looks like the end of a line: then tags count as fields.
  const hasStrings = body.includes(QUOTE)
  let count = 0
  let isOfKey = !hasStrings
  for (let at = 0; at < enoughAt; at++) {
    const code = body[at] as number
    if (code > COMMA || SEPARATORS[code] === 0) continue
    if (code === NEW_LINE && !hasStrings) isOfKey = true
    else if (isOfKey && code === BLANK) isOfKey = body[at - 1] === BACKSLASH
    if (isOfKey || !(isAnyName || BEGINNINGS[beginningAt(body, at + 1)] === 1)) continue
    enoughAt += bytesMin
    if (++count > lineBodyMeasurementsMax) return true
  }
  return false
}

/** Two letters, in lower case. */
function beginningAt(body: Buffer, at: number): number {
  return ((body[at] ?? 0) << 8) | (body[at + 1] ?? 0) | LOWER_CASES
}
