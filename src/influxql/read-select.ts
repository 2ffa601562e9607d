// SELECT, after its first word:
//
//   select       = column { ',' column } FROM measurement [ WHERE condition ] [ group ]
//                  [ FILL '(' ( null | none | previous | number ) ')' ]
//                  [ ORDER BY time [ ASC | DESC ] ] [ LIMIT n ] [ SLIMIT n ] [ TZ '(' 'zone' ')' ]
//   column       = operand [ ( '*' | '/' ) number ] [ ( '+' | '-' ) number ] [ AS name ]
//   operand      = field | function | MOVING_AVERAGE '(' function ',' n ')'
//   function     = name '(' field ')'
//   field        = name [ '::field' ]
//   group        = GROUP BY grouping { ',' grouping }
//   grouping     = '*' | TIME '(' duration ')' | name [ '::tag' ]

import { isTimeZone } from '../history/local-days.ts'
import { UTC } from '../history/buckets.ts'
import { DAY_MS, EVER } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import { readLimit, readMeasurement, readWhere } from './clauses.ts'
import { durationNs, readCast } from './condition.ts'
import { columnsMax, movingWindowsMax, nameCharactersMax } from './limits.ts'
import { ARITHMETIC, StatementError, isMark, isWord } from './scanner.ts'
import type { Scanner, Token } from './scanner.ts'
import { selectorOf } from './statement.ts'
import type { Column, Fill, Select } from './statement.ts'
import { FUNCTIONS, MOVING_AVERAGE, TAGS, isTag } from './vocabulary.ts'
import type { Aggregate } from './vocabulary.ts'

const NS_PER_SECOND = 1_000_000_000n

/** InfluxDB's own time range extends a few months further at both ends. */
const RANGE = { startMs: Date.UTC(1678, 0), stopMs: Date.UTC(2262, 0) }

const FILLS = ['null', 'none', 'previous'] as const

type Operation = (value: number, by: number) => number
const SCALES: ReadonlyMap<string, Operation> = new Map([
  ['*', (value, by) => value * by],
  ['/', (value, by) => value / by],
])
const SHIFTS: ReadonlyMap<string, Operation> = new Map([
  ['+', (value, by) => value + by],
  ['-', (value, by) => value - by],
])

/**
 * @param nowMs the value of `now()`, and the end of a range without an upper bound
 * @throws StatementError if it is unsupported
 */
export function readSelect(scanner: Scanner, nowMs: number): Select {
  return new SelectReader(scanner, nowMs).select()
}

interface Grouping {
  readonly windowMs: number | undefined
  readonly tags: readonly string[]
}

class SelectReader {
  readonly #scanner: Scanner
  readonly #nowMs: number

  constructor(scanner: Scanner, nowMs: number) {
    this.#scanner = scanner
    this.#nowMs = nowMs
  }

  select(): Select {
    const columns = named(this.#scanner.list(() => this.#column()))
    this.#scanner.word('FROM')
    const measurement = readMeasurement(this.#scanner)
    const { condition: where, bounds } = readWhere(this.#scanner, this.#nowMs)
    const grouping = this.#groups()
    refuseWindowsOfNothing(columns, grouping)
    const isNewest = selectorOf({ columns, ...grouping }) === 'last'
    return {
      kind: 'select',
      measurement,
      columns,
      where,
      range: rangeOf(bounds, this.#nowMs, isNewest),
      isLastDay: bounds.startMs === -Infinity && !isNewest,
      ...grouping,
      fill: this.#skipCall('FILL', () => this.#fill()) ?? 'null',
      isDescending: this.#isDescending(),
      limit: readLimit(this.#scanner, 'LIMIT'),
      seriesLimit: readLimit(this.#scanner, 'SLIMIT'),
      timeZone: this.#skipCall('TZ', () => this.#timeZone()) ?? UTC,
    }
  }

  #column(): Column {
    const operand = this.#operand()
    const scale = this.#operation(SCALES)
    const shift = this.#operation(SHIFTS)
    const name = this.#scanner.skipWord('AS') ? this.#alias() : operand.name
    return { ...operand, name, compute: (value) => shift(scale(value)) }
  }

  #alias(): string {
    const { at } = this.#scanner.next
    const name = this.#scanner.name('a name')
    if (name.length <= nameCharactersMax) return name
    throw new StatementError(`a name has at most ${nameCharactersMax} characters`, at)
  }

  #operand(): Omit<Column, 'compute'> {
    const first = this.#scanner.next
    if (first.kind === 'number') throw new StatementError(ARITHMETIC, first.at)
    const name = this.#fieldName('a field or a function')
    if (first.kind !== 'word' || !isMark(this.#scanner.next, '(')) {
      const field = this.#castField(name, first)
      return { name, field, aggregate: undefined, movingWindows: undefined }
    }
    if (!isWord(first, MOVING_AVERAGE)) return this.#function(first)
    return this.#scanner.inParentheses(() => {
      const inner = this.#scanner.take()
      const averaged = this.#function(inner)
      this.#scanner.mark(',')
      return { ...averaged, name: MOVING_AVERAGE, movingWindows: this.#movingWindows() }
    })
  }

  #function(name: Token): Omit<Column, 'compute'> {
    const aggregate = aggregateOf(name)
    const field = this.#scanner.inParentheses(() => {
      const { next } = this.#scanner
      return this.#castField(this.#fieldName('a field'), next)
    })
    return { name: aggregate, field, aggregate, movingWindows: undefined }
  }

