// Reads the text of a statement. Keywords in any case, names quoted or not:
//
//   statement    = ( select | show ) [ ';' ]
//   select       = SELECT column { ',' column } FROM measurement [ WHERE condition ] [ group ]
//                  [ FILL '(' ( null | none | previous | number ) ')' ]
//                  [ ORDER BY time [ ASC | DESC ] ] [ LIMIT n ] [ SLIMIT n ] [ TZ '(' 'zone' ')' ]
//   column       = ( function '(' field ')' | field ) [ AS name ]
//   field        = name [ '::field' ]
//   group        = GROUP BY grouping { ',' grouping }
//   grouping     = '*' | TIME '(' duration ')' | name [ '::tag' ]
//   measurement  = [ policy '.' ] name
//   show         = SHOW ( DATABASES | RETENTION POLICIES [ ON name ]
//                | MEASUREMENTS [ WITH MEASUREMENT ( '=' name | '=~' /regex/ ) ]
//                | FIELD KEYS [ from ] | TAG KEYS [ from ]
//                | TAG VALUES [ from ] WITH KEY ( '=' name | IN '(' name { ',' name } ')' ) )
//                [ WHERE condition ] [ LIMIT n ]
//   from         = FROM measurement
//
// Conditions are in condition.ts.

import { isTimeZone } from '../history/local-days.ts'
import { UTC } from '../history/buckets.ts'
import { DAY_MS } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import { EVERYTHING, durationNs, isWord, readCast, readCondition } from './condition.ts'
import type { Where } from './condition.ts'
import { Work } from './limits.ts'
import { compileRegex } from './regex.ts'
import { Scanner, StatementError } from './scanner.ts'
import type { Token } from './scanner.ts'
import { FUNCTIONS, SHOWN, TAGS } from './vocabulary.ts'
import type { Column, Fill, Select, Show, ShowTagValues, Statement } from './statement.ts'
import type { Aggregate } from './vocabulary.ts'

const NS_PER_SECOND = 1_000_000_000n
const DEFAULT_PERIOD_MS = DAY_MS

/** InfluxDB's own time range extends a few months further at both ends. */
const RANGE = { startMs: Date.UTC(1678, 0), stopMs: Date.UTC(2262, 0) }

/** Common attempts that are unsupported, and what to use instead. */
const ARITHMETIC = 'arithmetic is not supported: select fields or functions, compute in the panel'
const NOT_TAKEN: Readonly<Record<string, string>> = {
  '+': ARITHMETIC,
  '-': ARITHMETIC,
  '*': 'only GROUP BY takes *, and arithmetic is not supported: select by name',
  '/': ARITHMETIC,
  into: 'statements only read: leave INTO out',
  offset: 'OFFSET is not supported: use LIMIT and a condition on time',
  soffset: 'SOFFSET is not supported: use SLIMIT and a condition on tags',
}

/**
 * Reads a statement.
 *
 * @param text within `limitStatement`
 * @param nowMs the value of `now()`, and the end of a range without an upper bound
 * @throws StatementError if it is unsupported
 */
export function readStatement(text: string, nowMs: number): Statement {
  return new StatementReader(new Scanner(text), nowMs).statement()
}

class StatementReader {
  readonly #scanner: Scanner
  readonly #nowMs: number

  constructor(scanner: Scanner, nowMs: number) {
    this.#scanner = scanner
    this.#nowMs = nowMs
  }

  statement(): Statement {
    const first = this.#scanner.take()
    const read = { select: () => this.#select(), show: () => this.#show() }
    const word = first.kind === 'word' ? first.text.toLowerCase() : ''
    if (word !== 'select' && word !== 'show') {
      throw new StatementError('expected SELECT or SHOW: statements only read', first.at)
    }
    const statement = read[word]()
    const isEnded = this.#skipMark(';')
    const { next } = this.#scanner
    if (next.kind === 'end') return statement
    if (isEnded) throw new StatementError('one statement at a time', next.at)
    throw this.#unexpected('the end of the statement')
  }

  #select(): Select {
    const columns = named(this.#list(() => this.#column()))
    this.#word('FROM')
    const measurement = this.#measurement()
    const { condition, bounds } = this.#where()
    const { windowMs, tags } = this.#groups()
    return {
      kind: 'select',
      measurement,
      columns,
      where: condition,
      range: rangeOf(bounds, this.#nowMs),
      windowMs,
      tags,
      fill: this.#skipWord('FILL') ? this.#inParentheses(() => this.#fill()) : 'null',
      isDescending: this.#isDescending(),
      limit: this.#limit('LIMIT'),
      seriesLimit: this.#limit('SLIMIT'),
      timeZone: this.#skipWord('TZ') ? this.#inParentheses(() => this.#timeZone()) : UTC,
    }
  }

  #column(): Column {
    const { next } = this.#scanner
    const name = this.#name('a field or a function')
    const isCall = this.#scanner.next.text === '(' && next.kind === 'word'
    const aggregate = isCall ? aggregateOf(next) : undefined
    const field = isCall ? this.#inParentheses(() => this.#field()) : name
    if (!isCall) this.#fieldCast()
    const alias = this.#skipWord('AS') ? this.#name('a name') : undefined
    return { name: alias ?? aggregate ?? field, field, aggregate }
  }

  #field(): string {
    const name = this.#name('a field')
    this.#fieldCast()
    return name
  }

