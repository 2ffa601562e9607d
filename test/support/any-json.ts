// Random request bodies for submissions: any JSON, and some that is almost JSON. Bodies are built
// as text, since JSON.stringify cannot write duplicate members, numbers beyond a double or broken
// escapes. Values of every type appear in every place; names include those that every object
// inherits; headers, compression and single bytes go wrong as well.

import { deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'

export const SINGLE = '/api/v1/measurements'
export const BATCH = '/api/v1/measurements/batch'

/** Longer bodies are cut in the report of a failure. */
const SHOWN_CHARACTERS_MAX = 1_500
/** Faults that an answer lists at most; a service must still find the ones after them. */
const FAULTS_LISTED_MAX = 4_000

export interface AnyBody {
  readonly path: typeof SINGLE | typeof BATCH
  readonly bytes: Buffer
  readonly headers: Readonly<Record<string, string>>
  /** The body before compression; `undefined` when bytes were changed afterwards. */
  readonly text: string | undefined
  /** Whether it must be accepted. */
  readonly isGood: boolean
}

/** The body as one line for the report of a failure. */
export function showBody({ path, bytes, headers, text }: AnyBody): string {
  const shown = text ?? `base64 ${bytes.toString('base64')}`
  const isLong = shown.length > SHOWN_CHARACTERS_MAX
  const cut = isLong ? `${shown.slice(0, SHOWN_CHARACTERS_MAX)}… (${shown.length})` : shown
  return `${path} ${JSON.stringify(headers)} ${cut}`
}

// Texts of values.

const NAMES = ['toString', 'valueOf', 'toJSON', '__proto__', 'constructor', 'hasOwnProperty']
const MORE_NAMES = ['length', 'then', 'at', '0', '', 'sn', 'temp', 'event_id', 'timestamp']
const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NAMES, ...MORE_NAMES, 'measurements') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 5 }) },
)

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }).map((value) => JSON.stringify(value)),
  fc.constantFrom('""', '" "', '"A"', '"null"', '"1"', '"-"', '"\\u0000"', '"\\u0041"', '"\\/"'),
  fc.constantFrom('"\\ud800"', '"\\udc00\\ud800"', '"😀"', '"\ufeff"', '"[object Object]"'),
  fc.constantFrom('"2026-02-30T00:00:00Z"', '"9999-12-31T23:59:59Z"', '"0000-01-01T00:00:00Z"'),
  fc.constantFrom(128, 129, 5_000).map((length) => `"${'x'.repeat(length)}"`),
)

const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => String(value)),
  fc.constantFrom('0', '-0', '-0.0', '1', '-1', '1e400', '-1e400', '1e-400', '-273.15', '10000'),
  fc.constantFrom('-273.16', '10000.1', '12345678901234567890', '9007199254740993', '1E+2'),
  fc.constantFrom(30, 400, 20_000).map((length) => '9'.repeat(length)),
  fc.constantFrom(30, 400).map((length) => `1e${'9'.repeat(length)}`),
)

const nested = fc
  .tuple(fc.constantFrom('[', '{"a":', '[{"toJSON":'), fc.constantFrom(10, 100, 3_000, 20_000))
  .map(([open, depth]) => {
    const close = open.replaceAll(/[^[{]/g, '').split('').toReversed().join('')
    const closing = close.replaceAll('[', ']').replaceAll('{', '}')
    return `${open.repeat(depth)}1${closing.repeat(depth)}`
  })

const long = fc
  .tuple(fc.constantFrom('0', 'null', '{}', '[]', '""'), fc.constantFrom(9, 500, 501, 20_000))
  .map(([item, length]) => `[${Array.from({ length }, () => item).join(',')}]`)

const objectOf = (members: fc.Arbitrary<readonly (readonly [string, string])[]>) =>
  members.map((all) => `{${all.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join()}}`)

const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 6, arbitrary: fc.constantFrom('null', 'true', 'false', '{}', '[]') },
    { weight: 6, arbitrary: text },
    { weight: 6, arbitrary: number },
    { weight: 1, arbitrary: nested },
    { weight: 1, arbitrary: long },
    {
      weight: 3,
      arbitrary: fc.array(tie('value'), { maxLength: 3 }).map((all) => `[${all.join()}]`),
    },
    { weight: 6, arbitrary: objectOf(fc.array(fc.tuple(name, tie('value')), { maxLength: 3 })) },
  ),
}))

// Elements: most of them good but for one detail.

