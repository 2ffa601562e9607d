// Writing line protocol, as clients of InfluxDB do: admitted whole, stored in transactions of 500,
// answered when all of it is on disk.

import type { Principal } from '../../domain/access.ts'
import type { RequestFault } from '../../domain/errors.ts'
import { submissionMeasurementsMax } from '../../domain/limits.ts'
import { commitLines } from '../../ingest/commit-lines.ts'
import type { Submissions } from '../../ingest/submissions.ts'
import { unitOf } from '../../line-protocol/point-time.ts'
import { decodeText } from '../../line-protocol/point.ts'
import { readLines } from '../../line-protocol/read-lines.ts'
import { SeriesMemory } from '../../line-protocol/series.ts'
import type { Line, LineBody, LineReading, LineRules } from '../../line-protocol/read-lines.ts'
import type { RefusedReader, RefusedWriter } from '../../ports/refused.ts'
import type { Metrics } from '../../ports/system.ts'
import type { ApiCall, Call } from '../answers/call.ts'
import type { BodyGate } from '../body/gate.ts'
import { requireRight } from '../callers/authenticate.ts'
import { chargeOf } from '../callers/rate-limit.ts'
import type { RateLimits } from '../callers/rate-limit.ts'
import { keepRefused, retryTime } from '../requests/keep-refused.ts'
import type { Refusal } from '../requests/keep-refused.ts'
import { sendingOf } from '../requests/input.ts'
import { SkippedNotes } from './skipped-series.ts'
import { answerInvalid, answerPartly, answerStored } from './line-answers.ts'
import type { WriteOutcome, WriteVersion } from './line-answers.ts'

const FIELDS_NAMED_MAX = 10
const PREFIXES_MAX = 32

/** What operators add to what is known of line protocol. */
export interface LineSettings {
  /** Fields that are temperatures. */
  readonly lineFields: readonly string[]
  /** Tags that are serial numbers. */
  readonly lineSerialTags: readonly string[]
}

export interface LineIntake {
  readonly submissions: Submissions
  readonly refusedWriter: RefusedWriter
  readonly refusedReader: Pick<RefusedReader, 'hasStoredLines'>
  readonly metrics: Metrics
  readonly rateLimits: RateLimits
  readonly bodies: BodyGate
}

/** A line of which something cannot be stored. */
interface UnstoredText extends Pick<Refusal, 'reason' | 'retryAtMs'> {
  readonly line: Line
}

export class LineWrites {
  readonly #with: LineIntake
  readonly #fields: ReadonlySet<string>
  readonly #serialTags: readonly string[]
  /** By the prefix of serial numbers. */
  readonly #series = new Map<string, SeriesMemory>()
  readonly #skipped: SkippedNotes
  /** Tokens that have stored a temperature this way, as far as it was asked. */
  readonly #proven = new Set<number>()

  constructor(intake: LineIntake, { lineFields, lineSerialTags }: LineSettings) {
    this.#with = intake
    this.#skipped = new SkippedNotes(intake.refusedWriter)
    this.#fields = new Set(lineFields.map((name) => name.toLowerCase()))
    this.#serialTags = lineSerialTags
  }

  /**
   * Stores the body of a request and answers it.
   *
   * @throws ServiceError when nothing is stored, or not all is and the same can be sent again
   */
  async write(call: Call, principal: Principal, version: WriteVersion): Promise<void> {
    const { submissions, rateLimits } = this.#with
    requireRight(principal, 'measurements:write')
    const { token, user } = principal
    const spent = await rateLimits.countRequest(token.id, call.ctx.res)
    const refusal = submissions.refusal(user.id)
    if (refusal !== undefined) throw submissions.refused(refusal)
    if (spent !== undefined) throw spent
    const precision = new URLSearchParams(call.query).get('precision') || 'ns'
    const unitNs = unitOf(precision, version)
    if (unitNs === undefined) {
      return answerInvalid(call, version, `invalid precision ${JSON.stringify(precision)}`)
    }
    const apiCall = { ...call, principal }
    const series = this.#seriesWith(token.serialNumberPrefix)
    const body = await this.#read(apiCall, { series, unitNs })
    await this.#store(apiCall, { version, unitNs }, body)
  }

  #seriesWith(serialNumberPrefix: string): SeriesMemory {
    const known = this.#series.get(serialNumberPrefix)
    if (known !== undefined) return known
    const rules = { fields: this.#fields, serialTags: this.#serialTags, serialNumberPrefix }
    const series = new SeriesMemory(rules)
    if (this.#series.size >= PREFIXES_MAX) this.#series.clear()
    this.#series.set(serialNumberPrefix, series)
    return series
  }

  async #read(call: ApiCall, rules: LineRules): Promise<LineBody> {
    const { bodies, rateLimits } = this.#with
    let bytesRead = 0
    try {
      return await bodies.read(sendingOf(call), (bytes, letOthers) => {
        bytesRead = bytes.length
        return readLines(bytes, rules, letOthers)
      })
    } catch (error) {
      const count = chargeOf(bytesRead)
      await rateLimits.chargeRefused(call.principal.token.id, count, call.ctx.res)
      throw error
    }
  }

