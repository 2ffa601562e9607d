// JSON bodies within bounds. A body of four megabytes can hold two million values, and JSON.parse
// takes a second for some of them, blocking everyone else. No body that a schema accepts needs more
// than one list of flat objects with a handful of members, so nothing beyond that is built from a
// large body. Everything else is only checked to be JSON, in one pass over the bytes, and left out:
//
// - where only a number or a text can be right, a list or an object is read as an empty one, in a
//   small body only if it repeats a member;
// - a number of more than 64 characters is read as NaN, also from a small body;
// - an object of more than 32 members is read as `TOO_LONG`;
// - elements of the list beyond the 501st are left out.
//
// Valid bodies are read just as JSON.parse reads them; invalid ones stay invalid in the same way,
// and no schema takes NaN.
//
// JSON.parse takes the last of two members of one name: a sender's mistake would lose an event id
// and nobody would know. Such a member is read as `Repeated`, which no schema takes either.
//
// Reading is sliced, and others have their turn between slices. Small bodies are left to
// JSON.parse, which is faster for them.

import { isUtf8 } from 'node:buffer'
import {
  elementMembersMax,
  numberCharactersMax,
  submissionMeasurementsMax,
} from '../../domain/limits.ts'
import type { LetOthers } from '../answers/turns.ts'
import { malformedJson, refuseNotUtf8 } from './malformed-json.ts'
import type { JsonPath } from './malformed-json.ts'
import { markBytes, NotJson, OpenKinds } from './pass-json.ts'
import { passNested, passScalar, passString, skipSpace } from './pass-json.ts'
import { COLON, COMMA, LIST_END, LIST_START, OBJECT_END, OBJECT_START, QUOTE } from './pass-json.ts'

/** Stands for an object with too many members, which is not inspected further. */
export const TOO_LONG = Object.freeze({ isTooLong: true })

/** Stands for a member that comes more than once in its object. */
export class Repeated {
  /** Its first two values. */
  readonly repeated: readonly [unknown, unknown]

  constructor(first: unknown, second: unknown) {
    this.repeated = [first, second]
  }
}

const SMALL_BYTES_MAX = 16 * 1024
/** Levels of lists and objects in a small body: far more than any valid one has. */
const DEPTH_MAX = 32

/** Of what numbers consist, by their bytes. */
const IS_OF_NUMBER = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number('+-.0123456789Ee'.includes(String.fromCharCode(byte))),
)

/** Bytes read of a large body before others have their turn: some milliseconds. */
const SLICE_BYTES = 128 * 1024

/** One more than allowed shows that there are too many. */
const ELEMENTS_MAX = submissionMeasurementsMax + 1

/** Work in slices, and its result. */
type Slices<Result> = Generator<void, Result, void>

/**
 * The value of a JSON body: immediately if it is small and has no long numbers, else as a promise.
 *
 * @param listName the member of the outermost object that may be a list of objects
 * @throws ServiceError `malformed_json`
 */
export function readJson(bytes: Buffer, letOthers: LetOthers, listName?: string): unknown {
  if (!isUtf8(bytes)) refuseNotUtf8(bytes)
  if (bytes.length > SMALL_BYTES_MAX) return readWithinBounds(bytes, letOthers, listName)
  if (mayHaveLongNumber(bytes)) return readWithinBounds(bytes, letOthers, listName)
  return parsePlain(bytes) ?? readWithinBounds(bytes, letOthers, listName)
}

/**
 * As JSON.parse; `undefined` if it is not JSON, if an object has a repeated member, or perhaps such
 * a text, or if it is nested too deeply for what reads it later.
 */
function parsePlain(bytes: Buffer): unknown {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8', markBytes(bytes)))
  } catch {
    return undefined
  }
  return membersIn(value, DEPTH_MAX) === nameEndsIn(bytes) ? value : undefined
}

/** Members of all objects in a value; NaN if it is nested too deeply. */
function membersIn(value: unknown, levels: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (levels === 0) return NaN
  const inside: unknown[] = Object.values(value)
  let count = Array.isArray(value) ? 0 : inside.length
  for (const each of inside) count += membersIn(each, levels - 1)
  return count
}

/** Quotes before a colon: ends of names, and what looks so in texts that contain a quote. */
function nameEndsIn(bytes: Buffer): number {
  let count = 0
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === QUOTE && bytes[skipSpace(bytes, at + 1)] === COLON) count++
  }
  return count
}

/**
 * The same for a body of any length.
 *
 * @param bytes valid UTF-8
 * @throws ServiceError `malformed_json`
 */
export async function readWithinBounds(
  bytes: Buffer,
  letOthers: LetOthers,
  listName?: string,
): Promise<unknown> {
  const reader = new BoundedReader(bytes, listName)
  const slices = reader.readAll()
  try {
    let slice = slices.next()
    for (; slice.done !== true; slice = slices.next()) await letOthers()
    return slice.value
  } catch (error) {
    throw error instanceof NotJson ? malformedJson(bytes, error, reader.path) : error
  }
}

/** Whether a body has a number that is too long, or perhaps such a text. */
function mayHaveLongNumber(bytes: Buffer): boolean {
  // Whatever is too long is at one of these places, too.
  for (let at = numberCharactersMax; at < bytes.length; at += numberCharactersMax + 1) {
    let [start, end] = [at, at]
    while (IS_OF_NUMBER[bytes[start - 1] ?? 0] === 1) start--
    while (IS_OF_NUMBER[bytes[end] ?? 0] === 1) end++
    if (end - start > numberCharactersMax) return true
  }
  return false
}

