// Regular expressions in linear time. An alternation of plain texts, which Grafana makes of a
// variable with several values, becomes a set and may be as long as the statement. Anything else
// runs on RE2's engine, where the work is pattern length times text length.

import { RE2JS } from 're2js'
import type { Work } from './limits.ts'
import { StatementError } from './scanner.ts'

const PATTERN_CHARACTERS_MAX = 1_000

/** Possible uses of RE2 syntax beyond the supported part; a class is skipped whole. */
const NOT_TAKEN = /\[(?:[^\]\\]|\\[^])*\]?|\\[^]|\(\?:|\(\?|\{|\}/g
const TAKEN = /^(\[|\\[dswDSW\W_]|\(\?:)/
const IGNORE_CASE = '(?i)'

/** Plain and escaped characters. */
const PLAIN = /^(?:[^\\^$.|?*+()[\]{}]|\\[\W_])*$/
/** Splits at each unescaped bar. */
const ALTERNATIVES = /(?:[^\\|]|\\[^])+|(?<=\|)(?=\||$)|^(?=\|)/g

export type TextTest = (text: string, work: Work) => boolean

/**
 * @param at its position in the statement
 * @throws StatementError if it is unsupported
 */
export function compileRegex(pattern: string, at: number): TextTest {
  return plainAlternation(pattern) ?? compiled(pattern, at)
}

function compiled(pattern: string, at: number): TextTest {
  if (pattern.length > PATTERN_CHARACTERS_MAX) {
    const most = `a regular expression has at most ${PATTERN_CHARACTERS_MAX} characters`
    throw new StatementError(`${most}, unless it is an alternation of plain texts, ^(a|b|c)$`, at)
  }
  const isCaseIgnored = pattern.startsWith(IGNORE_CASE)
  const body = isCaseIgnored ? pattern.slice(IGNORE_CASE.length) : pattern
  refuseWhatIsNotTaken(body, at + pattern.length - body.length)
  const regex = parsed(body, isCaseIgnored ? RE2JS.CASE_INSENSITIVE : 0, at)
  return (text, work) => {
    work.add(pattern.length * (text.length + 1))
    return regex.matcher(text).find()
  }
}

function parsed(body: string, flags: number, at: number): RE2JS {
  try {
    return RE2JS.compile(body, flags)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StatementError(`the regular expression cannot be read: ${reason}`, at)
  }
}

function refuseWhatIsNotTaken(body: string, at: number): void {
  for (const { 0: found, index } of body.matchAll(NOT_TAKEN)) {
    if (TAKEN.test(found)) continue
    const there =
      'alternatives, groups, escaped characters, classes, ., *, +, ? and the anchors ^ and $'
    throw new StatementError(`${found} is not supported: use ${there}`, at + index)
  }
}

function plainAlternation(pattern: string): TextTest | undefined {
  const [, start = '', inside = '', end = ''] = /^(\^?)([^]*?)(\$?)$/.exec(pattern) ?? []
  const isGroup = inside.startsWith('(') && inside.endsWith(')')
  const alternatives = isGroup ? inside.slice(1, -1) : inside
  const isOne = isGroup || !alternatives.includes('|')
  // ^a|b$ is ^a or b$.
  if (!isOne && (start !== '' || end !== '')) return undefined
  const parts = alternatives.match(ALTERNATIVES) ?? ['']
  if (inside.endsWith('\\') || !parts.every((part) => PLAIN.test(part))) return undefined
  const texts = parts.map((part) => part.replaceAll(/\\([^])/g, '$1'))
  return testOf(texts, { isStart: start !== '', isEnd: end !== '' })
}

function testOf(
  texts: readonly string[],
  { isStart, isEnd }: { readonly isStart: boolean; readonly isEnd: boolean },
): TextTest {
  if (isStart && isEnd) {
    const set = new Set(texts)
    return (text) => set.has(text)
  }
  const characters = texts.reduce((sum, { length }) => sum + length, texts.length)
  return (text, work) => {
    work.add(isStart || isEnd ? characters : characters * (text.length + 1))
    if (isStart) return texts.some((part) => text.startsWith(part))
    if (isEnd) return texts.some((part) => text.endsWith(part))
    return texts.some((part) => text.includes(part))
  }
}
