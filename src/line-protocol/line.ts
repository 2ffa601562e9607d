// The lines of a body of line protocol, one after another, each as a point or the reason that it is
// not one. An unreadable line does not affect its neighbours.

import { isUtf8 } from 'node:buffer'
import { lineBytesMax } from '../domain/limits.ts'
import {
  closingQuote,
  decodeText,
  LineFault,
  mayFollowString,
  PointReader,
  TOO_LONG,
} from './point.ts'
import type { Point } from './point.ts'
import type { Series, SeriesMemory } from './series.ts'

/** Other work runs after so much of a body. */
export const PART_BYTES_MAX = 128 * 1024

const BYTE_ORDER_MARK = '\xef\xbb\xbf'
const NUL = 0
const TAB = 9
const NEW_LINE = 10
const RETURN = 13
const BLANK = 32
const HASH = 35

/** In a line's fields. */
const BEFORE_STRING = /(?<!\\)="/

/** A part of a body's text. */
export class Line {
  /** The first line is 1. */
  readonly number: number
  readonly #body: string
  readonly #start: number
  readonly #end: number

  constructor(number: number, body: string, start: number, end: number) {
    this.number = number
    this.#body = body
    this.#start = start
    this.#end = end > start && body.charCodeAt(end - 1) === RETURN ? end - 1 : end
  }

  /** Its bytes, one character each; a slice of the body's text. */
  get text(): string {
    return this.#body.slice(this.#start, this.#end)
  }

  get length(): number {
    return this.#end - this.#start
  }
}

/** Characters of a field's name in a reason. */
const SHOWN_NAME_CHARACTERS_MAX = 64

const NOT_UTF8 = { reason: 'not UTF-8', place: '', isTooLarge: false }
const TOO_LONG_LINE = { reason: TOO_LONG, place: '', isTooLarge: true }

/** The name of a field, for people. */
export function shownName(key: string): string {
  return decodeText(key.slice(0, SHOWN_NAME_CHARACTERS_MAX))
}

/** A line as a point, or the reason that it is not one. */
export interface WalkedLine {
  readonly line: Line
  readonly point?: Point<Series>
  readonly fault?: {
    readonly reason: string
    /** Which field and column; empty where it is the whole line. */
    readonly place: string
    readonly isTooLarge: boolean
  }
}

/** A body's text, one character a byte, and walks through it, each from the first line on. */
export function linesOf(body: Buffer, series: SeriesMemory) {
  const text = body.toString('latin1')
  const isUtf8Body = isUtf8(body)
  return { text, walk: () => new LineWalk(text, isUtf8Body, series) }
}

/** Walks through a body's lines. */
export class LineWalk {
  readonly #text: string
  readonly #isUtf8: boolean
  readonly #points: PointReader<Series>
  #at = 0
  #number = 0
  /** Characters that may be read again after an unclosed quote. */
  #rereadMax: number
  /** Characters that may be searched in vain for the closing quote of a long string. */
  #lookMax: number
  /** Characters read one by one, including those read twice. */
  bytesRead = 0

  constructor(text: string, isUtf8Body: boolean, series: SeriesMemory) {
    this.#text = text
    this.#isUtf8 = isUtf8Body
    this.#points = new PointReader(text, series)
    this.#rereadMax = text.length
    this.#lookMax = text.length
  }

  /** Whether only empty lines and comments remain. */
  isAtEnd(): boolean {
    return this.#skipEmpty() === undefined
  }

  /** The next line that is neither empty nor a comment; `undefined` after the last. */
  next(): WalkedLine | undefined {
    const content = this.#skipEmpty()
    if (content === undefined) return undefined
    this.#number++
    return this.#read(this.#at, content)
  }

