// The lines of a body that cannot be stored: all are kept, the first are named in the answer.

import type { RequestFault } from '../../domain/errors.ts'
import { cutLineBytesMax, submissionMeasurementsMax } from '../../domain/limits.ts'
import type { LineReading, RefusedLine } from '../../line-protocol/read-lines.ts'
import type { RefusedWriter } from '../../ports/refused.ts'
import type { ApiCall } from '../call/call.ts'
import { keepRefused, aheadTime } from '../batch/keep-refused.ts'
import type { Refusal } from '../batch/keep-refused.ts'
import type { UnstoredLine } from './line-answers.ts'

const NAMED_MAX = 20

/** What cannot be stored of a line, for one reason. */
interface Unstored extends RefusedLine {
  readonly aheadAtMs: number | null
}

export class UnstoredLines {
  readonly #writer: Pick<RefusedWriter, 'keepRefused'>
  readonly #call: ApiCall
  readonly #unitNs: bigint
  readonly #known = new WeakSet<RefusedLine['line']>()
  #first: UnstoredLine[] = []
  #count = 0

  /** @param unitNs nanoseconds of the unit in which times are given */
  constructor(writer: Pick<RefusedWriter, 'keepRefused'>, call: ApiCall, unitNs: bigint) {
    this.#writer = writer
    this.#call = call
    this.#unitNs = unitNs
  }

  get count(): number {
    return this.#count
  }

  /** At most 20, in their order in the body. */
  get first(): readonly UnstoredLine[] {
    return this.#first
  }

  /**
   * Keeps what cannot be read, and points without a time beyond those that a request may have.
   * Resolves when they are on disk.
   */
  async keepUnread(
    refused: readonly RefusedLine[],
    surplus: readonly LineReading[],
  ): Promise<void> {
    const unread = refused.map((line) => ({ ...line, aheadAtMs: null }))
    const reason = `more than ${submissionMeasurementsMax} points without a time in one request`
    const tooMany = surplus.map((reading) => ({ reading, reason, aheadAtMs: null }))
    await this.#keep([...unread, ...byLine(tooMany)])
  }

  /** Keeps what has faults, which name the readings by their index. Resolves when it is on disk. */
  async keepFaulty(
    faults: readonly RequestFault[],
    readings: readonly LineReading[],
  ): Promise<void> {
    const found = faults.flatMap((fault) => {
      const reading = readings[fault.index ?? 0]
      if (reading === undefined) return []
      const aheadAtMs = aheadTime(fault, reading.measurement.measuredAtMs)
      return [{ reading, reason: fault.detail, aheadAtMs }]
    })
    await this.#keep(byLine(found))
  }

  /** Counts lines, each once, with the first reason, and keeps them. */
  async #keep(unstored: readonly Unstored[]): Promise<void> {
    for (const { line, reason } of unstored) {
      if (this.#known.has(line)) continue
      this.#known.add(line)
      this.#count++
      const last = this.#first.at(-1)
      if (this.#first.length < NAMED_MAX || line.number < (last?.number ?? 0)) {
        const first = [...this.#first, { number: line.number, reason }]
        this.#first = first.toSorted((a, b) => a.number - b.number).slice(0, NAMED_MAX)
      }
    }
    const refusals = unstored.map((each) => refusalOf(each, this.#unitNs))
    await keepRefused(this.#writer, this.#call, refusals)
  }
}

/** Each line once, with the reason of its first field. */
function byLine(
  found: readonly (Pick<Unstored, 'reason' | 'aheadAtMs'> & { readonly reading: LineReading })[],
): Unstored[] {
  const lines = Map.groupBy(found, ({ reading }) => reading.line)
  return Array.from(lines, ([line, ofLine]) => {
    const fields = ofLine.map(({ reading }) => reading.field)
    const { reason = '', aheadAtMs = null } = ofLine[0] ?? {}
    return { line, fields, reason, isTooLarge: false, aheadAtMs }
  })
}

function refusalOf(unstored: Unstored, unitNs: bigint): Refusal {
  const { line, fields, reason, isTooLarge, aheadAtMs } = unstored
  const of = { fields, unitNs: String(unitNs), aheadAtMs }
  if (!isTooLarge) return { ...of, kind: 'line', content: line.text, reason }
  const content = line.text.slice(0, cutLineBytesMax)
  return { ...of, kind: 'cut-line', content, reason: `${reason}; its beginning is kept` }
}
