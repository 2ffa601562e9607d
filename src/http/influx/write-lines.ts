// Writing line protocol, as clients of InfluxDB do: admitted whole, stored in transactions of 500,
// answered when all of it is on disk.

import { unitOf } from '../../line-protocol/point-time.ts'
import { readLines } from '../../line-protocol/read-lines.ts'
import type { LineBody, LineRules } from '../../line-protocol/read-lines.ts'
import { SeriesMemory, SeriesRoom } from '../../line-protocol/series.ts'
import type { Metrics } from '../../ports/system.ts'
import type { ApiCall, CallState } from '../call/call.ts'
import { checkLength, sendingOf } from '../body/gate.ts'
import { refusePacked } from '../body/malformed-json.ts'
import { chargeOf } from '../callers/rate-limit.ts'
import { answerInvalid, answerPartly, answerStored, hintThousandths } from './line-answers.ts'
import type { WriteVersion } from './line-answers.ts'
import { LineStoring } from './store-lines.ts'
import type { LineStores, StoredBody } from './store-lines.ts'

const PREFIXES_MAX = 32

/** What operators add to what is known of line protocol. */
export interface LineSettings {
  /** Fields that are temperatures. */
  readonly lineFields: readonly string[]
  /** Tags that are serial numbers. */
  readonly lineSerialTags: readonly string[]
}

export interface LineIntake extends LineStores {
  readonly metrics: Metrics
}

export class LineWrites {
  readonly #with: LineIntake
  readonly #fields: ReadonlySet<string>
  readonly #serialTags: readonly string[]
  /** By the prefix of serial numbers. */
  readonly #series = new Map<string, SeriesMemory>()
  #seriesRoom = new SeriesRoom()

  constructor(intake: LineIntake, { lineFields, lineSerialTags }: LineSettings) {
    this.#with = intake
    this.#fields = new Set(lineFields.map((name) => name.toLowerCase()))
    this.#serialTags = lineSerialTags
  }

  /**
   * Stores the body of a request and answers it.
   *
   * @throws ServiceError when nothing is stored, or not all is and the same can be sent again
   */
  async write(call: ApiCall, version: WriteVersion): Promise<void> {
    const { token, user } = call.principal
    this.#with.submissions.admit(user.id)
    const { spent } = call.ctx.state as CallState
    if (spent !== undefined) throw spent
    // Comes before what is wrong with the address, in the promised order of errors.
    checkLength(call.ctx.req, call.ctx.res)
    const precision = new URLSearchParams(call.query).get('precision') || 'ns'
    const unitNs = unitOf(precision, version)
    if (unitNs === undefined) {
      return answerInvalid(call, version, `invalid precision ${JSON.stringify(precision)}`)
    }
    const series = this.#seriesWith(token.serialNumberPrefix)
    const body = await this.#read(call, { series, unitNs })
    const stored = await new LineStoring(this.#with, call, unitNs).store(body)
    const { outcome, unstored } = stored
    this.#with.metrics.noteLinePoints({ ...outcome, refused: unstored.count })
    await this.#answer(call, version, stored)
  }

  #seriesWith(serialNumberPrefix: string): SeriesMemory {
    const known = this.#series.get(serialNumberPrefix)
    if (known !== undefined) return known
    const rules = { fields: this.#fields, serialTags: this.#serialTags, serialNumberPrefix }
    if (this.#series.size >= PREFIXES_MAX) {
      this.#series.clear()
      this.#seriesRoom = new SeriesRoom()
    }
    const series = new SeriesMemory(rules, this.#seriesRoom)
    this.#series.set(serialNumberPrefix, series)
    return series
  }

  async #read(call: ApiCall, rules: LineRules): Promise<LineBody> {
    const { bodies, rateLimits } = this.#with
    let bytesRead = 0
    try {
      return await bodies.read(sendingOf(call), (bytes, letOthers) => {
        bytesRead = bytes.length
        refusePacked(bytes, 'invalid_request')
        return readLines(bytes, rules, letOthers)
      })
    } catch (error) {
      const count = chargeOf(bytesRead)
      await rateLimits.charge(call.principal.token, count, call.ctx.res)
      throw error
    }
  }

  async #answer(call: ApiCall, version: WriteVersion, stored: StoredBody): Promise<void> {
    const { outcome, unstored, lineCount, fieldsSeen, thousandths } = stored
    if (thousandths !== undefined) hintThousandths(call, thousandths)
    if (unstored.count > 0) {
      const { first: named, count } = unstored
      return answerPartly(call, version, { named, count, lineCount, outcome })
    }
    const isNothing = outcome.created + outcome.duplicates === 0 && fieldsSeen.length > 0
    if (isNothing && !(await this.#with.proven.has(call.principal.token.id))) {
      const fields = fieldsSeen.join(', ')
      const none = `none of these fields is known as a temperature: ${fields}`
      return answerInvalid(call, version, `${none}; LINE_FIELDS adds names`)
    }
    answerStored(call, outcome)
  }
}