/** Few of each, so that sensors and event ids repeat. */
const GOOD = {
  sn: fc.constantFrom('"A"', '"a"', '"B.1"', '"28FF641E93160434"', '"28-FF-64-1E-93-16-04-34"'),
  temp: fc.constantFrom('-273.15', '-0', '0', '1', '21.5', '1e2', '10000', '0.1234567890123456'),
  event_id: fc.constantFrom('"1"', '"2"', '"toString"', '"__proto__"', '"\\u0041"', '"😀"'),
  timestamp: fc.constantFrom(
    '"2026-03-10T10:00:00Z"',
    '"2026-03-10t10:00:00.123456789z"',
    '"2026-03-10T10:00:00.001+01:30"',
    '"2010-01-01T00:00:00Z"',
  ),
}

type Member = readonly [name: string, value: string]

const goodMembers: fc.Arbitrary<readonly Member[]> = fc
  .record(GOOD, { requiredKeys: ['sn', 'temp'] })
  .map((members) => Object.entries(members))
const goodElement = objectOf(goodMembers)

/** What can go wrong with a good element; some changes leave it good. */
const change = fc.oneof(
  fc.tuple(fc.nat(3), value).map(([at, other]) => (members: readonly Member[]) => {
    const place = at % members.length
    return members.map((member, index): Member => (index === place ? [member[0], other] : member))
  }),
  fc.nat(3).map((at) => (members: readonly Member[]) => {
    return members.filter((_, index) => index !== at)
  }),
  fc.tuple(name, value).map((more) => (members: readonly Member[]) => [...members, more]),
  fc.tuple(name, value).map((more) => (members: readonly Member[]) => [more, ...members]),
  fc.constantFrom(8, 33, 700).map((count) => (members: readonly Member[]) => {
    return [...members, ...unknownMembers(count)]
  }),
)

const spoiltElement = objectOf(
  fc
    .tuple(goodMembers, fc.array(change, { minLength: 1, maxLength: 2 }))
    .map(([members, changes]) => changes.reduce((now, apply) => apply(now), members)),
)
const anyElement = fc.oneof(
  { weight: 4, arbitrary: goodElement },
  { weight: 6, arbitrary: spoiltElement },
  { weight: 1, arbitrary: value },
)

function unknownMembers(count: number): Member[] {
  return Array.from({ length: count }, (_, at): Member => [`unknown ${at}`, 'null'])
}

// Batches.

const batchOf = (elements: readonly string[]) => `{"measurements":[${elements.join()}]}`

/** More faults than an answer lists, followed by other elements, good and wrong. */
const crowdedBatch = fc
  .tuple(
    fc.constantFrom(1, 2, 125, 480),
    fc.array(anyElement, { minLength: 1, maxLength: 4 }),
    fc.array(fc.tuple(fc.constantFrom('sn', 'temp', 'event_id', 'timestamp'), value), {
      minLength: 1,
      maxLength: 4,
    }),
  )
  .map(([crowd, some, wrong]) => {
    const faults = unknownMembers(Math.ceil((FAULTS_LISTED_MAX + 100) / crowd))
    const crowded = `{${faults.map(([key, one]) => `"${key}":${one}`).join()}}`
    const last = wrong.map(([key, one]) => {
      const members = Object.entries({ sn: '"A"', temp: '1', [key]: one })
      return `{${members.map((member) => `"${member[0]}":${member[1]}`).join()}}`
    })
    return batchOf([...Array.from({ length: crowd }, () => crowded), ...some, ...last])
  })

const repeatedBatch = fc
  .tuple(
    fc.constantFrom(10, 100, 498, 499, 500),
    anyElement,
    fc.array(anyElement, { maxLength: 2 }),
  )
  .map(([times, element, rest]) =>
    batchOf([...Array.from({ length: times }, () => element), ...rest]),
  )

const oddBatch = fc.oneof(
  value.map((list) => `{"measurements":${list}}`),
  fc.tuple(anyElement, name, value).map(([element, key, more]) => {
    return `{"measurements":[${element}],${JSON.stringify(key)}:${more}}`
  }),
  fc.tuple(value, anyElement).map(([first, element]) => {
    return `{"measurements":${first},"measurements":[${element}]}`
  }),
  value,
)

const goodBatch = fc.array(goodElement, { minLength: 1, maxLength: 6 }).map(batchOf)
const anyBatch = fc.oneof(
  { weight: 10, arbitrary: fc.array(anyElement, { minLength: 1, maxLength: 6 }).map(batchOf) },
  { weight: 3, arbitrary: oddBatch },
  { weight: 1, arbitrary: repeatedBatch },
  { weight: 1, arbitrary: crowdedBatch },
)

