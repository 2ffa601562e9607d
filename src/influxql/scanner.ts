// Splits the text of a statement into words, names, texts, numbers and marks, in linear time; and
// the error that names a place in it.

export type TokenKind = 'word' | 'name' | 'text' | 'number' | 'mark' | 'end'

export interface Token {
  readonly kind: TokenKind
  /** The value, without quotes and escapes. */
  readonly text: string
  /** Follows a number. */
  readonly unit: string
  readonly at: number
}

/** A statement that is unsupported; the message is for the person who wrote it. */
export class StatementError extends Error {
  /** @param at position in the statement, from 0; `undefined`: the whole statement */
  constructor(reason: string, at?: number) {
    super(at === undefined ? reason : `at character ${at + 1}: ${reason}`)
    this.name = 'StatementError'
  }
}

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

function unescaped(text: string, at: number): string {
  return text.replaceAll(/\\([^])/g, (_whole, escaped: string) => {
    if (escaped === 'n') return '\n'
    if (!`\\'"`.includes(escaped)) {
      throw new StatementError(`\\${escaped} is unknown: use \\\\, \\', \\" or \\n`, at)
    }
    return escaped
  })
}
