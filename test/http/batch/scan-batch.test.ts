// Goal: a batch that is scanned is read as JSON.parse and the schema read it, what they refuse is
// never scanned, and everyday batches always are.
// Method: bodies of every kind, and bodies of which bytes were changed, go both ways.

import { expect } from 'chai'
import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { StampedRequest } from '../../../bench/bodies.ts'
import { ServiceError } from '../../../src/domain/errors.ts'
import type { RequestFault } from '../../../src/domain/errors.ts'
import type {
  SubmittedMeasurement,
  SubmittedMeasurements,
} from '../../../src/domain/measurement.ts'
import { formatInstant } from '../../../src/domain/time.ts'
import { readBatch } from '../../../src/http/batch/read-batch.ts'
import { BatchScanner } from '../../../src/http/batch/scan-batch.ts'

const oftenRuns = { numRuns: 3_000 }

// One for all bodies: nothing of one may turn up in the next.
const scanner = new BatchScanner()

/** What JSON.parse and the schema read, `undefined` where they refuse. */
function readLongWay(body: Buffer): SubmittedMeasurement[] | undefined {
  const faults: RequestFault[] = []
  if (!isUtf8(body)) return undefined
  try {
    const { measurements } = readBatch(JSON.parse(body.toString('utf8')), faults)
    return faults.length === 0 ? listOf(measurements) : undefined
  } catch (error) {
    if (error instanceof ServiceError || error instanceof SyntaxError) return undefined
    throw error
  }
}

function listOf(measurements: SubmittedMeasurements): SubmittedMeasurement[] {
  return Array.from(
    { length: measurements.length },
    (_, index) => measurements.at(index) ?? expect.fail(`no element ${index}`),
  )
}

/** Scans a body, and holds what is read against the long way. @returns whether it is scanned */
function isScanned(body: Buffer): boolean {
  const scanned = scanner.scan(body)
  if (scanned === undefined) return false
  const elements = listOf(scanned)
  expect(elements).to.deep.equal(readLongWay(body))
  expect(scanned.at(scanned.length)).to.equal(undefined)
  elements.forEach(({ eventId }, at) => expect(scanned.eventIds.at(at)).to.equal(eventId))
  return true
}

const isScannedText = (text: string) => isScanned(Buffer.from(text))
const isScannedValue = (value: unknown) => isScannedText(JSON.stringify(value))

// Texts of values: mostly everyday ones, some of them rare, some of them wrong.

const digits = (constraints: { minLength?: number; maxLength: number }) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), ...constraints })
const sign = fc.constantFrom('', '', '', '-')
const plainNumber = fc
  .tuple(sign, fc.nat(9_999), fc.option(digits({ minLength: 1, maxLength: 11 })))
  .map(([minus, whole, fraction]) => `${minus}${whole}${fraction === null ? '' : `.${fraction}`}`)
  .filter((text) => Number(text) >= -273.15)
const oddNumber = fc.oneof(
  fc
    .tuple(sign, digits({ maxLength: 20 }), fc.constantFrom('', '.'), digits({ maxLength: 30 }))
    .map((parts) => parts.join('')),
  fc.double({ min: -274, max: 10_001 }).map((value) => JSON.stringify(value)),
  fc.constantFrom('-0', '-0.0', '0e0', '1e3', '1E-2', '1e999', '01', '-', '+1', '1.', '.5', 'null'),
  fc.constantFrom('-273.15', '-273.150', '-273.15000000000001', '-273.1500000000000000000000001'),
  fc.constantFrom('10000', '10000.0', '10000.000000000001', '9999.9999999999999999999999999'),
  fc.constantFrom('0.1234567890123456', '123456789012345', '1234567890123456', '"1"', 'NaN'),
)

const instantMs = fc.integer({
  min: Date.parse('0000-01-01T00:00:00Z'),
  max: Date.parse('9999-12-31T23:59:59.999Z'),
})
const lately = fc.integer({ min: Date.UTC(2026, 1, 27), max: Date.UTC(2026, 2, 2) })
const plainInstant = fc
  .tuple(lately, fc.option(digits({ minLength: 1, maxLength: 9 })))
  .map(([atMs, fraction]) => {
    const second = formatInstant(atMs).slice(0, 19)
    return `"${second}${fraction === null ? '' : `.${fraction}`}Z"`
  })
