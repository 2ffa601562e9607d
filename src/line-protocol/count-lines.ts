// What can be counted of a body of line protocol at little cost, before anything is made of it.

const TAB = 9
const NEW_LINE = 10
const BLANK = 32
const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92
const LOWER_CASES = 0x2020

/** What stands before a field or ends a line, by its code. */
const SEPARATORS = new Uint8Array(COMMA + 1)
for (const code of [TAB, NEW_LINE, BLANK, COMMA]) SEPARATORS[code] = 1

/** Whether a temperature's name begins with these two bytes, but for names that a setting adds. */
const BEGINNINGS = new Uint8Array(2 ** 16)
for (const text of ['te', 'cu', 'fl', 'pr', 'va', 'ga']) {
  BEGINNINGS[Buffer.from(text).readInt16BE()] = 1
}

/** A field with its value and what is before it. */
const FIELD_BYTES_MIN = { ofKnownName: ' temp=1'.length, ofAnyName: ' a=1'.length }

/** Lines of a body, counting line breaks in strings too; no further than one more than `max`. */
export function countLines(text: string, max: number): number {
  let count = 0
  for (let at = 0; at < text.length && count <= max; count++) {
    const end = text.indexOf('\n', at)
    at = end === -1 ? text.length : end + 1
  }
  return count
}

/**
 * Whether a body may have more temperatures, to go by how the names of its fields begin.
 *
 * @param isAnyName whether every name may be that of a temperature
 * @returns `false` only if it certainly has no more
 */
export function mayHaveMoreTemperatures(body: Buffer, max: number, isAnyName: boolean): boolean {
  const bytesMin = isAnyName ? FIELD_BYTES_MIN.ofAnyName : FIELD_BYTES_MIN.ofKnownName
  // From here on, the bytes that are left have no room for more than is allowed.
  let enoughAt = body.length - max * bytesMin
  // A line break in a string looks like the end of its line: then tags count as fields.
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
    if (++count > max) return true
  }
  return false
}

/** Two letters, whatever their case. */
function beginningAt(body: Buffer, at: number): number {
  return ((body[at] ?? 0) << 8) | (body[at + 1] ?? 0) | LOWER_CASES
}
