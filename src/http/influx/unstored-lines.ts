// The lines of a body that cannot be stored: all are kept, the first are named in the answer.

import type { RequestFault } from '../../domain/errors.ts'
import { cutLineBytesMax, submissionMeasurementsMax } from '../../domain/limits.ts'
import { reasonOf } from '../../line-protocol/read-lines.ts'
import type { LineReading, RefusedLine } from '../../line-protocol/read-lines.ts'
import type { RefusedWriter } from '../../ports/refused.ts'
import type { ApiCall } from '../call/call.ts'
import { keepRefused, aheadTime } from '../batch/keep-refused.ts'
import type { Refusal } from '../batch/keep-refused.ts'
import type { UnstoredLine } from './line-answers.ts'

const NAMED_MAX = 20

/**
 * Different lines of a body that are each an entry although they cannot be read. An entry costs as
 * much as reading twenty lines of a few bytes.
 */
const UNREAD_ALONE_MAX = 500

/** Several lines as one entry. */
const TOGETHER = { kind: 'cut-line', fields: null, count: 1 } as const

/** What cannot be stored of a line, for one reason. */
interface Unstored extends RefusedLine {
  readonly aheadAtMs: number | null
}

/** A line to keep, with what of its reason others may share. */
interface KeptLine {
  readonly refusal: Refusal
  readonly sharedReason: string
}

export class UnstoredLines {
  readonly #writer: Pick<RefusedWriter, 'keepRefused'>
  readonly #call: ApiCall
  readonly #unitNs: bigint
  readonly #known = new WeakSet<RefusedLine['line']>()
  #first: UnstoredLine[] = []
  #count = 0
  /** Different ones that cannot be read. */
  #unread = 0

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
    await this.#keep(
      refused.map((line) => ({ ...line, aheadAtMs: null })),
      (lines) => this.#together(lines),
    )
    const reason = `more than ${submissionMeasurementsMax} points without a time in one request`
    await this.#keep(byLine(surplus.map((reading) => ({ reading, reason, aheadAtMs: null }))))
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
  async #keep(
    unstored: readonly Unstored[],
    asEntries: (lines: readonly KeptLine[]) => readonly Refusal[] = alone,
  ): Promise<void> {
    for (const { line, ...of } of unstored) {
      if (this.#known.has(line)) continue
      this.#known.add(line)
      this.#count++
      const last = this.#first.at(-1)
      if (this.#first.length < NAMED_MAX || line.number < (last?.number ?? 0)) {
        const first = [...this.#first, { number: line.number, reason: reasonOf(of) }]
        this.#first = first.toSorted((a, b) => a.number - b.number).slice(0, NAMED_MAX)
      }
    }
    const lines = onceEach(unstored.map((each) => keptLine(each, this.#unitNs)))
    await keepRefused(this.#writer, this.#call, asEntries(lines))
  }

  /** Of very many lines of a body, those of one reason behind one another, a kilobyte each time. */
  #together(unread: readonly KeptLine[]): readonly Refusal[] {
    this.#unread += unread.length
    if (this.#unread <= UNREAD_ALONE_MAX) return alone(unread)
    const pieces: Refusal[] = []
    for (const [reason, lines] of Map.groupBy(unread, ({ sharedReason }) => sharedReason)) {
      let content = ''
      for (const [at, { refusal }] of lines.entries()) {
        content += `${refusal.content}\n`.repeat(refusal.count)
        if (content.length < cutLineBytesMax && at < lines.length - 1) continue
        pieces.push({ ...refusal, ...TOGETHER, content, reason: `${reason}, of each line` })
        content = ''
      }
    }
    return pieces
  }
}

function alone(lines: readonly KeptLine[]): readonly Refusal[] {
  return lines.map(({ refusal }) => refusal)
}

/** Each line once, with the reason of its first field. */
function byLine(
  found: readonly (Pick<Unstored, 'reason' | 'aheadAtMs'> & { readonly reading: LineReading })[],
): Unstored[] {
  const lines = Map.groupBy(found, ({ reading }) => reading.line)
  return Array.from(lines, ([line, ofLine]) => {
    const fields = ofLine.map(({ reading }) => reading.field)
    const { reason = '', aheadAtMs = null } = ofLine[0] ?? {}
    return { line, fields, reason, place: '', isTooLarge: false, aheadAtMs }
  })
}

function keptLine(unstored: Unstored, unitNs: bigint): KeptLine {
  const { line, fields, isTooLarge, aheadAtMs } = unstored
  const kept = isTooLarge ? '; its beginning is kept' : ''
  const refusal = {
    kind: isTooLarge ? ('cut-line' as const) : ('line' as const),
    content: isTooLarge ? line.text.slice(0, cutLineBytesMax) : line.text,
    reason: reasonOf(unstored) + kept,
    fields,
    unitNs: String(unitNs),
    aheadAtMs,
    count: 1,
  }
  return { refusal, sharedReason: unstored.reason + kept }
}

/** Equal ones once, with their count. */
function onceEach(lines: readonly KeptLine[]): KeptLine[] {
  const equal = Map.groupBy(
    lines,
    ({ refusal: { kind, fields, content } }) => `${kind} ${String(fields)} ${content}`,
  )
  return Array.from(equal.values(), (all) => {
    const { refusal, sharedReason } = all[0]!
    return { refusal: { ...refusal, count: all.length }, sharedReason }
  })
}