const twoDigits = fc.nat(99).map((value) => String(value).padStart(2, '0'))
const oddInstant = fc.oneof(
  instantMs.map((atMs) => `"${formatInstant(atMs)}"`),
  fc
    .tuple(
      fc.constantFrom('2024', '2026', '1900', '2000', '0000', '+2026'),
      fc.tuple(fc.constantFrom('02', '02', '13', '00', '12'), fc.constantFrom('28', '29', '31')),
      fc.tuple(fc.constantFrom('T', 't', ' '), twoDigits, twoDigits, twoDigits),
      fc.constantFrom('', '.', '.5', '.123456789', '.1234567890'),
      fc.constantFrom('Z', 'z', '', '+01:00', '-23:59', '+24:00', '+0100', 'ZZ'),
    )
    .map(([year, day, [t, hour, minute, second], fraction, zone]) => {
      return `"${year}-${day.join('-')}${t}${hour}:${minute}:${second}${fraction}${zone}"`
    }),
  fc.constantFrom('"2016-12-31T23:59:60Z"', '"2026-02-28T24:00:00Z"', '"2026"', '""', 'null', '0'),
)

const plainText = fc
  .string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 128 })
  .filter((text) => !/["\\]/.test(text))
const plainEventId = fc.oneof(
  fc.uuid().map((id) => `"${id}"`),
  plainText.map((id) => `"${id}"`),
)
const oddEventId = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 130 }).map((id) => JSON.stringify(id)),
  fc.string({ unit: 'grapheme-ascii', maxLength: 3 }).map((id) => `"${id}"`),
  fc.constantFrom('null', '""', '"\\u0041"', '"\u007f"', '"\t"', '"\u001f"', '"ä"', '7', '"'),
  fc.constantFrom(127, 128, 129).map((length) => `"${'x'.repeat(length)}"`),
)

const plainSerialNumber = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('"28FF641E93160434"', '"A1"', '"A"', '"A12"') },
  { weight: 1, arbitrary: fc.stringMatching(/^[:._-]{0,3}[0-9A-Za-z][0-9A-Za-z:._-]{0,60}$/) },
)
const quoted = plainSerialNumber.map((text) => (text.startsWith('"') ? text : `"${text}"`))
const oddSerialNumber = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 5 }).map((text) => `"${text}"`),
  fc.constantFrom('"-"', '"::"', '""', '"A\\u0031"', '"ä"', '"A\n"', 'null', '5', '["A"]'),
  fc.constantFrom(63, 64, 65).map((length) => `"${'x'.repeat(length)}"`),
)

/** Mostly none. */
const space = fc.oneof(
  { weight: 9, arbitrary: fc.constant('') },
  { weight: 2, arbitrary: fc.string({ unit: fc.constantFrom(...' \t\r\n'), maxLength: 3 }) },
)

type Member = readonly [name: string, value: string]

const member = (name: string, value: fc.Arbitrary<string>): fc.Arbitrary<Member> =>
  value.map((text) => [name, text])

interface Kinds {
  readonly eventId: fc.Arbitrary<string>
  readonly serialNumber: fc.Arbitrary<string>
  readonly number: fc.Arbitrary<string>
  readonly instant: fc.Arbitrary<string>
}

const plain: Kinds = {
  eventId: plainEventId,
  serialNumber: quoted,
  number: plainNumber,
  instant: plainInstant,
}
const any: Kinds = {
  eventId: fc.oneof({ weight: 3, arbitrary: plainEventId }, { weight: 1, arbitrary: oddEventId }),
  serialNumber: fc.oneof(
    { weight: 5, arbitrary: quoted },
    { weight: 1, arbitrary: oddSerialNumber },
  ),
  number: fc.oneof({ weight: 2, arbitrary: plainNumber }, { weight: 1, arbitrary: oddNumber }),
  instant: fc.oneof({ weight: 2, arbitrary: plainInstant }, { weight: 1, arbitrary: oddInstant }),
}

/** Members of an element, in any order. */
function membersOf({ eventId, serialNumber, number, instant }: Kinds): fc.Arbitrary<Member[]> {
  const required = fc.tuple(member('sn', serialNumber), member('temp', number))
  const optional = fc.tuple(
    fc.option(member('event_id', eventId)),
    fc.option(member('timestamp', instant)),
  )
  return fc
    .tuple(required, optional)
    .map(([all, some]) => [...all, ...some.filter((each) => each !== null)])
    .chain((members) => fc.shuffledSubarray(members, { minLength: members.length }))
}

