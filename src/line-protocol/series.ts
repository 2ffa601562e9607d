// What all points of a series share: which of its fields are temperatures, which sensors they
// belong to, and how their event ids begin. Senders repeat their series in every body, so the last
// ones are remembered. Everything follows from the series' key and the rules.
//
// Only copies are remembered: a slice would keep the whole body in memory.

import { isUnitName } from '../domain/temperature-unit.ts'
import type { TemperatureUnit } from '../domain/temperature-unit.ts'
import { aliasOf, headOfField, headOfSeries, SENDING_TAGS, SensorNaming } from './identity.ts'
import type { IdentityHead, SensorNames, SerialNumberRules } from './identity.ts'
import { copyText } from './point.ts'
import type { Field, KnownSeries, SeriesKey, Tag } from './point.ts'
import { isTemperature, kindOf, saidUnitOf, unitOfField } from './temperature.ts'
import type { SaidUnit, SeriesKind } from './temperature.ts'

export interface SeriesRules extends SerialNumberRules {
  /** Temperature fields besides the known ones; in lower case. */
  readonly fields: ReadonlySet<string>
}

/** A temperature field of a series. */
export interface TemperatureField extends SensorNames {
  /** Said by the field's name. */
  readonly unit: TemperatureUnit | undefined
  /** The part of an event id that is hashed before the time. */
  readonly head: IdentityHead
}

/** A field that says the unit of temperatures beside it. */
export const UNIT = 'unit'

/** What a field is; `temperature`: its details are not needed yet. */
type KnownField = TemperatureField | 'temperature' | typeof UNIT | 'other'

/** Series remembered per set of rules, and fields of each. */
const SERIES_MAX = 4_096
const FIELDS_MAX = 32
/** Longer keys and field names are read anew each time. */
const KEY_LENGTH_MAX = 512
const FIELD_LENGTH_MAX = 64
/** The memory for all of them: about 15,000 ordinary ones. */
const REMEMBERED_BYTES_MAX = 32 * 2 ** 20
/** Approximate size of objects, besides their texts. */
const OVERHEAD_BYTES = { series: 1_000, tag: 100, field: 100, temperature: 400 }

/** The memory of all remembered series. */
export class SeriesRoom {
  readonly #memories = new Set<SeriesMemory>()
  #bytes = 0

  share(memory: SeriesMemory): void {
    this.#memories.add(memory)
  }

  /** Counts what is remembered; forgets everything if it does not fit. */
  take(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes <= REMEMBERED_BYTES_MAX) return
    this.#bytes = bytes
    for (const memory of this.#memories) memory.forget()
  }
}

export class Series implements SeriesKey {
  readonly measurement: string
  readonly tags: readonly Tag[]
  readonly alias: string | undefined
  readonly #rules: SeriesRules
  readonly #room: SeriesRoom | undefined
  readonly #fields = new Map<string, KnownField>()
  #kindIfKnown: SeriesKind | undefined
  #naming: SensorNaming | undefined
  #head: IdentityHead | undefined

  /** @param room for what is remembered; `undefined`: this series is not */
  constructor(key: SeriesKey, rules: SeriesRules, room?: SeriesRoom) {
    this.measurement = key.measurement
    this.tags = key.tags
    this.alias = aliasOf(key)
    this.#rules = rules
    this.#room = room
  }

  /** Its name, without what differs each time it is sent. */
  get name(): string {
    const tags = this.tags.filter(({ key }) => !SENDING_TAGS.has(key))
    return [this.measurement, ...tags.map(({ key, value }) => `${key}=${value}`)].join(',')
  }

  /** Whether a field is a temperature. */
  hasTemperature(field: string): boolean {
    const known = this.#fields.get(field) ?? this.#learn(field)
    return typeof known === 'object' || known === 'temperature'
  }

  /** @returns `undefined` if the field is neither a temperature nor a unit */
  field(field: string): TemperatureField | typeof UNIT | undefined {
    const known = this.#fields.get(field) ?? this.#learn(field)
    if (typeof known === 'object' || known === UNIT) return known
    if (known === 'other') return undefined
    const read = this.#readField(field)
    this.#remember(field, read)
    return read
  }

  /** The unit of temperatures whose names say none; `unclear`: none of them can be read. */
  unitBeside(units: readonly Field[]): TemperatureUnit | 'unclear' {
    const { saidUnit, unit } = this.#kind
    return (units.length > 0 ? this.#saidUnitWith(units) : saidUnit) ?? unit
  }

  #saidUnitWith(units: readonly Field[]): SaidUnit {
    const texts = units.map(({ key, value }) => ({ key, value: String(value) }))
    return saidUnitOf([...this.tags, ...texts])
  }

  get #kind(): SeriesKind {
    return (this.#kindIfKnown ??= kindOf(this, this.#rules.fields))
  }

  #learn(field: string): KnownField {
    const known = this.#kindOfField(field)
    this.#remember(field, known)
    return known
  }

  #kindOfField(field: string): KnownField {
    if (isUnitName(field)) return UNIT
    return isTemperature(this.#kind, field, this.#rules.fields) ? 'temperature' : 'other'
  }

  #remember(field: string, known: KnownField): void {
    if (this.#fields.has(field)) this.#fields.set(field, known)
    else if (this.#fields.size < FIELDS_MAX && field.length <= FIELD_LENGTH_MAX) {
      this.#fields.set(copyText(field), known)
      this.#room?.take(OVERHEAD_BYTES.field + field.length)
    }
    if (typeof known === 'object' && this.#fields.get(field) === known) {
      const { head, alias = '' } = known
      this.#room?.take(OVERHEAD_BYTES.temperature + head.bytes.length + 2 * alias.length)
    }
  }

  #readField(field: string): TemperatureField {
    this.#naming ??= new SensorNaming(this, this.#rules)
    this.#head ??= headOfSeries(this)
    return {
      unit: unitOfField(field),
      ...this.#naming.of(field),
      head: headOfField(this.#head, field),
    }
  }
}

/** The series of senders with the same rules. */
export class SeriesMemory implements KnownSeries<Series> {
  readonly #rules: SeriesRules
  readonly #room: SeriesRoom
  readonly #series = new Map<string, Series>()

  /** @param room may be shared with other rules */
  constructor(rules: SeriesRules, room = new SeriesRoom()) {
    this.#rules = rules
    this.#room = room
    room.share(this)
  }

  /** Whether its rules add names of temperatures, so that any name may be one. */
  get isAnyName(): boolean {
    return this.#rules.fields.size > 0
  }

  find(written: string): Series | undefined {
    return this.#series.get(written)
  }

  add(written: string, readKey: (written: string) => SeriesKey): Series {
    if (written.length > KEY_LENGTH_MAX) return new Series(readKey(written), this.#rules)
    const copy = copyText(written)
    const series = new Series(readKey(copy), this.#rules, this.#room)
    const tagBytes = series.tags.length * OVERHEAD_BYTES.tag
    this.#room.take(OVERHEAD_BYTES.series + tagBytes + 2 * copy.length)
    if (this.#series.size >= SERIES_MAX) this.forget()
    this.#series.set(copy, series)
    return series
  }

  forget(): void {
    this.#series.clear()
  }
}