  #fieldName(what: string): string {
    const { next } = this.#scanner
    if (isMark(next, '*')) {
      throw new StatementError('only GROUP BY takes *: select by name', next.at)
    }
    return this.#scanner.name(what)
  }

  /** The name, which may be followed by `::field`. */
  #castField(name: string, { at }: Token): string {
    const cast = readCast(this.#scanner)
    if (cast === 'tag' || (cast === undefined && isTag(name))) {
      throw new StatementError('tags cannot be columns: group by them', at)
    }
    return name
  }

  #movingWindows(): number {
    const { at } = this.#scanner.next
    const windows = this.#scanner.takeNumber()
    if (Number.isInteger(windows) && windows! > 1 && windows! <= movingWindowsMax) return windows!
    const most = `${MOVING_AVERAGE} takes a function and from 2 to ${movingWindowsMax} windows`
    throw new StatementError(`${most}, such as ${MOVING_AVERAGE}(mean("temp"), 5)`, at)
  }

  #operation(operations: ReadonlyMap<string, Operation>): (value: number) => number {
    const { kind, text, at } = this.#scanner.next
    const operation = kind === 'mark' ? operations.get(text) : undefined
    if (operation === undefined) return (value) => value
    this.#scanner.take()
    const by = this.#scanner.takeNumber()
    if (by === undefined) throw new StatementError(ARITHMETIC, at)
    if (text === '/' && by === 0) throw new StatementError('nothing is divided by 0', at)
    return (value) => operation(value, by)
  }

  #groups(): Grouping {
    if (!this.#scanner.skipWord('GROUP')) return { windowMs: undefined, tags: [] }
    this.#scanner.word('BY')
    let windowMs: number | undefined
    const tags = new Set<string>()
    this.#scanner.list(() => {
      const { next } = this.#scanner
      if (this.#scanner.skipMark('*')) return TAGS.forEach((tag) => tags.add(tag))
      const name = this.#scanner.name('a tag, * or time(…)')
      if (isWord(next, 'time') && isMark(this.#scanner.next, '(')) {
        if (windowMs !== undefined) throw new StatementError('one time(…) is enough', next.at)
        windowMs = this.#scanner.inParentheses(() => this.#windowMs())
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
    if (isMark(this.#scanner.next, ',')) {
      const reason = 'windows start at the epoch: time(…) takes no offset; tz(…) gives local days'
      throw new StatementError(reason, this.#scanner.next.at)
    }
    return Number(ns / 1_000_000n)
  }

  #fill(): Fill {
    const { at } = this.#scanner.next
    const fill = FILLS.find((word) => this.#scanner.skipWord(word)) ?? this.#scanner.takeNumber()
    if (fill !== undefined) return fill
    throw new StatementError('fill takes null, none, previous or a number', at)
  }

  #isDescending(): boolean {
    if (!this.#scanner.skipWord('ORDER')) return false
    this.#scanner.word('BY')
    this.#scanner.word('TIME')
    if (this.#scanner.skipWord('DESC')) return true
    this.#scanner.skipWord('ASC')
    return false
  }

  #timeZone(): string {
    const { kind, text, at } = this.#scanner.take()
    if (kind === 'text' && isTimeZone(text)) return text
    throw new StatementError("tz takes an IANA time zone, such as tz('Europe/Berlin')", at)
  }

  #skipCall<T>(word: string, read: () => T): T | undefined {
    return this.#scanner.skipWord(word) ? this.#scanner.inParentheses(read) : undefined
  }
}

function aggregateOf({ kind, text, at }: Token): Aggregate {
  const aggregate = FUNCTIONS.find((name) => name === text.toLowerCase())
  if (kind === 'word' && aggregate !== undefined) return aggregate
  const known = `use ${FUNCTIONS.join(', ')} or ${MOVING_AVERAGE}`
  throw new StatementError(`${text.slice(0, 32)} is not a supported function: ${known}`, at)
}

/** Repeated column names get `_1`, `_2`, … */
function named(columns: readonly Column[]): readonly Column[] {
  const isCalling = columns.filter(({ aggregate }) => aggregate !== undefined).length
  if (isCalling > 0 && isCalling < columns.length) {
    throw new StatementError('fields and functions cannot be mixed: select one or the other')
  }
  if (columns.length > columnsMax) {
    const counted = `${columns.length} fields or functions, at most ${columnsMax}`
    throw new StatementError(`${counted}: ask for the others in another statement`)
  }
  const seen = new Map<string, number>()
  return columns.map((column) => {
    const before = seen.get(column.name) ?? 0
    seen.set(column.name, before + 1)
    return before === 0 ? column : { ...column, name: `${column.name}_${before}` }
  })
}

function refuseWindowsOfNothing(columns: readonly Column[], { windowMs }: Grouping): void {
  const isRaw = columns.some(({ aggregate }) => aggregate === undefined)
  if (isRaw && windowMs !== undefined) {
    throw new StatementError('GROUP BY requires at least one aggregate function, such as mean')
  }
  const isMoving = columns.some(({ movingWindows }) => movingWindows !== undefined)
  if (isMoving && windowMs === undefined) {
    throw new StatementError(`${MOVING_AVERAGE} averages windows: GROUP BY time(…)`)
  }
}

/**
 * Defaults: from 24 hours before the upper bound, until now.
 *
 * @param isNewest from the beginning of time
 */
function rangeOf(bounds: TimeRange, nowMs: number, isNewest: boolean): TimeRange {
  const stopMs = inRange(bounds.stopMs === Infinity ? nowMs + 1 : bounds.stopMs)
  const earliestMs = isNewest ? EVER.startMs : stopMs - DAY_MS
  return { startMs: inRange(bounds.startMs === -Infinity ? earliestMs : bounds.startMs), stopMs }
}

function inRange(atMs: number): number {
  return Math.min(Math.max(atMs, RANGE.startMs), RANGE.stopMs)
}