/** Whether a value is an object with more members than are inspected. */
export function isTooLong(value: unknown): boolean {
  if (value === TOO_LONG) return true
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.keys(value).length > elementMembersMax
}

class BoundedReader {
  readonly #bytes: Buffer
  readonly #listName: string | undefined
  /** The lists and objects being skipped. */
  readonly #open = new OpenKinds()
  /** To the value being read. */
  readonly #path: (string | number | undefined)[] = []
  #at = 0
  #sliceEnd = SLICE_BYTES

  constructor(bytes: Buffer, listName: string | undefined) {
    this.#bytes = bytes
    this.#listName = listName
  }

  get path(): JsonPath {
    return this.#path
  }

  /** @throws NotJson */
  *readAll(): Slices<unknown> {
    this.#at = skipSpace(this.#bytes, markBytes(this.#bytes))
    const isObject = this.#next === OBJECT_START
    const value = isObject ? yield* this.#readObject(this.#listName) : this.#readFlat()
    yield* this.#finishSlice()
    if (this.#at < this.#bytes.length) throw new NotJson(this.#at, true)
    return value
  }

  get #next(): number | undefined {
    return this.#bytes[this.#at]
  }

  /**
   * Reads the object that begins here, and the white space after it.
   *
   * @param listName the member that may be a list of objects
   */
  *#readObject(listName: string | undefined): Slices<unknown> {
    const members: Record<string, unknown> = {}
    let count = 0
    this.#step()
    if (this.#takes(OBJECT_END)) return members
    do {
      const name = count > elementMembersMax ? this.#passText() : this.#readText()
      this.#expect(COLON)
      this.#path.push(name)
      const isList = listName !== undefined && name === listName && this.#next === LIST_START
      const value = isList ? yield* this.#readList() : this.#readFlat(name !== undefined)
      if (this.#isSliceOver) yield* this.#finishSlice()
      this.#path.pop()
      if (name !== undefined && !Object.hasOwn(members, name)) count++
      if (name !== undefined && count <= elementMembersMax) addMember(members, name, value)
    } while (this.#takes(COMMA))
    this.#expect(OBJECT_END)
    return count > elementMembersMax ? TOO_LONG : members
  }

  *#readList(): Slices<unknown[]> {
    const elements: unknown[] = []
    this.#step()
    if (this.#takes(LIST_END)) return elements
    do {
      const isWanted = elements.length < ELEMENTS_MAX
      if (isWanted) this.#path.push(elements.length)
      const isObject = isWanted && this.#next === OBJECT_START
      const element = isObject ? yield* this.#readObject(undefined) : this.#readFlat(isWanted)
      if (this.#isSliceOver) yield* this.#finishSlice()
      if (!isWanted) continue
      this.#path.pop()
      elements.push(element)
    } while (this.#takes(COMMA))
    this.#expect(LIST_END)
    return elements
  }

  /**
   * Reads a value. Only skips a list or an object, as far as the slice goes: `finishSlice` skips
   * the rest.
   *
   * @param isWanted `false`: the value itself is not needed
   */
  #readFlat(isWanted = true): unknown {
    const first = this.#next
    const start = this.#at
    if (first === LIST_START || first === OBJECT_START) {
      this.#passNested()
      const isSmall = isWanted && this.#bytes.length <= SMALL_BYTES_MAX
      const value = isSmall ? parsePlain(this.#bytes.subarray(start, this.#at)) : undefined
      return value ?? (first === LIST_START ? [] : {})
    }
    if (isWanted && first === QUOTE) return this.#readText()
    const stop = passScalar(this.#bytes, start)
    this.#at = skipSpace(this.#bytes, stop)
    if (!isWanted) return undefined
    if (stop - start > numberCharactersMax) return NaN
    return JSON.parse(this.#bytes.toString('latin1', start, stop))
  }

  #passNested(): void {
    this.#at = passNested(this.#bytes, this.#at, this.#open, this.#sliceEnd)
    if (this.#open.depth === 0) this.#at = skipSpace(this.#bytes, this.#at)
  }

  get #isSliceOver(): boolean {
    return this.#at >= this.#sliceEnd
  }

  /** Gives others their turn, again and again until everything being skipped has ended. */
  *#finishSlice(): Slices<void> {
    while (this.#isSliceOver) {
      yield
      this.#sliceEnd = this.#at + SLICE_BYTES
      if (this.#open.depth > 0) this.#passNested()
    }
  }

  #passText(): undefined {
    this.#at = skipSpace(this.#bytes, passString(this.#bytes, this.#at))
  }

  #readText(): string {
    const start = this.#at
    const stop = passString(this.#bytes, start)
    this.#at = skipSpace(this.#bytes, stop)
    const text = this.#bytes.toString('utf8', start + 1, stop - 1)
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
  }

  #step(): void {
    this.#at = skipSpace(this.#bytes, this.#at + 1)
  }

  #takes(byte: number): boolean {
    if (this.#next !== byte) return false
    this.#step()
    return true
  }

  #expect(byte: number): void {
    if (!this.#takes(byte)) throw new NotJson(this.#at)
  }
}

/** Adds a member as JSON.parse does, `__proto__` being an ordinary name, unless it is repeated. */
function addMember(members: Record<string, unknown>, name: string, sent: unknown): void {
  const isFirst = !Object.hasOwn(members, name)
  if (!isFirst && members[name] instanceof Repeated) return
  const value = isFirst ? sent : new Repeated(members[name], sent)
  if (name !== '__proto__') members[name] = value
  else Object.defineProperty(members, name, { value, configurable: true, enumerable: true })
}