  /** Goes to the next line with content. @returns where it begins */
  #skipEmpty(): number | undefined {
    while (this.#at < this.#text.length) {
      const content = this.#firstOf(this.#at)
      if (content !== undefined) return content
      this.#number++
      this.#at = this.#endOf(this.#at) + 1
    }
    return undefined
  }

  #read(start: number, content: number): WalkedLine {
    try {
      const point = this.#points.read(content)
      const line = this.#take(start, this.#points.end, this.#points.end)
      if (line.length > lineBytesMax) return { line, fault: TOO_LONG_LINE }
      return this.#isReadable(line) ? { line, point } : { line, fault: NOT_UTF8 }
    } catch (error) {
      if (!(error instanceof LineFault)) throw error
      const { reason, place } = error
      const line = this.#take(start, this.#endOfFault(start, place), place.readTo)
      const { isTooLarge = false } = place
      if (line.length > lineBytesMax) return { line, fault: TOO_LONG_LINE }
      if (!this.#isReadable(line)) return { line, fault: { ...NOT_UTF8, isTooLarge } }
      return { line, fault: { reason, place: this.#placeOf(start, place), isTooLarge } }
    }
  }

  #placeOf(start: number, { at, field, isTooLarge }: LineFault['place']): string {
    if (isTooLarge === true) return ''
    const column = `column ${decodeText(this.#text.slice(start, at)).length + 1}`
    return field === undefined ? column : `${shownName(field)}, ${column}`
  }

  /** Where a line's content begins; `undefined` if it is empty or a comment. */
  #firstOf(start: number): number | undefined {
    // Also where files were put one behind another.
    let at = this.#text.startsWith(BYTE_ORDER_MARK, start) ? start + BYTE_ORDER_MARK.length : start
    let code = this.#text.charCodeAt(at)
    while (code === BLANK || code === TAB || code === RETURN || code === NUL) {
      code = this.#text.charCodeAt(++at)
    }
    return Number.isNaN(code) || code === NEW_LINE || code === HASH ? undefined : at
  }

  #endOf(start: number): number {
    const end = this.#text.indexOf('\n', start)
    return end === -1 ? this.#text.length : end
  }

  /**
   * Where an unreadable line ends. One that is too large ends after its strings, whose contents are
   * not lines. Any other ends at its first line break, so that an unclosed quote does not affect
   * its neighbours. Either may cost the body's length once more, at most.
   */
  #endOfFault(start: number, { readTo, isTooLarge, openString }: LineFault['place']): number {
    if (isTooLarge === true) return this.#endBehind(readTo)
    const closed = openString === undefined ? undefined : this.#endOfString(openString)
    if (closed !== undefined) return this.#endBehind(closed)
    const end = this.#endOf(start)
    const reread = readTo - end
    if (reread <= 0) return end
    this.#rereadMax -= reread
    return this.#rereadMax >= 0 ? end : this.#endOf(readTo)
  }

  /** Where the line ends that continues at a position, after its strings. */
  #endBehind(place: number): number {
    let at = place
    let end = this.#endOf(at)
    for (;;) {
      const before = this.#text.slice(at, end).search(BEFORE_STRING)
      const closed = before === -1 ? undefined : this.#endOfString(at + before + '="'.length)
      if (closed === undefined) return end
      if (closed > end) end = this.#endOf(closed)
      at = closed
    }
  }

  /** After the closing quote of a string; `undefined` if none does, judging by what follows it. */
  #endOfString(start: number): number | undefined {
    if (this.#lookMax <= 0) return undefined
    const quote = closingQuote(this.#text, start, this.#text.length)
    if (quote < this.#text.length && mayFollowString(this.#text, quote + 1)) return quote + 1
    this.#lookMax -= quote - start
    return undefined
  }

  #take(start: number, end: number, readTo: number): Line {
    const line = new Line(this.#number, this.#text, start, end)
    for (let at = this.#endOf(start); at < end; at = this.#endOf(at + 1)) this.#number++
    this.bytesRead += readTo - start
    this.#at = end + 1
    return line
  }

  #isReadable(line: Line): boolean {
    return this.#isUtf8 || isUtf8(Buffer.from(line.text, 'latin1'))
  }
}
