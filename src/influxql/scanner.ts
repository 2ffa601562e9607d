// Splits the text of statements into words, names, texts, numbers and marks, in linear time; reads
// what all parts of the grammar have; and the error that names a place in it.

export type TokenKind = 'word' | 'name' | 'text' | 'number' | 'mark' | 'end'

export interface Token {
  readonly kind: TokenKind
  /** The value, without quotes and escapes. */
  readonly text: string
  /** Follows a number. */
  readonly unit: string
  readonly at: number
}

/** Common attempts that are unsupported, and what to use instead. */
export const ARITHMETIC =
  'arithmetic is field * number + number, also with / and -, of a field or a function: ' +
  'compute anything else in the panel'
const NOT_TAKEN: Readonly<Record<string, string>> = {
  '+': ARITHMETIC,
  '-': ARITHMETIC,
  '*': ARITHMETIC,
  '/': ARITHMETIC,
  into: 'statements only read: leave INTO out',
  offset: 'OFFSET is not supported: use LIMIT and a condition on time',
  soffset: 'SOFFSET is not supported: use SLIMIT and a condition on tags',
}

/** A statement that is unsupported; the message is for the person who wrote it. */
export class StatementError extends Error {
  /** @param at position in the statement, from 0; `undefined`: the whole statement */
  constructor(reason: string, at?: number) {
    super(at === undefined ? reason : `at character ${at + 1}: ${reason}`)
    this.name = 'StatementError'
  }
}

/** Of a number: nobody writes more, and 10 to their power is far from the highest double. */
const NUMBER_CHARACTERS_MAX = 30

const SPACE = /\s*/y
const TOKEN = new RegExp(
  [
    /(?<word>[A-Za-z_][A-Za-z0-9_]*)/,
    /"(?<name>(?:[^"\\]|\\[^])*)"/,
    /'(?<text>(?:[^'\\]|\\[^])*)'/,
    /(?<number>[0-9]+(?:\.[0-9]+)?)(?<unit>[A-Za-zµ]*)/,
    /(?<mark>::|=~|!~|!=|<>|<=|>=|[=<>(),.;*+\-/])/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'y',
)
const REGEX = /\/((?:[^/\\\n]|\\[^\n])*)\//y

export class Scanner {
  readonly #source: string
  #at = 0
  #next: Token

  constructor(source: string) {
    this.#source = source
    this.#next = this.#scan()
  }

  get next(): Token {
    return this.#next
  }

  take(): Token {
    const token = this.#next
    this.#next = this.#scan()
    return token
  }

  /** Reads a regular expression: a slash begins one only where one is expected. */
  takeRegex(): { readonly pattern: string; readonly at: number } {
    const { at } = this.#next
    REGEX.lastIndex = at
    const found = REGEX.exec(this.#source)
    if (found === null) throw new StatementError('expected a regular expression, /…/', at)
    this.#at = REGEX.lastIndex
    this.#next = this.#scan()
    return { pattern: (found[1] ?? '').replaceAll('\\/', '/'), at: at + 1 }
  }

  /** A number that may have a sign, `undefined` if it is something else. */
  takeNumber(): number | undefined {
    const sign = this.skipMark('-') ? -1 : 1
    const { kind, text, unit } = this.take()
    const isNumber = kind === 'number' && unit === '' && text.length <= NUMBER_CHARACTERS_MAX
    return isNumber ? sign * Number(text) : undefined
  }

  list<T>(read: () => T): T[] {
    const items = [read()]
    while (this.skipMark(',')) items.push(read())
    return items
  }

  inParentheses<T>(read: () => T): T {
    this.mark('(')
    const inside = read()
    this.mark(')')
    return inside
  }

  name(what: string): string {
    const { kind } = this.#next
    if (kind !== 'word' && kind !== 'name') throw this.unexpected(what)
    return this.take().text
  }

  word(word: string): void {
    if (!this.skipWord(word)) throw this.unexpected(word)
  }

  mark(mark: string): void {
    if (!this.skipMark(mark)) throw this.unexpected(mark)
  }

  skipWord(word: string): boolean {
    const isNext = isWord(this.#next, word)
    if (isNext) this.take()
    return isNext
  }

  skipMark(mark: string): boolean {
    const isNext = isMark(this.#next, mark)
    if (isNext) this.take()
    return isNext
  }

  unexpected(expected: string): StatementError {
    const { kind, text, at } = this.#next
    const known = text.toLowerCase()
    const isKnown = (kind === 'mark' || kind === 'word') && Object.hasOwn(NOT_TAKEN, known)
    if (isKnown) return new StatementError(NOT_TAKEN[known] ?? '', at)
    const found =
      kind === 'end' ? 'the statement ends' : `it says ${JSON.stringify(text.slice(0, 32))}`
    return new StatementError(`expected ${expected}, but ${found}`, at)
  }

  #scan(): Token {
    this.#skipSpace()
    const at = this.#at
    if (at === this.#source.length) return { kind: 'end', text: '', unit: '', at }
    TOKEN.lastIndex = at
    const groups = TOKEN.exec(this.#source)?.groups
    if (groups === undefined) {
      const strange = String.fromCodePoint(this.#source.codePointAt(at) ?? 0)
      throw new StatementError(`unexpected ${JSON.stringify(strange)}`, at)
    }
    this.#at = TOKEN.lastIndex
    const { word, name, text, number, mark, unit = '' } = groups
    if (word !== undefined) return { kind: 'word', text: word, unit, at }
    if (name !== undefined) return { kind: 'name', text: unescaped(name, at), unit, at }
    if (text !== undefined) return { kind: 'text', text: unescaped(text, at), unit, at }
    if (number !== undefined) return { kind: 'number', text: number, unit, at }
    return { kind: 'mark', text: mark ?? '', unit, at }
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#at
    SPACE.exec(this.#source)
    this.#at = SPACE.lastIndex
  }
}

export function isWord({ kind, text }: Token, word: string): boolean {
  return kind === 'word' && text.toLowerCase() === word.toLowerCase()
}

export function isMark({ kind, text }: Token, mark: string): boolean {
  return kind === 'mark' && text === mark
}

function unescaped(text: string, at: number): string {
  return text.replaceAll(/\\([^])/g, (_whole, escaped: string) => {
    if (escaped === 'n') return '\n'
    if (!`\\'"`.includes(escaped)) {
      throw new StatementError(`\\${escaped} is unknown: use \\\\, \\', \\" or \\n`, at)
    }
    return escaped
  })
}
