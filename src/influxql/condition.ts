// WHERE: selects sensors by their tags, and a time range.
//
//   condition  = all { OR all }
//   all        = one { AND one }
//   one        = '(' condition ')' | time | tag
//   time       = TIME ( '>=' | '>' | '<=' | '<' | '=' ) instant
//   instant    = 1795308321165ms | '2026-11-20T10:15:00Z' | now() | now() - 1h | now() + 1h
//   tag        = name [ '::tag' ] ( ( '=' | '!=' | '<>' ) 'text' | ( '=~' | '!~' ) /regex/ )

import { parseInstant } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import { CONDITION_WORK } from './limits.ts'
import type { Work } from './limits.ts'
import { compileRegex } from './regex.ts'
import type { TextTest } from './regex.ts'
import { StatementError, isMark, isWord } from './scanner.ts'
import type { Scanner, Token } from './scanner.ts'
import { MEASUREMENTS, isTag } from './vocabulary.ts'
import type { Tag, Tags } from './vocabulary.ts'

/** Neither people nor Grafana nest conditions deeper than this. */
const DEPTH_MAX = 64

/** Whether it selects a sensor with these tags. */
export type Condition = (tags: Tags, work: Work) => boolean

export const EVERYTHING: Condition = () => true
const NOTHING: Condition = () => false

export interface Where {
  readonly condition: Condition
  /** `±Infinity`: unbounded on that side. */
  readonly bounds: TimeRange
}

/** A part of a condition. `time` is `undefined` if it does not restrict time. */
interface Part extends Where {
  readonly time: Token | undefined
}

const ALWAYS: TimeRange = { startMs: -Infinity, stopMs: Infinity }
const NS_PER_MS = 1_000_000n

const UNIT_NS: Readonly<Record<string, bigint>> = {
  '': 1n,
  ns: 1n,
  u: 1_000n,
  us: 1_000n,
  µ: 1_000n,
  ms: NS_PER_MS,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
  w: 604_800_000_000_000n,
}

const FIELDS = new Set(Object.values(MEASUREMENTS).flatMap((fields) => Object.keys(fields)))

/** Reads a condition. @throws StatementError if it is unsupported */
export function readCondition(scanner: Scanner, nowMs: number): Where {
  return new ConditionReader(scanner, nowMs).either(0)
}

/** Nanoseconds of a duration. @throws StatementError if it is not a duration */
export function durationNs({ text, unit, at }: Token): bigint {
  const factor = UNIT_NS[unit]
  if (factor === undefined || !/^[0-9]{1,30}$/.test(text)) {
    const units = Object.keys(UNIT_NS).filter((name) => name !== '')
    throw new StatementError(`expected a duration in ${units.join(', ')}, such as 1h`, at)
  }
  return BigInt(text) * factor
}

class ConditionReader {
  readonly #scanner: Scanner
  readonly #nowMs: number

  constructor(scanner: Scanner, nowMs: number) {
    this.#scanner = scanner
    this.#nowMs = nowMs
  }

  either(depth: number): Part {
    const parts = this.#several('OR', () => this.#all(depth))
    const [first] = parts
    if (parts.length === 1 && first !== undefined) return first
    const timed = parts.find(({ time }) => time !== undefined)
    if (timed?.time !== undefined) {
      const reason = 'combine time conditions with AND: time next to OR is not supported'
      throw new StatementError(reason, timed.time.at)
    }
    const conditions = parts.map(counted)
    const condition: Condition = (tags, work) => conditions.some((part) => part(tags, work))
    return { condition, bounds: ALWAYS, time: undefined }
  }

