// Reads the text of statements. Keywords in any case, names quoted or not:
//
//   statements   = statement { ';' statement } [ ';' ]
//   statement    = SELECT select | SHOW show
//
// What follows the first word is in read-select.ts and read-show.ts.

import { statementsMax } from './limits.ts'
import { readSelect } from './read-select.ts'
import { readShow } from './read-show.ts'
import { Scanner, StatementError } from './scanner.ts'
import type { Statement } from './statement.ts'

/**
 * Reads one statement or several.
 *
 * @param text within `limitStatement`
 * @param nowMs the value of `now()`, and the end of a range without an upper bound
 * @throws StatementError if one is unsupported
 */
export function readStatements(text: string, nowMs: number): readonly Statement[] {
  const scanner = new Scanner(text)
  const statements: Statement[] = []
  do {
    if (statements.length === statementsMax) {
      const reason = `at most ${statementsMax} statements at a time: ask for the others apart`
      throw new StatementError(reason, scanner.next.at)
    }
    statements.push(readStatement(scanner, nowMs))
  } while (isAnotherNext(scanner))
  return statements
}

function isAnotherNext(scanner: Scanner): boolean {
  const isEnded = scanner.skipMark(';')
  while (scanner.skipMark(';'));
  if (scanner.next.kind === 'end') return false
  if (isEnded) return true
  throw scanner.unexpected('the end of the statement')
}

function readStatement(scanner: Scanner, nowMs: number): Statement {
  const { next } = scanner
  if (scanner.skipWord('SELECT')) return readSelect(scanner, nowMs)
  if (scanner.skipWord('SHOW')) return readShow(scanner, nowMs)
  throw new StatementError('expected SELECT or SHOW: statements only read', next.at)
}
