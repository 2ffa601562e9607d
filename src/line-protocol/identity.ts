// Which sensor a point's temperature belongs to, and which event it is. Both depend only on the
// point. The event id depends on neither settings nor the serial number, so a resent point is
// recognised whatever has changed since. Its rule has a version, `lp1`.

import { createHash, hash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { nameCharactersMax } from '../domain/limits.ts'
import { tidyName } from '../domain/names.ts'
import type { Point, SeriesKey, Tag } from './point.ts'
import { copyText, decodeText } from './point.ts'
import { tagOf } from './temperature.ts'

export interface SerialNumberRules {
  /** Tags that name a sensor, besides the known ones. */
  readonly serialTags: readonly string[]
  /** Precedes every serial number. */
  readonly serialNumberPrefix: string
}

const SERIAL_TAGS = ['dev_eui', 'devEUI', 'sn', 'serial', 'sensor_id', 'mac', 'address']
const SERIAL_HEX_DIGITS_MIN = 8

/** Tags that do not identify a sensor. */
const UNNAMED_TAGS = new Set([
  '_seq',
  'mic',
  'friendly_name',
  'device_name',
  'unit',
  'unit_of_measurement',
  'device_class',
  'domain',
  'metric_type',
  'f_port',
])

/** Fields that a point has only once: their names are not part of a serial number. */
const UNNAMED_FIELDS = new Set([
  'temp',
  'temperature',
  'temp_c',
  'temperature_c',
  'value',
  'gauge',
  'temp_input',
  'current_temperature',
])

/** String fields, or tags. */
const ALIAS_FIELDS = ['friendly_name_str', 'friendly_name', 'device_name']
/** Used if none of these exists. */
const ALIAS_TAG = 'name'

const SERIAL_CHARACTERS_MAX = 64
const HASHED_HEAD_CHARACTERS = 47
const HASH_DIGITS = 16
/** Beyond this length, the common part of a series' names is hashed once. */
const SERIES_NAME_CHARACTERS_MAX = 256
const FORBIDDEN = /[^0-9A-Za-z:._-]/gu
const ANY_LETTER_OR_DIGIT = /[0-9A-Za-z]/

/** Tags that differ each time a point is sent. */
export const SENDING_TAGS = new Set(['_seq', 'mic'])
/** Tags that identify a sensor globally: the host that read it is ignored. */
const WORLDWIDE_TAGS = new Set(['dev_eui', 'devEUI', 'mac'])
const WORLDWIDE_IF_LONG = new Set(['sn', 'serial', 'address'])
const WORLDWIDE_HEX_DIGITS_MIN = 12

/** The names a sensor is registered with. */
export interface SensorNames {
  readonly serialNumber: string
  /** `undefined` if its point has none: the serial number is used. */
  readonly alias: string | undefined
}

/** The names of a series' sensors. */
export class SensorNaming {
  readonly #name: string
  /** The part that an alias may show. */
  readonly #shown: string
  readonly #hashed: Hash | undefined

  constructor(series: SeriesKey, rules: SerialNumberRules) {
    this.#name = rules.serialNumberPrefix + sensorNameOf(series, rules)
    this.#shown = beginningOf(this.#name)
    const isLong = this.#name.length > SERIES_NAME_CHARACTERS_MAX
    this.#hashed = isLong ? createHash('sha256').update(this.#name) : undefined
  }

  /** The names of a field's sensor, copied from the body's text. */
  of(field: string): SensorNames {
    const name = decodeText(field)
    const suffix = UNNAMED_FIELDS.has(name.toLowerCase()) ? '' : `.${name}`
    const serialNumber = this.#serialNumber(suffix)
    const text = this.#shown + suffix
    return { serialNumber, alias: text === serialNumber ? undefined : asAlias(text) }
  }

  #serialNumber(suffix: string): string {
    if (this.#hashed === undefined) return asSerialNumber(this.#name + suffix)
    const digits = this.#hashed.copy().update(suffix).digest('hex')
    return hashedName(this.#name.slice(0, SERIES_NAME_CHARACTERS_MAX), digits)
  }
}

/** The start of event ids: `bytes`, after what is already hashed. */
export interface IdentityHead {
  readonly hashed: Hash | undefined
  readonly bytes: Buffer
}

/** More bytes than this are hashed once for all fields and points of a series. */
const HEAD_BYTES_MAX = 1_024

/** The start of all event ids of a series. */
export function headOfSeries({ measurement, tags }: SeriesKey): IdentityHead {
  const isWorldwide = tags.some(isWorldwideTag)
  const pieces = [measurement]
  for (const { key, value } of tags) {
    if (SENDING_TAGS.has(key) || (isWorldwide && key === 'host')) continue
    pieces.push(key, value)
  }
  const bytes = Buffer.concat(pieces.map(afterLength))
  if (bytes.length <= HEAD_BYTES_MAX) return { hashed: undefined, bytes }
  return { hashed: createHash('sha256').update(bytes), bytes: Buffer.alloc(0) }
}

/** The start of all event ids of a field. */
export function headOfField({ hashed, bytes }: IdentityHead, field: string): IdentityHead {
  return { hashed, bytes: Buffer.concat([bytes, afterLength(field)]) }
}

const LENGTH_BYTES = 4
const DOUBLE_BYTES = 8
const SCRATCH = Buffer.alloc(4_096)

/**
 * The event id of a measurement.
 *
 * @param head of its field
 * @param nanoseconds the point's time, decimal
 * @param value as sent, in the sender's unit
 */
export function eventIdOf(head: IdentityHead, nanoseconds: string, value: number): string {
  const { hashed, bytes } = head
  const length = bytes.length + LENGTH_BYTES + nanoseconds.length + LENGTH_BYTES + DOUBLE_BYTES
  const message = length <= SCRATCH.length ? SCRATCH.subarray(0, length) : Buffer.alloc(length)
  message.set(bytes)
  let at = message.writeUInt32BE(nanoseconds.length, bytes.length)
  // Costs a third of `write` for so few characters.
  for (let digit = 0; digit < nanoseconds.length; digit++) {
    message[at++] = nanoseconds.charCodeAt(digit)
  }
  at = message.writeUInt32BE(DOUBLE_BYTES, at)
  // Turns −0 into 0.
  message.writeDoubleBE(value + 0, at)
  // Faster than continuing a hash.
  if (hashed === undefined) return `lp1:${hash('sha256', message, 'hex')}`
  return `lp1:${hashed.copy().update(message).digest('hex')}`
}

/** What people call a point's sensor, if the point says so. */
export function aliasOf(series: SeriesKey, fields: Point['fields'] = []): string | undefined {
  for (const key of ALIAS_FIELDS) {
    const ofField = fields.find((field) => field.key === key)?.value
    const text = typeof ofField === 'string' ? decodeText(ofField) : tagOf(series, key)
    const alias = asAlias(text ?? '')
    if (alias !== undefined) return alias
  }
  return asAlias(tagOf(series, ALIAS_TAG) ?? '')
}

/** A text as an alias, copied; `undefined` if nothing of it can be one. */
function asAlias(text: string): string | undefined {
  return tidyName(beginningOf(text)) || undefined
}

/** The part of a text that an alias may show; may end in half a character. */
function beginningOf(text: string): string {
  return text.trimStart().slice(0, 2 * nameCharactersMax)
}

function sensorNameOf(series: SeriesKey, { serialTags }: SerialNumberRules): string {
  for (const key of SERIAL_TAGS) {
    const value = tagOf(series, key)
    if (value !== undefined && hexDigits(value) >= SERIAL_HEX_DIGITS_MIN) return value
  }
  for (const key of serialTags) {
    const value = tagOf(series, key)
    if (value !== undefined) return value
  }
  const domain = tagOf(series, 'domain')
  const entity = tagOf(series, 'entity_id')
  if (domain !== undefined && entity !== undefined) return `${domain}.${entity}`
  const values = series.tags.filter(({ key }) => !UNNAMED_TAGS.has(key)).map(({ value }) => value)
  return decodeText([series.measurement, ...values].join('.'))
}

/** Turns any text into a unique serial number. */
function asSerialNumber(text: string): string {
  const allowed = text.replaceAll(FORBIDDEN, '_')
  const isFit = allowed === text && ANY_LETTER_OR_DIGIT.test(text)
  if (isFit && text.length <= SERIAL_CHARACTERS_MAX) return copyText(text)
  return hashedName(text, hash('sha256', text, 'hex'))
}

function hashedName(text: string, digits: string): string {
  const head = text.replaceAll(FORBIDDEN, '_').slice(0, HASHED_HEAD_CHARACTERS)
  return copyText(`${head}.${digits.slice(0, HASH_DIGITS)}`)
}

function isWorldwideTag({ key, value }: Tag): boolean {
  if (WORLDWIDE_TAGS.has(key)) return true
  return WORLDWIDE_IF_LONG.has(key) && hexDigits(value) >= WORLDWIDE_HEX_DIGITS_MIN
}

function hexDigits(text: string): number {
  return text.replaceAll(/[^0-9A-Fa-f]/g, '').length
}

function afterLength(piece: string): Buffer {
  const bytes = Buffer.alloc(LENGTH_BYTES + piece.length)
  bytes.writeUInt32BE(piece.length)
  bytes.write(piece, LENGTH_BYTES, 'latin1')
  return bytes
}
