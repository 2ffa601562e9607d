// Goal: whoever sends what is not JSON is told where and, of the mistakes made most, what to do;
// never more of the body than a character. Method: a table of bodies, against the whole service;
// and one change at any place, before which everything has to be the beginning of JSON.

import { expect } from 'chai'
import fc from 'fast-check'
import { gzipSync } from 'node:zlib'
import { readJson } from '../../../src/http/body/read-json.ts'
import { send } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

const ONE = '/api/v1/measurements'
const BATCH = `${ONE}/batch`
const SKIP = `${BATCH}?on_invalid=skip`
const SIGN_IN = '/api/mobile/v1/auth/link'
const GZIP = 'The body looks like gzip: send it packed once, with Content-Encoding: gzip.'
const noNumber = (word: string, at: number, pointer: string) =>
  `${word} at byte ${at}, in ${pointer}, is no JSON number: leave the measurement out, or send ` +
  'null with on_invalid=skip, which rejects it alone.'
const unexpected = (what: string, at: number, place = '') =>
  `The body is not JSON: unexpected ${what} at byte ${at}${place}.`
const early = (after: number, pointer: string) =>
  `The JSON ends too early, after byte ${after}, in ${pointer}.`

const good = '{"sn":"A1","temp":1}'
const batch = (...elements: readonly string[]) => `{"measurements":[${elements.join(',')}]}`
/** A body of half a megabyte in which everything else is as it should be. */
const long = (element: string) =>
  batch(...Array.from({ length: 499 }, () => good + ' '.repeat(1_000)), element)

const TEMP = '/measurements/0/temp'
const MIXED = Buffer.from(`"${'ö€😀'.repeat(20_000)}`)

const BODIES: readonly (readonly [path: string, body: string | Buffer, detail: string])[] = [
  [ONE, '', 'The body is empty.'],
  [ONE, '\uFEFF \n', 'The body is empty.'],
  [
    ONE,
    '{"sn":"A1","temp":NaN}',
    'NaN at byte 19, in /temp, is no JSON number: send a number, or nothing.',
  ],
  [BATCH, batch(good, '{"temp":NaN}'), noNumber('NaN', 47, '/measurements/1/temp')],
  [SKIP, batch('{"temp":-Infinity}'), noNumber('-Infinity', 26, TEMP)],
  [SKIP, batch('{"temp":nan}'), noNumber('nan', 26, TEMP)],
  [BATCH, batch('{"temp":+inf}'), noNumber('+inf', 26, TEMP)],
  [BATCH, `\uFEFF${batch('NaN')}`, noNumber('NaN', 21, '/measurements/0')],
  [BATCH, long('{"temp":NaN}'), noNumber('NaN', 509_505, '/measurements/499/temp')],
  [BATCH, batch('{"temp":nano}'), unexpected('"n"', 26, `, in ${TEMP}`)],
  [BATCH, batch('{"temp":21,5}'), unexpected('"5"', 29, ', in /measurements/0')],
  [BATCH, batch(good, ''), unexpected('"]"', 39, ', in /measurements/1')],
  [BATCH, batch("{'sn':'A1'}"), unexpected('"\'"', 19, ', in /measurements/0')],
  [BATCH, batch(good).slice(0, -2), early(37, '/measurements')],
  [BATCH, long('{"sn":"A1","te'), early(509_512, '/measurements/499')],
  [ONE, '{"sn":"A\n1"}', unexpected('character U+000a', 9, ', in /sn')],
  [ONE, '{"sn":"A1","temp":1,}', unexpected('"}"', 21)],
  [ONE, '{"sn":"\\x"}', unexpected('"x"', 9, ', in /sn')],
  [ONE, `${good}\n${good}`, unexpected('"{"', 22, ', after its end: a body is one value')],
  [ONE, `{"thd_live_${'x'.repeat(43)}":thd_live_`, unexpected('"t"', 57)],
  [ONE, 'ß', unexpected('character', 1)],
  [ONE, Buffer.from('{"sn":"Ö"}', 'latin1'), 'The body is not valid UTF-8 at byte 8.'],
  [
    BATCH,
    Buffer.concat([MIXED, Buffer.of(0xe2, 0x82)]),
    'The body is not valid UTF-8 at byte 180002.',
  ],
  [ONE, gzipSync(good), GZIP],
  [BATCH, gzipSync(batch(good)), GZIP],
  [SIGN_IN, '{"code":', early(8, '/code')],
  [SIGN_IN, '', 'The body is empty.'],
]