/** With members that are too many or too few. */
const oddMembers = fc.oneof(
  { weight: 8, arbitrary: membersOf(any) },
  { weight: 1, arbitrary: membersOf(any).chain((members) => fc.shuffledSubarray(members)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(membersOf(any), membersOf(any))
      .map(([members, more]) => [...members, ...more.slice(0, 1)]),
  },
  {
    weight: 1,
    arbitrary: membersOf(any).map((members): Member[] => [...members, ['tem', '1'], ['', '{}']]),
  },
)

function bodyOf(elements: fc.Arbitrary<readonly Member[]>): fc.Arbitrary<string> {
  const spaced = (token: string) => fc.tuple(space, fc.constant(token), space)
  const object = elements.chain((members) => {
    const parts = members.map(([name, value]) =>
      fc.tuple(spaced(`"${name}"`), fc.constant(':'), spaced(value)).map((all) => flat(all)),
    )
    return fc.tuple(...parts).map((all) => `{${all.join(',')}}`)
  })
  const list = fc.array(fc.tuple(space, object, space).map(flat), { minLength: 1, maxLength: 8 })
  return fc
    .tuple(spaced('"measurements"'), list, spaced(''), space)
    .map(([name, objects, before, after]) => {
      return `${flat(before)}{${flat(name)}:[${objects.join(',')}]${after}}${after}`
    })
}

function flat(parts: readonly (string | readonly string[])[]): string {
  return parts.flat().join('')
}

const plainBody = bodyOf(membersOf(plain))

/** What is done to the bytes of a body. */
interface Change {
  readonly kind: 'insert' | 'replace' | 'delete' | 'swap' | 'cut' | 'repeat'
  readonly at: number
  readonly byte: number
  readonly length: number
}

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('insert', 'replace', 'replace', 'delete', 'swap', 'cut', 'repeat'),
  at: fc.nat(),
  byte: fc.oneof(
    fc.constantFrom(...Buffer.from('"\\{}[],:.-+eE0129ZTt nul \t\n\r')),
    fc.constantFrom(0, 31, 127, 128, 0xc3, 0xa4, 0xef, 0xbb, 0xbf, 255),
    fc.nat(255),
  ),
  length: fc.integer({ min: 1, max: 40 }),
})

function changed(body: Buffer, { kind, at: anywhere, byte, length }: Change): Buffer {
  const at = anywhere % Math.max(1, body.length)
  const before = body.subarray(0, at)
  const rest = body.subarray(at)
  const one = Buffer.from([byte])
  if (kind === 'insert') return Buffer.concat([before, one, rest])
  if (kind === 'replace') return Buffer.concat([before, one, rest.subarray(1)])
  if (kind === 'delete') return Buffer.concat([before, rest.subarray(1)])
  if (kind === 'cut') return Buffer.from(before)
  if (kind === 'repeat') return Buffer.concat([before, rest.subarray(0, length), rest])
  return Buffer.concat([before, rest.subarray(1, 2), rest.subarray(0, 1), rest.subarray(2)])
}

