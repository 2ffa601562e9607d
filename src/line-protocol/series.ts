// What is the same for all points of a series: which of its fields are temperatures, of which
// sensor they are, and what their event ids begin with. Senders repeat their series in every body,
// so the last ones are remembered. All of it is a function of the series' key and of the rules.

import { aliasOf, identityPieces, SENDING_TAGS, serialNumberOf } from './identity.ts'
import type { SerialNumberRules } from './identity.ts'
import type { KnownSeries, SeriesKey, Tag } from './point.ts'
import { isTemperature, unitOfField } from './temperature.ts'
import type { Unit } from './temperature.ts'

export interface SeriesRules extends SerialNumberRules {
  /** Fields that are temperatures, beside the known ones; in lower case. */
  readonly fields: ReadonlySet<string>
}

/** A field of a series that is a temperature. */
export interface TemperatureField {
  readonly unit: Unit
  readonly serialNumber: string
  /** What is hashed for an event id before the time. */
  readonly pieces: Buffer
}

/** Series remembered, and fields of each. */
const SERIES_MAX = 4_096
const FIELDS_MAX = 32
/** Longer keys are read anew each time. */
const KEY_LENGTH_MAX = 512

export class Series implements SeriesKey {
  readonly measurement: string
  readonly tags: readonly Tag[]
  readonly alias: string | undefined
  readonly #rules: SeriesRules
  readonly #fields = new Map<string, TemperatureField | undefined>()

  constructor(key: SeriesKey, rules: SeriesRules) {
    this.measurement = key.measurement
    this.tags = key.tags
    this.alias = aliasOf(key)
    this.#rules = rules
  }

  /** What it is called, whatever differs from sending to sending. */
  get name(): string {
    const tags = this.tags.filter(({ key }) => !SENDING_TAGS.has(key))
    return [this.measurement, ...tags.map(({ key, value }) => `${key}=${value}`)].join(',')
  }

  /** @returns `undefined` for a field that is no temperature */
  temperature(field: string): TemperatureField | undefined {
    const known = this.#fields.get(field)
    if (known !== undefined || this.#fields.has(field)) return known
    const read = isTemperature(this, field, this.#rules.fields) ? this.#readField(field) : undefined
    if (this.#fields.size < FIELDS_MAX && field.length <= KEY_LENGTH_MAX) {
      this.#fields.set(field, read)
    }
    return read
  }

  #readField(field: string): TemperatureField {
    return {
      unit: unitOfField(this, field),
      serialNumber: serialNumberOf(this, field, this.#rules),
      pieces: identityPieces(this, field),
    }
  }
}

/** The series of senders with the same rules. */
export class SeriesMemory implements KnownSeries<Series> {
  readonly #rules: SeriesRules
  readonly #series = new Map<string, Series>()

  constructor(rules: SeriesRules) {
    this.#rules = rules
  }

  find(written: string): Series | undefined {
    return this.#series.get(written)
  }

  add(written: string, key: SeriesKey): Series {
    const series = new Series(key, this.#rules)
    if (written.length > KEY_LENGTH_MAX) return series
    if (this.#series.size >= SERIES_MAX) this.#series.clear()
    this.#series.set(written, series)
    return series
  }
}