// Whole requests.

const JSON_TYPE = { 'content-type': 'application/json' }
const SPACE = [' ', '\t', '\r\n', ' '.repeat(70_000)]

const surrounded = (body: fc.Arbitrary<string>) =>
  fc.oneof(
    { weight: 20, arbitrary: body },
    { weight: 1, arbitrary: body.map((inner) => `\ufeff${inner}`) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom('', ...SPACE), body, fc.constantFrom(...SPACE, '\u0000', ']', '1'))
        .map((parts) => parts.join('')),
    },
  )

const headers = fc.oneof(
  { weight: 12, arbitrary: fc.constant(JSON_TYPE) },
  { weight: 2, arbitrary: fc.constant({ ...JSON_TYPE, 'transfer-encoding': 'chunked' }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        'Application/JSON ; Charset="UTF-8"',
        'application/json; charset=utf-16',
        'application/json;',
        'application/problem+json',
        'text/plain',
        '',
      )
      .map((type) => ({ 'content-type': type })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('identity', 'gzip', 'deflate', 'br', 'gzip, gzip', '')
      .map((encoding) => ({ ...JSON_TYPE, 'content-encoding': encoding })),
  },
)

/** Bytes that matter to JSON or UTF-8. */
const insertion = fc.constantFrom(
  ...['"', '{', '}', '[', ']', ',', ':', '\\', '-', 'e', '0'].map((token) => Buffer.from(token)),
  Buffer.from([0]),
  Buffer.from([0xff]),
  Buffer.from([0xc0, 0x80]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xef, 0xbb, 0xbf]),
)

/** Replaces some bytes by a token, repeats them, or cuts the body off. */
const mutation = fc
  .tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(12), fc.option(insertion))
  .map(([where, length, other]) => (bytes: Buffer): Buffer => {
    const start = Math.floor(where * bytes.length)
    const stretch = bytes.subarray(start, start + length)
    const middle = other ?? Buffer.concat([stretch, stretch])
    const isCut = length === 0 && other === null
    if (isCut) return bytes.subarray(0, start)
    return Buffer.concat([bytes.subarray(0, start), middle, bytes.subarray(start + length)])
  })

const goodBody = fc
  .oneof(
    goodElement.map((body) => ({ path: SINGLE, body }) as const),
    goodBatch.map((body) => ({ path: BATCH, body }) as const),
  )
  .map(({ path, body }): AnyBody => {
    return { path, bytes: Buffer.from(body), headers: JSON_TYPE, text: body, isGood: true }
  })

const oddBody = fc
  .oneof(
    {
      weight: 2,
      arbitrary: surrounded(anyElement).map((body) => ({ path: SINGLE, body }) as const),
    },
    { weight: 3, arbitrary: surrounded(anyBatch).map((body) => ({ path: BATCH, body }) as const) },
  )
  .chain(({ path, body }) =>
    fc.record({
      path: fc.constant(path),
      bytes: fc.constant(Buffer.from(body)),
      headers,
      text: fc.constant(body),
      isGood: fc.constant(false),
    }),
  )

const mutatedBody = fc
  .tuple(fc.oneof(goodBody, oddBody), fc.array(mutation, { minLength: 1, maxLength: 3 }))
  .map(([body, mutations]): AnyBody => {
    const bytes = mutations.reduce((now, mutate) => mutate(now), body.bytes)
    return { ...body, bytes, text: undefined, isGood: false }
  })

const packing = fc.constantFrom(
  { encoding: 'gzip', pack: gzipSync },
  { encoding: 'deflate', pack: deflateSync },
)

const packedBody = fc
  .tuple(fc.oneof(goodBody, oddBody, mutatedBody), packing)
  .map(([body, { encoding, pack }]): AnyBody => {
    const packed = { ...JSON_TYPE, 'content-encoding': encoding }
    return { ...body, bytes: pack(body.bytes), headers: packed }
  })

const cutPackedBody = fc.tuple(packedBody, mutation).map(([body, mutate]): AnyBody => {
  return { ...body, bytes: mutate(body.bytes), text: undefined, isGood: false }
})

/** Any request body for a submission; about one in five is good. */
export const anyBody: fc.Arbitrary<AnyBody> = fc.oneof(
  { weight: 4, arbitrary: goodBody },
  { weight: 12, arbitrary: oddBody },
  { weight: 3, arbitrary: mutatedBody },
  { weight: 3, arbitrary: packedBody },
  { weight: 1, arbitrary: cutPackedBody },
)