/** What is said of a body; `undefined`: it is JSON. */
async function detailOf(body: Buffer): Promise<string | undefined> {
  try {
    await readJson(body, async () => {}, 'measurements')
    return undefined
  } catch (error) {
    const { code, detail } = error as { readonly code: string; readonly detail: string }
    expect(code).to.equal('malformed_json')
    return detail
  }
}

describe('the place that is told', () => {
  const secret = `thd_live_${'x'.repeat(43)}`
  const element = { [secret]: secret, event_id: secret, sn: 'A1', temp: -1.5e3, more: [[], {}] }
  const text = JSON.stringify({ measurements: [element, { sn: null, temp: true }], more: 'ö\n' })
  const change = fc.record({
    at: fc.nat(text.length),
    removed: fc.nat(3),
    added: fc.constantFrom('', '"', '}', ']', ',', ':', '{', '[', 'x', '-', 'NaN', '\\', '\n', '0'),
    spaces: fc.constantFrom(0, 0, 20_000),
  })

  it('is the first that cannot follow what is before it, and no secret is told', async () => {
    const property = fc.asyncProperty(change, async ({ at, removed, added, spaces }) => {
      const changed = text.slice(0, at) + added + text.slice(at + removed)
      const body = Buffer.from(' '.repeat(spaces) + changed)
      const detail = await detailOf(body)
      if (detail === undefined) {
        JSON.parse(changed)
        return
      }
      expect(detail)
        .to.match(/^[^\n]{1,200}$/)
        .and.not.to.contain('thd_live_')
      const [, place = body.length + 1] = /at byte (\d+)/.exec(detail) ?? []
      const before = body.subarray(0, Number(place) - 1)
      const begun = new RegExp(`^The JSON ends too early, after byte ${before.length}\\b|empty`)
      expect((await detailOf(before)) ?? 'empty', `${changed}: ${detail}`).to.match(begun)
    })
    await fc.assert(property, { numRuns: 1_000 })
  })

  it('is exact among characters of any length', async () => {
    for (const character of ['x', 'ö', '€', '😀']) {
      const bytes = Buffer.byteLength(character)
      for (const count of [0, 1, 16_383, 16_384, 16_385, 21_845, 32_768, 65_535, 65_536]) {
        const before = Buffer.from(character.repeat(count))
        const body = Buffer.concat([before, Buffer.of(0xff), Buffer.from(character)])
        const detail = `The body is not valid UTF-8 at byte ${count * bytes + 1}.`
        expect(await detailOf(body)).to.equal(detail)
      }
    }
  })
})

describe('a body that is not JSON', () => {
  let service: TestService
  let token: string
  before(async () => {
    service = await startService()
    token = await service.createToken('a@example.org')
  })
  after(() => service.stop())

  for (const [path, body, detail] of BODIES) {
    it(`to ${path} is told: ${detail}`, async () => {
      const headers = { authorization: `Bearer ${token}` }
      const answer = await send(service.url, { method: 'POST', path, headers, body })
      expect([answer.status, answer.body.code]).to.deep.equal([400, 'malformed_json'])
      expect(answer.body.detail).to.equal(detail)
    })
  }

  it('is told the same where it is compressed', async () => {
    const headers = { 'content-encoding': 'gzip' }
    for (const [body, detail] of [
      ['[', 'The JSON ends too early, after byte 1.'],
      [gzipSync('[]'), GZIP],
    ] as const) {
      const order = { method: 'POST', path: BATCH, token, headers, body: gzipSync(body) }
      expect((await send(service.url, order)).body.detail).to.equal(detail)
    }
  })

  it('may be lines that are compressed', async () => {
    for (const path of ['/api/v2/write', '/write']) {
      const body = gzipSync('t temp=1')
      const { status, body: told } = await send(service.url, { method: 'POST', path, token, body })
      expect([status, told.message ?? told.error]).to.deep.equal([400, GZIP])
    }
  })

  it('is none because of a byte order mark', async () => {
    const mark = (text: string) => `\uFEFF${text}`
    const statusOf = async (path: string, body: string | Buffer, headers = {}) =>
      (await send(service.url, { method: 'POST', path, token, body, headers })).status
    const packed = { 'content-encoding': 'gzip' }
    expect(await statusOf(ONE, mark(good))).to.equal(201)
    expect(await statusOf(BATCH, mark(batch(good)))).to.equal(201)
    expect(await statusOf(BATCH, mark(long(good)))).to.equal(201)
    expect(await statusOf(BATCH, gzipSync(mark(batch(good))), packed)).to.equal(201)
    expect(await statusOf(SIGN_IN, mark('{}'))).to.equal(422)
  })
})