  #fieldCast(): void {
    const { at } = this.#scanner.next
    if (readCast(this.#scanner) === 'tag')
      throw new StatementError('tags cannot be columns: group by them', at)
  }

  #groups(): { windowMs: number | undefined; tags: readonly string[] } {
    if (!this.#skipWord('GROUP')) return { windowMs: undefined, tags: [] }
    this.#word('BY')
    let windowMs: number | undefined
    const tags = new Set<string>()
    this.#list(() => {
      const { next } = this.#scanner
      if (this.#skipMark('*')) return TAGS.forEach((tag) => tags.add(tag))
      const name = this.#name('a tag, * or time(…)')
      if (isWord(next, 'time') && this.#scanner.next.text === '(') {
        if (windowMs !== undefined) throw new StatementError('one time(…) is enough', next.at)
        windowMs = this.#inParentheses(() => this.#windowMs())
        return
      }
      readCast(this.#scanner)
      tags.add(name)
    })
    return { windowMs, tags: [...tags].toSorted() }
  }

  #windowMs(): number {
    const token = this.#scanner.take()
    const ns = durationNs(token)
    const isTaken = token.unit !== '' && ns > 0n && ns % NS_PER_SECOND === 0n
    if (!isTaken || ns > BigInt(RANGE.stopMs) * 1_000_000n) {
      throw new StatementError('time(…) takes whole seconds or more: s, m, h, d or w', token.at)
    }
    if (this.#scanner.next.text === ',') {
      const reason = 'windows start at the epoch: time(…) takes no offset; tz(…) gives local days'
      throw new StatementError(reason, this.#scanner.next.at)
    }
    return Number(ns / 1_000_000n)
  }

  #fill(): Fill {
    const sign = this.#skipMark('-') ? -1 : 1
    const { kind, text, unit, at } = this.#scanner.take()
    if (kind === 'number' && unit === '' && text.length <= 30) return sign * Number(text)
    const word = text.toLowerCase()
    const isKnown = word === 'null' || word === 'none' || word === 'previous'
    if (kind === 'word' && isKnown && sign === 1) return word
    throw new StatementError('fill takes null, none, previous or a number', at)
  }

  #isDescending(): boolean {
    if (!this.#skipWord('ORDER')) return false
    this.#word('BY')
    this.#word('TIME')
    if (this.#skipWord('DESC')) return true
    this.#skipWord('ASC')
    return false
  }

  #limit(word: string): number | undefined {
    if (!this.#skipWord(word)) return undefined
    const { kind, text, unit, at } = this.#scanner.take()
    if (kind === 'number' && unit === '' && /^[0-9]{1,15}$/.test(text)) {
      // As in InfluxDB, 0 means no limit.
      return Number(text) || undefined
    }
    throw new StatementError(`${word} takes a whole number`, at)
  }

  #timeZone(): string {
    const { kind, text, at } = this.#scanner.take()
    if (kind === 'text' && isTimeZone(text)) return text
    throw new StatementError("tz takes an IANA time zone, such as tz('Europe/Berlin')", at)
  }

  #show(): Show | ShowTagValues {
    const first = this.#scanner.take()
    const word = first.kind === 'word' ? first.text.toUpperCase() : ''
    if (word === 'DATABASES') return this.#shown('databases')
    if (word === 'MEASUREMENTS') return this.#measurements()
    if (word === 'RETENTION') return this.#policies()
    if (word === 'FIELD') return this.#keys('field keys')
    if (word === 'TAG' && isWord(this.#scanner.next, 'VALUES')) return this.#tagValues()
    if (word === 'TAG') return this.#keys('tag keys')
    throw new StatementError(`SHOW takes ${SHOWN.join(', ')} …`, first.at)
  }

  #policies(): Show {
    this.#word('POLICIES')
    if (this.#skipWord('ON')) this.#name('a database')
    return this.#shown('retention policies')
  }

  #measurements(): Show {
    const show = this.#skipWord('WITH') ? this.#meant() : () => true
    return this.#shown('measurements', undefined, show)
  }

