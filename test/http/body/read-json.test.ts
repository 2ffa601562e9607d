// Goal: a large body is read as JSON.parse and the schemas would read it, and costs no more than
// its bytes. Method: texts of any kind go both ways; what is left out is said value by value.

import { expect } from 'chai'
import fc from 'fast-check'
import type { RequestFault } from '../../../src/domain/errors.ts'
import {
  isTooLong,
  readJson,
  readWithinBounds,
  Repeated,
  TOO_LONG,
} from '../../../src/http/body/read-json.ts'
import { readMeasurement } from '../../../src/http/batch/read-element.ts'
import { readBatch } from '../../../src/http/batch/read-batch.ts'

const MIB = 2 ** 20
let turns = 0
const letOthers = async () => void turns++
/** As a large body. */
const within = (text: string) => {
  const bytes = Buffer.from(text + ' '.repeat(16 * 1024))
  return readWithinBounds(bytes, letOthers, 'measurements')
}
const whole = async (text: string) => readJson(Buffer.from(text), letOthers, 'measurements')

async function codeOf(reading: Promise<unknown>): Promise<unknown> {
  try {
    return await reading
  } catch (error) {
    return (error as { code?: string }).code ?? error
  }
}

/** What becomes of a text as a batch and as a measurement. */
async function faultsOf(reading: Promise<unknown>): Promise<unknown> {
  const body = await codeOf(reading)
  if (body === 'malformed_json') return body
  return [readBatch, readMeasurement].map((read) => {
    const faults: RequestFault[] = []
    return [read(body, faults), faults]
  })
}

const member = fc.oneof(
  fc.constantFrom('sn', 'temp', 'event_id', 'timestamp', '__proto__', 'toString', 'length'),
  fc.string(),
)
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('A1', 21.5, null, '2026-11-20T10:15:00Z', -0, 1e300) },
  fc.jsonValue({ maxDepth: 3 }),
)
const element = fc.oneof(
  fc.record({ sn: value, temp: value }),
  fc.dictionary(member, value, { maxKeys: 40 }),
  value,
)
const body = fc.oneof(
  fc.record({ measurements: fc.array(element, { maxLength: 20 }) }),
  fc.record({ measurements: value, more: value }),
  element,
)
/** Some names are spelt as others are, plainly or with an escape. */
const text = fc
  .tuple(body, fc.constantFrom('sn', 's\\u006e', 'measurements'))
  .map(([json, name]) =>
    JSON.stringify(json).replaceAll(/"(?:event_id|timestamp|more)":/g, `"${name}":`),
  )
const broken = fc
  .tuple(text, fc.nat(200), fc.constantFrom('', '"', ',', ']', '}', ' ', '\\u00', '0', '\u0001'))
  .map(([json, at, put]) => json.slice(0, at) + put + json.slice(at + 1))