describe('BatchScanner', () => {
  it('reads every batch of the everyday form, in any order and with any white space', () => {
    fc.assert(
      fc.property(plainBody, (text) => {
        expect(isScannedText(text)).to.equal(true)
      }),
      { numRuns: 1_000 },
    )
  })

  it('reads nothing that JSON.parse and the schema refuse, and nothing otherwise', () => {
    fc.assert(
      fc.property(bodyOf(oddMembers), (text) => void isScannedText(text)),
      oftenRuns,
    )
  })

  it('reads a body of which bytes were changed as it reads any other', () => {
    const changes = fc.array(change, { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(plainBody, changes, (text, all) => {
        isScanned(all.reduce(changed, Buffer.from(text)))
      }),
      oftenRuns,
    )
  })

  // Up to 15 digits are divided here, and the difference would show from 2^53 on.
  it('takes a long decimal number for the double that JSON.parse takes it for', () => {
    const read = (number: string) =>
      scanner.scan(Buffer.from(`{"measurements":[{"sn":"A","temp":${number}}]}`))?.at(0)
    const decimals = fc
      .tuple(
        fc.boolean(),
        digits({ minLength: 12, maxLength: 18 }),
        fc.integer({ min: 9, max: 16 }),
      )
      .map(([isNegative, integer, places]) => {
        const text = integer.replace(/^0+/, '').padStart(places + 1, '0')
        const point = text.length - places
        const fraction = places === 0 ? '' : `.${text.slice(point)}`
        return `${isNegative ? '-' : ''}${text.slice(0, point)}${fraction}`
      })
      .filter((text) => Number(text) >= -273.15 && Number(text) <= 10_000)
    fc.assert(
      fc.property(decimals, (text) => {
        expect(read(text)?.tempCelsius).to.equal((JSON.parse(text) as number) + 0)
      }),
      { numRuns: 20_000 },
    )
  })

  it('reads the bodies of the benchmark and of common senders', () => {
    const request = new StampedRequest({ connection: 0, size: 500, token: '', startMs: 0 }).stamp()
    expect(isScanned(request.subarray(request.indexOf('\r\n\r\n') + 4))).to.equal(true)
    const body = {
      measurements: [
        {
          event_id: '0192f3c1-7a44-7cc0-9d5e-0b1d6e1c7a55',
          sn: '28FF641E93160434',
          temp: 21.4,
          timestamp: '2026-11-20T10:15:00Z',
        },
        { sn: '28-ff-64', temp: -0.062_5, timestamp: '2026-11-20T11:15:00.5+01:00' },
        { sn: '28-ff-64', temp: 20.987_499_237_060_547 },
      ],
    }
    expect(isScannedValue(body)).to.equal(true)
    expect(isScannedText(JSON.stringify(body, null, 2))).to.equal(true)
    // As Python writes it.
    const python = JSON.stringify(body, null, 1).replaceAll(/\n */g, ' ')
    expect(isScannedText(python)).to.equal(true)
  })

  it('reads as many elements, and as many different sensors, as a batch may have', () => {
    const measurements = Array.from({ length: 501 }, (_, at) => ({ sn: `S${at}`, temp: at }))
    expect(isScannedValue({ measurements: measurements.slice(0, 500) })).to.equal(true)
    expect(isScannedValue({ measurements })).to.equal(false)
    expect(isScannedValue({ measurements: [] })).to.equal(false)
    const shortest = Array.from({ length: 500 }, () => '{"sn":"A","temp":0}').join(',')
    expect(isScannedText(`{"measurements":[${shortest}]}`)).to.equal(true)
  })

  it('knows sensors again in whatever order they come', () => {
    const order = fc.array(
      fc.constantFrom('A', 'A1', 'A12', 'A123', 'B', 'a1', '28FF641E93160434'),
      {
        minLength: 1,
        maxLength: 40,
      },
    )
    fc.assert(
      fc.property(order, (names) => {
        const measurements = names.map((sn, temp) => ({ sn, temp }))
        expect(isScannedValue({ measurements })).to.equal(true)
        const scanned = scanner.scan(Buffer.from(JSON.stringify({ measurements })))
        expect(scanned && listOf(scanned).map((each) => each.serialNumber)).to.deep.equal(names)
      }),
    )
  })

  it('reads times near the edges of a day as it reads one alone', () => {
    const near = (edge: string, beyond: string) => fc.constantFrom('00', '09', edge, edge, beyond)
    const zone = fc.constantFrom('Z', 'Z', 'Z', 'z', '+00:01', '-23:59', '')
    const fraction = fc.oneof(
      fc.constant(''),
      digits({ maxLength: 10 }).map((text) => `.${text}`),
    )
    const time = fc
      .tuple(near('23', '24'), near('59', '60'), near('59', '60'), fraction, zone)
      .map(([hour, minute, second, ...rest]) => `${hour}:${minute}:${second}${rest.join('')}`)
    const times = fc.array(time, { minLength: 2, maxLength: 4 })
    fc.assert(
      fc.property(times, (all) => {
        const timestamps = all.map((text) => `2026-11-20T${text}`)
        isScannedValue({
          measurements: timestamps.map((timestamp) => ({ sn: 'A', temp: 1, timestamp })),
        })
      }),
      oftenRuns,
    )
  })

  it('reads times of different days, and every day of a leap year', () => {
    const measurements = Array.from({ length: 500 }, (_, at) => ({
      sn: 'A',
      temp: at,
      timestamp: formatInstant(Date.UTC(2024, 0, 1) + at * 86_399_999),
    }))
    expect(isScannedValue({ measurements })).to.equal(true)
    const noDay = { sn: 'A', temp: 1, timestamp: '2023-02-29T00:00:00Z' }
    expect(isScannedValue({ measurements: [...measurements.slice(1), noDay] })).to.equal(false)
  })

  for (const { what, body } of [
    { what: 'a null', body: '{"measurements":[{"event_id":null,"sn":"A","temp":1}]}' },
    { what: 'a member more', body: '{"measurements":[{"sn":"A","temp":1,"unit":"C"}]}' },
    { what: 'a member twice', body: '{"measurements":[{"sn":"A","temp":1,"temp":1}]}' },
    { what: 'an escape', body: '{"measurements":[{"sn":"\\u0041","temp":1}]}' },
    { what: 'a long number', body: `{"measurements":[{"sn":"A","temp":1.${'0'.repeat(63)}}]}` },
    { what: 'an exponent', body: '{"measurements":[{"sn":"A","temp":1e1}]}' },
    { what: 'more after its end', body: '{"measurements":[{"sn":"A","temp":1}]}]' },
    { what: 'a byte order mark', body: '\ufeff{"measurements":[{"sn":"A","temp":1}]}' },
    { what: 'nothing', body: '' },
  ]) {
    it(`leaves a body with ${what} to the schema`, () => {
      expect(isScannedText(body)).to.equal(false)
    })
  }
})