  async #store(
    call: ApiCall,
    { version, unitNs }: { version: WriteVersion; unitNs: bigint },
    body: LineBody,
  ): Promise<void> {
    const { submissions, rateLimits, refusedWriter, metrics } = this.#with
    const { principal, receivedAtMs, ctx } = call
    const { token, user } = principal
    const unkeyed = body.unkeyed.slice(0, submissionMeasurementsMax)
    const readings = [...body.keyed, ...unkeyed]
    const measurements = readings.map(({ measurement }) => measurement)
    const count = readings.length + body.refused.length + body.skipped.length
    if (count > 0) {
      await rateLimits.countMeasurements(token.id, { receivedAtMs, measurements, count }, ctx.res)
    }
    const keep = (unstored: readonly UnstoredText[]) =>
      keepRefused(refusedWriter, call, unstored.map(refusalOf(unitNs)))
    // Before points without a time are stored: a failure after that would have them sent again.
    const unreadable = eachOnce([
      ...body.refused.map(({ line, reason }) => ({ line, reason, retryAtMs: null })),
      ...body.unkeyed.slice(unkeyed.length).map(tooManyUnkeyed),
    ])
    await keep(unreadable)
    await this.#skipped.note(user.id, body.skipped, receivedAtMs)
    const { created, duplicates, faults } = await commitLines(submissions, {
      userId: user.id,
      receivedAtMs,
      keyed: measurements.slice(0, body.keyed.length),
      unkeyed: measurements.slice(body.keyed.length),
    })
    if (created + duplicates > 0) await this.#noteStored(token.id)
    const outcome = { created, duplicates, skipped: body.skipped.length, unkeyed: unkeyed.length }
    const unstored = eachOnce([
      ...unreadable,
      ...faults.flatMap((fault) => unstoredOf(fault, readings[fault.index ?? 0], receivedAtMs)),
    ])
    const kept = new Set(unreadable)
    await keep(unstored.filter((each) => !kept.has(each)))
    metrics.noteLinePoints({ ...outcome, refused: unstored.length })
    await this.#answer(call, version, { body, outcome, unstored })
  }

  async #noteStored(tokenId: number): Promise<void> {
    if (await this.#hasStored(tokenId)) return
    await this.#with.refusedWriter.noteStoredLines(tokenId)
    this.#proven.add(tokenId)
  }

  async #hasStored(tokenId: number): Promise<boolean> {
    if (this.#proven.has(tokenId)) return true
    if (!(await this.#with.refusedReader.hasStoredLines(tokenId))) return false
    this.#proven.add(tokenId)
    return true
  }

  async #answer(
    call: ApiCall,
    version: WriteVersion,
    told: {
      readonly body: LineBody
      readonly outcome: WriteOutcome
      readonly unstored: readonly UnstoredText[]
    },
  ): Promise<void> {
    const { body, outcome, unstored } = told
    if (unstored.length > 0) {
      const lines = unstored.map(({ line, reason }) => ({ number: line.number, reason }))
      const withTemperature = [...unstored, ...body.keyed, ...body.unkeyed]
      const lineCount = new Set(withTemperature.map(({ line }) => line.number)).size
      return answerPartly(call, version, { lines, lineCount, outcome })
    }
    const isNothing = outcome.created + outcome.duplicates === 0 && outcome.skipped > 0
    if (isNothing && !(await this.#hasStored(call.principal.token.id))) {
      return answerInvalid(call, version, noTemperature(body))
    }
    answerStored(call, outcome)
  }
}

function refusalOf(unitNs: bigint): (unstored: UnstoredText) => Refusal {
  return ({ line, ...why }) => ({
    ...why,
    kind: 'line',
    content: line.text,
    unitNs: String(unitNs),
  })
}

function tooManyUnkeyed({ line }: LineReading): UnstoredText {
  const reason = `more than ${submissionMeasurementsMax} points without a time in one request`
  return { line, reason, retryAtMs: null }
}

function unstoredOf(
  fault: RequestFault,
  reading: LineReading | undefined,
  receivedAtMs: number,
): UnstoredText[] {
  if (reading === undefined) return []
  const { line, measurement } = reading
  const retryAtMs = retryTime(fault, measurement.measuredAtMs, receivedAtMs)
  return [{ line, reason: fault.detail, retryAtMs }]
}

/** The first of each line, in the order of the lines. */
function eachOnce(unstored: readonly UnstoredText[]): readonly UnstoredText[] {
  const byNumber = new Map<number, UnstoredText>()
  for (const each of unstored) {
    if (!byNumber.has(each.line.number)) byNumber.set(each.line.number, each)
  }
  return [...byNumber.values()].toSorted((a, b) => a.line.number - b.line.number)
}

function noTemperature({ skipped }: LineBody): string {
  const names = new Set<string>()
  for (const { point } of skipped) {
    for (const { key } of point.fields) {
      if (names.size < FIELDS_NAMED_MAX) names.add(decodeText(key))
    }
  }
  const fields = [...names].join(', ')
  return `none of these fields is known as a temperature: ${fields}; LINE_FIELDS adds names`
}