  #all(depth: number): Part {
    const parts = this.#several('AND', () => this.#one(depth))
    const [first] = parts
    if (parts.length === 1 && first !== undefined) return first
    const conditions = parts.map(counted)
    return {
      condition: (tags, work) => conditions.every((part) => part(tags, work)),
      bounds: {
        startMs: parts.reduce((most, { bounds }) => Math.max(most, bounds.startMs), -Infinity),
        stopMs: parts.reduce((least, { bounds }) => Math.min(least, bounds.stopMs), Infinity),
      },
      time: parts.find(({ time }) => time !== undefined)?.time,
    }
  }

  #several(word: 'AND' | 'OR', read: () => Part): Part[] {
    const parts = [read()]
    while (this.#scanner.skipWord(word)) parts.push(read())
    return parts
  }

  #one(depth: number): Part {
    const token = this.#scanner.take()
    if (isMark(token, '(')) {
      if (depth === DEPTH_MAX) throw new StatementError('the parentheses are too deep', token.at)
      const inside = this.either(depth + 1)
      const close = this.#scanner.take()
      if (close.text !== ')') throw new StatementError('expected )', close.at)
      return inside
    }
    if (token.kind !== 'word' && token.kind !== 'name') {
      throw new StatementError('expected a condition: a tag, time or (', token.at)
    }
    return token.text.toLowerCase() === 'time' ? this.#time(token) : this.#tag(token)
  }

  #time(time: Token): Part {
    const operator = this.#scanner.take()
    const ns = this.#instantNs()
    const [before, after] = [ceilMs(ns), ceilMs(ns + 1n)]
    const bounds: Readonly<Record<string, TimeRange>> = {
      '>=': { startMs: before, stopMs: Infinity },
      '>': { startMs: after, stopMs: Infinity },
      '<': { startMs: -Infinity, stopMs: before },
      '<=': { startMs: -Infinity, stopMs: after },
      '=': { startMs: before, stopMs: after },
    }
    const found = Object.hasOwn(bounds, operator.text) ? bounds[operator.text] : undefined
    if (found === undefined)
      throw new StatementError('time is compared with >=, >, <=, < or =', operator.at)
    return { condition: EVERYTHING, bounds: found, time }
  }

  #instantNs(): bigint {
    const token = this.#scanner.take()
    if (token.kind === 'number') return durationNs(token)
    const atMs = token.kind === 'text' ? parseInstant(token.text) : undefined
    if (atMs !== undefined) return BigInt(atMs) * NS_PER_MS
    if (!isWord(token, 'now')) {
      const forms = "1795308321165ms, '2026-11-20T10:15:00Z' or now() - 1h"
      throw new StatementError(`expected a time, such as ${forms}`, token.at)
    }
    for (const mark of '()') {
      const { text, at } = this.#scanner.take()
      if (text !== mark) throw new StatementError('expected now()', at)
    }
    return BigInt(this.#nowMs) * NS_PER_MS + this.#offsetNs()
  }

  #offsetNs(): bigint {
    const { kind, text } = this.#scanner.next
    if (kind !== 'mark' || (text !== '-' && text !== '+')) return 0n
    this.#scanner.take()
    const ns = durationNs(this.#scanner.take())
    return text === '-' ? -ns : ns
  }

  #tag(name: Token): Part {
    const cast = readCast(this.#scanner)
    const isField = cast === 'field' || (cast === undefined && FIELDS.has(name.text))
    if (isField) {
      const reason = `conditions are on time and tags: ${name.text} is a field`
      throw new StatementError(reason, name.at)
    }
    const test = this.#test()
    // An unknown tag selects no series.
    const condition = isTag(name.text) ? conditionOn(name.text, test) : NOTHING
    return { condition, bounds: ALWAYS, time: undefined }
  }

  #test(): TextTest {
    const { kind, text: operator, at } = this.#scanner.take()
    const isRegex = operator === '=~' || operator === '!~'
    if (kind !== 'mark' || !(isRegex || ['=', '!=', '<>'].includes(operator))) {
      throw new StatementError('a tag is compared with =, !=, =~ or !~', at)
    }
    const isNegated = operator !== '=' && operator !== '=~'
    const matches = isRegex ? this.#regex() : this.#text()
    return isNegated ? (text, work) => !matches(text, work) : matches
  }

  #regex(): TextTest {
    const { pattern, at } = this.#scanner.takeRegex()
    return compileRegex(pattern, at)
  }

  #text(): TextTest {
    const wanted = this.#scanner.take()
    if (wanted.kind === 'text') return (text) => text === wanted.text
    throw new StatementError("a tag is compared with a text in '…'", wanted.at)
  }
}

/** `::tag`, `::field` or nothing after a name. */
export function readCast(scanner: Scanner): 'tag' | 'field' | undefined {
  if (!scanner.skipMark('::')) return undefined
  const { kind, text, at } = scanner.take()
  const cast = text.toLowerCase()
  if (kind === 'word' && (cast === 'tag' || cast === 'field')) return cast
  throw new StatementError('expected ::tag or ::field', at)
}

/** One of several conditions: each counts as work, however short it is. */
function counted({ condition }: Part): Condition {
  return (tags, work) => {
    work.add(CONDITION_WORK)
    return condition(tags, work)
  }
}

function conditionOn(tag: Tag, test: TextTest): Condition {
  return (tags, work) => test(tags[tag], work)
}

function ceilMs(ns: bigint): number {
  const ms = ns / NS_PER_MS
  return Number(ms * NS_PER_MS < ns ? ms + 1n : ms)
}
