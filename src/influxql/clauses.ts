// What several statements have: a measurement, a condition, a limit.

import { EVERYTHING, readCondition } from './condition.ts'
import type { Where } from './condition.ts'
import { StatementError, isMark } from './scanner.ts'
import type { Scanner } from './scanner.ts'

const MEASUREMENT = 'a measurement, temperature or sensor'

/** `[ policy '.' ] name` */
export function readMeasurement(scanner: Scanner): string {
  const { next } = scanner
  if (isMark(next, '(')) {
    throw new StatementError(`sub-queries are not supported: name ${MEASUREMENT}`, next.at)
  }
  if (isMark(next, '/')) {
    const reason = `a regular expression cannot be a measurement: name temperature or sensor`
    throw new StatementError(reason, next.at)
  }
  const name = scanner.name(MEASUREMENT)
  return scanner.skipMark('.') ? scanner.name('a measurement') : name
}

/** `[ WHERE condition ]` */
export function readWhere(scanner: Scanner, nowMs: number): Where {
  if (scanner.skipWord('WHERE')) return readCondition(scanner, nowMs)
  return { condition: EVERYTHING, bounds: { startMs: -Infinity, stopMs: Infinity } }
}

/** `[ word n ]`; as in InfluxDB, 0 means no limit. */
export function readLimit(scanner: Scanner, word: 'LIMIT' | 'SLIMIT'): number | undefined {
  if (!scanner.skipWord(word)) return undefined
  const { kind, text, unit, at } = scanner.take()
  const isWhole = kind === 'number' && unit === '' && /^[0-9]{1,15}$/.test(text)
  if (isWhole) return Number(text) || undefined
  throw new StatementError(`${word} takes a whole number`, at)
}