  #meant(): Show['isMeant'] {
    this.#word('MEASUREMENT')
    if (this.#skipMark('=')) {
      const wanted = this.#name('a measurement')
      return (measurement) => measurement === wanted
    }
    const { text, at } = this.#scanner.take()
    if (text !== '=~') throw new StatementError('expected = or =~', at)
    const { pattern, at: begin } = this.#scanner.takeRegex()
    const test = compileRegex(pattern, begin)
    return (measurement) => test(measurement, new Work())
  }

  #keys(kind: 'field keys' | 'tag keys'): Show {
    this.#word('KEYS')
    return this.#shown(kind, this.#from())
  }

  #shown(kind: Show['kind'], measurement?: string, isMeant: Show['isMeant'] = () => true): Show {
    this.#where()
    return { kind, measurement, isMeant, limit: this.#limit('LIMIT') }
  }

  #tagValues(): ShowTagValues {
    this.#word('VALUES')
    const measurement = this.#from()
    this.#word('WITH')
    this.#word('KEY')
    const keys = this.#tagKeys()
    const { condition: where } = this.#where()
    return { kind: 'tag values', measurement, keys, where, limit: this.#limit('LIMIT') }
  }

  #tagKeys(): readonly string[] {
    const { next } = this.#scanner
    if (this.#skipMark('=')) return [this.#name('a tag')]
    if (this.#skipWord('IN')) {
      return this.#inParentheses(() => this.#list(() => this.#name('a tag')))
    }
    throw new StatementError('WITH KEY takes = "tag" or IN ("tag", …)', next.at)
  }

  #from(): string | undefined {
    return this.#skipWord('FROM') ? this.#measurement() : undefined
  }

  #measurement(): string {
    const { next } = this.#scanner
    if (next.text === '(' && next.kind === 'mark') {
      const reason = 'sub-queries are not supported: name a measurement, temperature or sensor'
      throw new StatementError(reason, next.at)
    }
    const name = this.#name('a measurement, temperature or sensor')
    return this.#skipMark('.') ? this.#name('a measurement') : name
  }

  #where(): Where {
    if (this.#skipWord('WHERE')) return readCondition(this.#scanner, this.#nowMs)
    return { condition: EVERYTHING, bounds: { startMs: -Infinity, stopMs: Infinity } }
  }

  #list<T>(read: () => T): T[] {
    const items = [read()]
    while (this.#skipMark(',')) items.push(read())
    return items
  }

  #inParentheses<T>(read: () => T): T {
    if (!this.#skipMark('(')) throw this.#unexpected('(')
    const inside = read()
    if (!this.#skipMark(')')) throw this.#unexpected(')')
    return inside
  }

  #name(what: string): string {
    const { kind } = this.#scanner.next
    if (kind !== 'word' && kind !== 'name') throw this.#unexpected(what)
    return this.#scanner.take().text
  }

  #word(word: string): void {
    if (!this.#skipWord(word)) throw this.#unexpected(word)
  }

  #skipWord(word: string): boolean {
    const isNext = isWord(this.#scanner.next, word)
    if (isNext) this.#scanner.take()
    return isNext
  }

  #skipMark(mark: string): boolean {
    const { kind, text } = this.#scanner.next
    const isNext = kind === 'mark' && text === mark
    if (isNext) this.#scanner.take()
    return isNext
  }

  #unexpected(expected: string): StatementError {
    const { kind, text, at } = this.#scanner.next
    const known = text.toLowerCase()
    const isKnown = (kind === 'mark' || kind === 'word') && Object.hasOwn(NOT_TAKEN, known)
    if (isKnown) return new StatementError(NOT_TAKEN[known] ?? '', at)
    const found =
      kind === 'end' ? 'the statement ends' : `it says ${JSON.stringify(text.slice(0, 32))}`
    return new StatementError(`expected ${expected}, but ${found}`, at)
  }
}

function aggregateOf({ text, at }: Token): Aggregate {
  const aggregate = FUNCTIONS.find((name) => name === text.toLowerCase())
  if (aggregate !== undefined) return aggregate
  const known = `use ${FUNCTIONS.join(', ')}`
  throw new StatementError(`${text.slice(0, 32)} is not a supported function: ${known}`, at)
}

/** Repeated column names get `_1`, `_2`, … */
function named(columns: readonly Column[]): readonly Column[] {
  const isCalling = columns.filter(({ aggregate }) => aggregate !== undefined).length
  if (isCalling > 0 && isCalling < columns.length) {
    throw new StatementError('fields and functions cannot be mixed: select one or the other')
  }
  const seen = new Map<string, number>()
  return columns.map((column) => {
    const before = seen.get(column.name) ?? 0
    seen.set(column.name, before + 1)
    return before === 0 ? column : { ...column, name: `${column.name}_${before}` }
  })
}

/** Defaults: from 24 hours before the upper bound, until now. */
function rangeOf(bounds: TimeRange, nowMs: number): TimeRange {
  const stopMs = Math.min(bounds.stopMs === Infinity ? nowMs + 1 : bounds.stopMs, RANGE.stopMs)
  const startMs = bounds.startMs === -Infinity ? stopMs - DEFAULT_PERIOD_MS : bounds.startMs
  return { startMs: Math.max(startMs, RANGE.startMs), stopMs }
}
