// Stores the lines of one body, part by part: what cannot be read is kept, then what can be stored
// is committed, before the next part is made.
//
// A body of several parts is charged for all its lines at first, and for what more they hold when
// that is known: of bodies that come together, none is admitted for what the others will use.
//
// Points without a time are stored anew whenever they are sent. So they are gathered and committed
// last, in one transaction, after everything that may fail: a failure means that none is stored,
// unless the outcome of that very transaction is unknown.

import { submissionMeasurementsMax } from '../../domain/limits.ts'
import { mayBeThousandths } from '../../domain/temperature-unit.ts'
import { submitLines } from '../../ingest/submit-lines.ts'
import type { LineBody, LinePart, LineReading } from '../../line-protocol/read-lines.ts'
import type { ApiCall } from '../call/call.ts'
import type { RefusedWriter } from '../../ports/refused.ts'
import type { Intake } from '../batch/submission.ts'
import type { WriteOutcome } from './line-answers.ts'
import type { ProvenTokens } from './proven-tokens.ts'
import { fieldNamesOf } from './skipped-series.ts'
import type { SkippedNotes } from './skipped-series.ts'
import { UnstoredLines } from './unstored-lines.ts'

const FIELDS_NAMED_MAX = 10

export interface LineStores extends Intake {
  readonly refusedWriter: RefusedWriter
  readonly skippedNotes: SkippedNotes
  readonly proven: ProvenTokens
}

/** What became of a body. */
export interface StoredBody {
  readonly outcome: WriteOutcome
  readonly unstored: UnstoredLines
  /** Lines with a temperature, or that cannot be read. */
  readonly lineCount: number
  /** Names of fields that are no temperatures, of points without one: the first of them. */
  readonly fieldsSeen: readonly string[]
  /** A temperature, the first of them, that may have been sent in thousandths of a degree. */
  readonly thousandths: LineReading | undefined
}

export class LineStoring {
  readonly #stores: LineStores
  readonly #call: ApiCall
  readonly #unstored: UnstoredLines
  readonly #fieldsSeen = new Set<string>()
  /** Of points without a time; at most `submissionMeasurementsMax`. */
  readonly #unkeyed: LineReading[] = []
  #thousandths: LineReading | undefined
  #created = 0
  #duplicates = 0
  #skipped = 0
  #lineCount = 0
  /** What the parts so far hold, and what was charged for them. */
  #counted = 0
  #charged = 0

  /** @param unitNs nanoseconds of the unit in which times are given */
  constructor(stores: LineStores, call: ApiCall, unitNs: bigint) {
    this.#stores = stores
    this.#call = call
    this.#unstored = new UnstoredLines(stores.refusedWriter, call, unitNs)
  }

  /**
   * Stores a body.
   *
   * @throws ServiceError when the same is to be sent again: nothing is stored, or measurements with
   *   an event id alone
   */
  async store(body: LineBody): Promise<StoredBody> {
    for await (const part of body) {
      this.#counted += countOf(part)
      if (this.#charged > 0) await this.#chargeMore()
      else await this.#admit(part, body.lineCount)
      await this.#storePart(part)
    }
    await this.#storeUnkeyed()
    const [created, duplicates, skipped] = [this.#created, this.#duplicates, this.#skipped]
    return {
      outcome: { created, duplicates, skipped, unkeyed: this.#unkeyed.length },
      unstored: this.#unstored,
      lineCount: this.#lineCount,
      fieldsSeen: [...this.#fieldsSeen],
      thousandths: this.#thousandths,
    }
  }

  /** @throws ServiceError before anything of the body is stored */
  async #admit(part: LinePart, lineCount: number): Promise<void> {
    const { submissions, rateLimits } = this.#stores
    const { principal, receivedAtMs, ctx } = this.#call
    submissions.admit(principal.user.id)
    const measurements = [...part.keyed, ...part.unkeyed].map(({ measurement }) => measurement)
    const count = part.isLast ? this.#counted : Math.max(this.#counted, lineCount)
    const counted = { receivedAtMs, measurements, count, hasMore: !part.isLast }
    await rateLimits.countMeasurements(principal.token, counted, ctx.res)
    this.#charged = count
  }

  async #chargeMore(): Promise<void> {
    const more = this.#counted - this.#charged
    if (more <= 0) return
    const { principal, ctx } = this.#call
    await this.#stores.rateLimits.charge(principal.token, more, ctx.res)
    this.#charged += more
  }

  async #storePart({ keyed, unkeyed, refused, skipped, lineCount }: LinePart): Promise<void> {
    const { principal, receivedAtMs } = this.#call
    const room = submissionMeasurementsMax - this.#unkeyed.length
    this.#unkeyed.push(...unkeyed.slice(0, room))
    await this.#unstored.keepUnread(refused, unkeyed.slice(room))
    this.#lineCount += lineCount
    this.#skipped += skipped.length
    for (const name of fieldNamesOf(skipped.filter(({ isBlank }) => !isBlank))) {
      if (this.#fieldsSeen.size >= FIELDS_NAMED_MAX) break
      this.#fieldsSeen.add(name)
    }
    await this.#stores.skippedNotes.note(principal.user.id, skipped, receivedAtMs)
    await this.#commit(keyed)
  }

  async #storeUnkeyed(): Promise<void> {
    const isAnythingStored = this.#created + this.#duplicates + this.#unkeyed.length > 0
    if (isAnythingStored) await this.#stores.proven.note(this.#call.principal.token.id)
    await this.#commit(this.#unkeyed)
  }

  async #commit(readings: readonly LineReading[]): Promise<void> {
    const { principal, receivedAtMs } = this.#call
    const measurements = readings.map(({ measurement }) => measurement)
    this.#thousandths ??= readings.find(({ measurement }) =>
      mayBeThousandths(measurement.tempCelsius),
    )
    const { created, duplicates, conflicts } = await submitLines(
      this.#stores.submissions,
      { userId: principal.user.id, receivedAtMs, measurements },
      (faults) => this.#unstored.keepFaulty(faults, readings),
    )
    this.#created += created
    // Even if they map to something else now, they are the same points.
    this.#duplicates += duplicates + conflicts
  }
}

function countOf({ keyed, unkeyed, refused, skipped }: LinePart): number {
  return keyed.length + unkeyed.length + refused.length + skipped.length
}