describe('readJson', () => {
  it('finds in a large body what it finds in a small one', async () => {
    const check = async (json: string) => {
      expect(await faultsOf(within(json))).to.deep.equal(await faultsOf(whole(json)))
    }
    await fc.assert(fc.asyncProperty(text, check), { numRuns: 3_000 })
    await fc.assert(fc.asyncProperty(broken, check), { numRuns: 3_000 })
  })

  it('reads texts and numbers as JSON.parse does', async () => {
    const flat = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 0 }))
    const check = async (json: object) => {
      const sent = JSON.stringify(json)
      expect(await within(sent)).to.deep.equal(JSON.parse(sent))
    }
    await fc.assert(fc.asyncProperty(flat, check))
    const escapes = '{"\\u0061\\n":"\\ud83d\\ude00 \\ud800\\/","n":-1.5E+2,"z":-0}'
    expect(await within(escapes)).to.deep.equal(JSON.parse(escapes))
  })

  it('leaves out what can only be wrong', async () => {
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 33 }, (_, i) => [i, i])))
    const batch = await within(`{"measurements":[{"sn":{"a":[1]},"temp":[[]]},${many},[1]]}`)
    expect(batch).to.deep.equal({ measurements: [{ sn: {}, temp: [] }, TOO_LONG, []] })
    expect(await within(many)).to.equal(TOO_LONG)
    expect(isTooLong(await whole(many))).to.equal(true)
    const { measurements } = (await within(`{"measurements":[${'1,'.repeat(9_999)}1]}`)) as {
      measurements: unknown[]
    }
    expect(measurements).to.have.length(501)
  })

  it('tells of a member that comes twice, however its name is spelt', async () => {
    const twice = new Repeated('a', 'b')
    const json = '{"sn":"\\":","e\\u0069d":"a" , "eid" :"b","eid":"c","n":{"eid":"a","eid":"b"}}'
    const list = '{"measurements":[{"eid":"a","eid":"b"},{"__proto__":1,"__proto__":2}]}'
    for (const read of [within, whole]) {
      expect(await read(json)).to.deep.equal({ sn: '":', eid: twice, n: {} })
      const { measurements } = (await read(list)) as { measurements: unknown[] }
      expect(measurements[0]).to.deep.equal({ eid: twice })
      expect(JSON.stringify(measurements[1])).to.equal('{"__proto__":{"repeated":[1,2]}}')
    }
  })

  it('reads a small body whole that only looks as if it repeated a member', async () => {
    const once = '{"name":"a \\": b","scopes":["x"],"limits":{"min":1},"more":[{"a":1},{"a":1}]}'
    expect(await whole(once)).to.deep.equal(JSON.parse(once))
    expect(await whole('null')).to.equal(null)
  })

  it('converts no number of more than 64 characters, in large bodies and small ones', async () => {
    const digit = fc.constantFrom(...'123456789')
    const parts = fc.record({
      sign: fc.constantFrom('', '-'),
      middle: fc.constantFrom('', '.', 'e+', 'E-', 'e'),
      length: fc.integer({ min: 60, max: 70 }),
      digits: fc.string({ unit: digit, minLength: 70, maxLength: 70 }),
    })
    const number = parts.map(({ sign, middle, length, digits }) =>
      `${sign}1${middle}${digits}`.slice(0, length),
    )
    const check = async (long: string) => {
      const read = long.length > 64 ? NaN : (JSON.parse(long) as number)
      const texts = JSON.stringify({ text: long, after: '\\"' })
      const sent = `{"texts":${texts},"measurements":[{"n":${long}, "t":"${long}"}],"n":${long}\n}`
      const expected = { texts: {}, measurements: [{ n: read, t: long }], n: read }
      expect(await within(sent)).to.deep.equal(expected)
      expect(await whole(sent)).to.deep.include({ n: read, measurements: expected.measurements })
      expect(await whole(long)).to.deep.equal(read)
    }
    await fc.assert(fc.asyncProperty(number, check))
  })

  it('passes over megabytes, and lets others have their turn', async () => {
    const half = 2 * MIB - 8
    turns = 0
    expect(await within('['.repeat(half) + ']'.repeat(half))).to.deep.equal([])
    expect(await codeOf(within('['.repeat(4 * MIB)))).to.equal('malformed_json')
    expect(await within(`{"temp":1${',"temp":1'.repeat(MIB / 4)}}`)).to.deep.equal({
      temp: new Repeated(1, 1),
    })
    const lists = '"measurements":[{"sn":"A"}],'.repeat(MIB / 8)
    const list = [{ sn: 'A' }]
    expect(await within(`{${lists}"measurements":1}`)).to.deep.equal({
      measurements: new Repeated(list, list),
    })
    expect(turns).to.be.greaterThan(80)
    const deep = `{"sn":${'{"a":'.repeat(9_999)}1${'}'.repeat(9_999)}}`
    expect(await within(deep)).to.deep.equal({ sn: {} })
    expect(await within(`{"temp":${'1'.repeat(MIB)}}`)).to.deep.equal({ temp: NaN })
  })
})
