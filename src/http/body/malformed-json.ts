// What is said of a body that is not JSON: where it is not, and what to do about the mistakes that
// are made most. Of the body itself no more is told than one character, a number that JSON does not
// have, and the names of members, unless they are long enough to be a secret.

import { isUtf8 } from 'node:buffer'
import { ServiceError } from '../../domain/errors.ts'
import { markBytes, skipSpace } from './pass-json.ts'
import type { NotJson } from './pass-json.ts'

const CHUNK_BYTES = 64 * 1024
const GZIP_START = [0x1f, 0x8b]
const PLUS_OR_MINUS = /[+-]/
const NO_NUMBER = /^[+-]?(?:nan|inf(?:inity)?)(?![a-z])/i
/** With a sign and one character more. */
const NO_NUMBER_BYTES_MAX = 10
const PLAIN_NAME = /^\w{1,24}$/
const PRINTABLE = /^[!-~]$/

/** In a batch `null` is no temperature either, but a fault of one element. */
const IN_BATCH =
  'leave the measurement out, or send null with on_invalid=skip, which rejects it alone'
const ELSEWHERE = 'send a number, or nothing'

/** The names and indexes that lead to a value; `undefined`: a name that was not read. */
export type JsonPath = readonly (string | number | undefined)[]

/** @param path to the innermost value that was being read when the bytes were no JSON any more */
export function malformedJson(bytes: Buffer, error: NotJson, path: JsonPath): ServiceError {
  return new ServiceError('malformed_json', { detail: sentence(bytes, error, path) })
}

/**
 * @param bytes not valid UTF-8
 * @throws ServiceError `malformed_json`
 */
export function refuseNotUtf8(bytes: Buffer): never {
  refusePacked(bytes, 'malformed_json')
  const detail = `The body is not valid UTF-8 at byte ${firstNotUtf8(bytes) + 1}.`
  throw new ServiceError('malformed_json', { detail })
}

/** @throws ServiceError if the body, as it is to be read, is compressed */
export function refusePacked(bytes: Buffer, code: 'malformed_json' | 'invalid_request'): void {
  if (!GZIP_START.every((byte, at) => byte === bytes[at])) return
  const detail = 'The body looks like gzip: send it packed once, with Content-Encoding: gzip.'
  throw new ServiceError(code, { detail })
}

function sentence(bytes: Buffer, { at, isAfterEnd }: NotJson, path: JsonPath): string {
  if (skipSpace(bytes, markBytes(bytes)) === bytes.length) return 'The body is empty.'
  const pointer = pointerTo(path)
  const inside = pointer === '' ? '' : `, in ${pointer}`
  if (at >= bytes.length) return `The JSON ends too early, after byte ${bytes.length}${inside}.`
  const before = String.fromCharCode(bytes[at - 1] ?? 0)
  const start = PLUS_OR_MINUS.test(before) ? at - 1 : at
  const text = bytes.toString('latin1', start, start + NO_NUMBER_BYTES_MAX)
  const [word] = NO_NUMBER.exec(text) ?? []
  if (word !== undefined) {
    const advice = path[0] === 'measurements' ? IN_BATCH : ELSEWHERE
    return `${word} at byte ${start + 1}${inside && `${inside},`} is no JSON number: ${advice}.`
  }
  const place = isAfterEnd ? ', after its end: a body is one value' : inside
  return `The body is not JSON: unexpected ${characterAt(bytes, at)} at byte ${at + 1}${place}.`
}

/** Up to the first name that is not plain. */
function pointerTo(path: JsonPath): string {
  const end = path.findIndex((segment) => !PLAIN_NAME.test(String(segment ?? '')))
  const shown = end === -1 ? path : path.slice(0, end)
  return shown.map((segment) => `/${segment}`).join('')
}

function characterAt(bytes: Buffer, at: number): string {
  const byte = bytes[at] ?? 0
  const character = String.fromCharCode(byte)
  if (PRINTABLE.test(character)) return JSON.stringify(character)
  return byte < 0x80 ? `character U+${byte.toString(16).padStart(4, '0')}` : 'character'
}

/** Where the first bytes are that are no character. @param bytes not valid UTF-8 */
function firstNotUtf8(bytes: Buffer): number {
  for (let start = 0; ;) {
    let stop = Math.min(start + CHUNK_BYTES, bytes.length)
    for (let back = 0; back < 3 && isContinuation(bytes[stop]); back++) stop--
    const chunk = bytes.subarray(start, stop)
    if (stop === bytes.length || !isUtf8(chunk)) {
      const replaced = Buffer.from(chunk.toString('utf8'))
      return start + replaced.findIndex((byte, at) => byte !== chunk[at])
    }
    start = stop
  }
}

/** Whether a byte stands inside a character. */
function isContinuation(byte = 0): boolean {
  return (byte & 0xc0) === 0x80
}
