// SHOW, after its first word:
//
//   show    = DATABASES | RETENTION POLICIES [ on ]
//           | MEASUREMENTS [ WITH MEASUREMENT ( '=' name | '=~' /regex/ ) ]
//           | FIELD KEYS [ from ] | TAG KEYS [ from ]
//           | TAG VALUES [ on ] [ from ]
//             WITH KEY ( '=' name | IN '(' name { ',' name } ')' )
//   on      = ON name
//   from    = FROM measurement
//
// followed by [ WHERE condition ] [ LIMIT n ].

import { EVER } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import { readLimit, readMeasurement, readWhere } from './clauses.ts'
import { Work } from './limits.ts'
import { compileRegex } from './regex.ts'
import { StatementError, isWord } from './scanner.ts'
import type { Scanner } from './scanner.ts'
import type { Show, ShowTagValues } from './statement.ts'
import { SHOWN } from './vocabulary.ts'

/** @throws StatementError if it is unsupported */
export function readShow(scanner: Scanner, nowMs: number): Show | ShowTagValues {
  return new ShowReader(scanner, nowMs).show()
}

class ShowReader {
  readonly #scanner: Scanner
  readonly #nowMs: number

  constructor(scanner: Scanner, nowMs: number) {
    this.#scanner = scanner
    this.#nowMs = nowMs
  }

  show(): Show | ShowTagValues {
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
    this.#scanner.word('POLICIES')
    this.#skipDatabase()
    return this.#shown('retention policies')
  }

  #measurements(): Show {
    const isMeant = this.#scanner.skipWord('WITH') ? this.#meant() : () => true
    return this.#shown('measurements', undefined, isMeant)
  }

  #meant(): Show['isMeant'] {
    this.#scanner.word('MEASUREMENT')
    if (this.#scanner.skipMark('=')) {
      const wanted = this.#scanner.name('a measurement')
      return (measurement) => measurement === wanted
    }
    const { text, at } = this.#scanner.take()
    if (text !== '=~') throw new StatementError('expected = or =~', at)
    const { pattern, at: begin } = this.#scanner.takeRegex()
    const test = compileRegex(pattern, begin)
    return (measurement) => test(measurement, new Work())
  }

  #keys(kind: 'field keys' | 'tag keys'): Show {
    this.#scanner.word('KEYS')
    return this.#shown(kind, this.#from())
  }

  #shown(kind: Show['kind'], measurement?: string, isMeant: Show['isMeant'] = () => true): Show {
    readWhere(this.#scanner, this.#nowMs)
    return { kind, measurement, isMeant, limit: readLimit(this.#scanner, 'LIMIT') }
  }

  #tagValues(): ShowTagValues {
    this.#scanner.word('VALUES')
    this.#skipDatabase()
    const measurement = this.#from()
    this.#scanner.word('WITH')
    this.#scanner.word('KEY')
    const keys = this.#tagKeys()
    const { condition: where, bounds } = readWhere(this.#scanner, this.#nowMs)
    const limit = readLimit(this.#scanner, 'LIMIT')
    return { kind: 'tag values', measurement, keys, where, range: rangeOf(bounds), limit }
  }

  #tagKeys(): readonly string[] {
    const { next } = this.#scanner
    if (this.#scanner.skipMark('=')) return [this.#scanner.name('a tag')]
    if (this.#scanner.skipWord('IN')) {
      return this.#scanner.inParentheses(() => {
        return this.#scanner.list(() => this.#scanner.name('a tag'))
      })
    }
    throw new StatementError('WITH KEY takes = "tag" or IN ("tag", …)', next.at)
  }

  #from(): string | undefined {
    return this.#scanner.skipWord('FROM') ? readMeasurement(this.#scanner) : undefined
  }

  #skipDatabase(): void {
    if (this.#scanner.skipWord('ON')) this.#scanner.name('a database')
  }
}

function rangeOf({ startMs, stopMs }: TimeRange): TimeRange | undefined {
  if (startMs === -Infinity && stopMs === Infinity) return undefined
  return { startMs: Math.max(startMs, EVER.startMs), stopMs: Math.min(stopMs, EVER.stopMs) }
}
