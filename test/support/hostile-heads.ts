// Hostile paths, queries, headers and heads: on every route, whatever it takes.

import type { Change, Kind, Turn } from './hostile-request.ts'
import { pathOf } from './hostile-routes.ts'
import type { HostileRoute } from './hostile-routes.ts'
import { filled, PARAMETERS, STATEMENTS } from './hostile-texts.ts'
import type { Seeded } from './seeded.ts'

/** Node reads heads of 16 KiB; the longer ones it refuses. */
const QUERY_BYTES_MAX = [100, 2_000, 12_000, 20_000]
const MANY_HEADERS = 1_500

const PLACES = [
  '0 -1 1e9 2147483648 9007199254740993 99999999999999999999 0x1 1.0 __proto__ constructor',
  "%00 %ff %ed%a0%80 % .. . %2e%2e %5c %20 %F0%9F%98%80 %0d%0aX:%201 '%20OR%201=1 ;a=1",
  `..%2f..%2fetc%2fpasswd ${'x'.repeat(5_000)} ${'9'.repeat(5_000)} ${'%41'.repeat(1_000)}`,
].flatMap((places) => places.split(' '))

const VALUES: readonly ((random: Seeded) => string)[] = [
  () => '',
  () => '%',
  () => '%00',
  () => '%ff',
  () => '+',
  () => 'null',
  () => '1,'.repeat(2_000) + '1',
  () => '9'.repeat(400),
  () => '-9007199254740993',
  () => '0001-01-01T00:00:00Z',
  () => '9999-12-31T23:59:59.999999999Z',
  () => '2026-11-20T10:15:00%2B23:59',
  () => 'x'.repeat(8_000),
  () => encodeURIComponent('温'.repeat(500)),
  () => encodeURIComponent('../'.repeat(500)),
  () => Buffer.from('1|2|3|4|1:5,1:5,2:7'.repeat(50)).toString('base64url'),
  (random) => String(random.below(100)),
]

type Headers = Readonly<Record<string, string>>

/** None that Node's client would not send. */
const HEADERS: readonly ((random: Seeded) => Headers)[] = [
  () => ({ authorization: `Bearer ${'x'.repeat(8_000)}` }),
  () => ({ authorization: `Bearer${' '.repeat(8_000)}x` }),
  () => ({ authorization: `Basic ${Buffer.from('a'.repeat(6_000)).toString('base64')}` }),
  () => ({ authorization: 'Basic ====' }),
  () => ({ authorization: `Token ${':'.repeat(8_000)}` }),
  () => ({ authorization: `${'Bearer '.repeat(1_000)}x` }),
  () => ({ 'accept-encoding': `${'gzip;q=0.1,'.repeat(1_000)}br` }),
  () => ({ 'accept-encoding': ',;q='.repeat(2_000) }),
  () => ({ accept: `${'text/csv;q=0.5,'.repeat(800)}*/*` }),
  () => ({ accept: 'a/b;'.repeat(3_000) }),
  () => ({ 'accept-language': `${'de;q=0.1,'.repeat(1_000)}en` }),
  () => ({ 'if-none-match': `${'W/"x",'.repeat(2_000)}"y"` }),
  () => ({ 'if-none-match': '"'.repeat(12_000) }),
  () => ({ 'if-none-match': `*${' '.repeat(12_000)},` }),
  () => ({ 'last-event-id': '9'.repeat(8_000) }),
  () => ({ 'last-event-id': `${'1:5,'.repeat(2_000)}x` }),
  () => ({ 'x-request-id': 'x'.repeat(12_000) }),
  () => ({ 'x-request-id': '<script>\xff' }),
  () => ({ 'x-forwarded-for': '1.1.1.1,'.repeat(1_500), 'x-forwarded-proto': 'https' }),
  () => ({ forwarded: 'for=1;'.repeat(2_000) }),
  () => ({ host: '[::1]:99999' }),
  () => ({ host: 'x'.repeat(10_000) }),
  () => ({ host: '' }),
  () => ({ origin: 'null', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }),
  () => ({ range: `bytes=${'0-,'.repeat(3_000)}` }),
  () => ({ cookie: 'a=b;'.repeat(3_000) }),
  () => ({ expect: '100-continue' }),
  () => ({ expect: 'everything' }),
  () => ({ upgrade: 'h2c', connection: 'upgrade, http2-settings', 'http2-settings': 'AAAA' }),
  () => ({ upgrade: 'websocket', connection: 'upgrade' }),
  () => ({ 'content-type': `application/json;${'charset=utf-8;'.repeat(800)}` }),
  () => ({ 'content-type': 'multipart/form-data; boundary=x' }),
  () => ({ 'content-type': '/' }),
  () => ({ 'content-encoding': `${'gzip,'.repeat(2_000)}gzip` }),
  () => ({ 'content-encoding': 'br' }),
  () => ({ 'x-http-method-override': 'DELETE' }),
  () => ({ a: 'x'.repeat(40_000) }),
  () => Object.fromEntries(Array.from({ length: MANY_HEADERS }, (_, at) => [`a${at}`, '1'])),
]

const METHODS = ['PUT', 'POST', 'PATCH', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND']

/** Whole requests, as no client would send them; each on a connection of its own. */
const HEADS: readonly ((line: string) => string)[] = [
  (line) => `${line}\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\nHost: y\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\nA: \0\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\n\0: a\r\n\r\n`,
  (line) => `${line}\nHost: x\n\n`,
  (line) => `${line}\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`,
  (line) =>
    `${line}\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\nContent-Length: -1\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n`,
  (line) => `${line}\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}`,
  (line) => `${line}\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\n a: folded\r\n\tb\r\n\r\n`,
  (line) => `${line}\r\n${'a: b\r\n'.repeat(5_000)}\r\n`,
  (line) => `${line}\r\nHost: ${'x'.repeat(100_000)}`,
  (line) => `${line.replace('HTTP/1.1', 'HTTP/9.9')}\r\n\r\n`,
  (line) => `${line.replace(' HTTP/1.1', '')}\r\n\r\n`,
  (line) => `${line.replace(' /', ' http://x/')}\r\nHost: y\r\n\r\n`,
  (line) => `${line.replace(' /', ' *')}\r\nHost: x\r\n\r\n`,
  (line) => `${line.replace(' /', ' /\xff\0')}\r\nHost: x\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\n\r\n`.repeat(200),
  () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  () => '\r\n'.repeat(20_000),
  () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
]

const always = () => true
/** The query is limited by what may be in a head. */
const bytesOf = (random: Seeded) => random.one(QUERY_BYTES_MAX)

export const HEAD_KINDS: readonly Kind[] = [
  { name: 'as documented', fits: always, change: () => ({}) },
  {
    name: 'another method',
    fits: always,
    change: (_, { random }) => ({ method: random.one(METHODS) }),
  },
  {
    name: 'a hostile place in the path',
    fits: ({ places }) => places.size > 0,
    change: ({ pattern }, { random }) => {
      return { path: pattern.replaceAll(/\{\w+\}/g, () => random.one(PLACES)) }
    },
  },
  {
    name: 'a hostile query',
    fits: always,
    change: (route, { number, random }) => {
      const shape = random.one(PARAMETERS)
      return queried(route, random, shape.name, shape.make(bytesOf(random), number, random))
    },
  },
  { name: 'hostile values in the query', fits: ({ query }) => query.size > 0, change: withValues },
  {
    name: 'a parameter many times',
    fits: ({ query }) => query.size > 0,
    change: (route, { random }) => {
      const [name, value] = random.one([...route.query])
      const pair = `${name}=${encodeURIComponent(value)}&`
      return queried(route, random, name, filled(bytesOf(random), '', pair))
    },
  },
  {
    name: 'a hostile header',
    fits: always,
    change: (_, { random }) => {
      const headers = random.one(HEADERS)(random)
      return { headers, detail: Object.keys(headers)[0] ?? '' }
    },
  },
  {
    name: 'a hostile head',
    fits: always,
    change: ({ method, pattern }, { random }) => {
      const make = random.one(HEADS)
      const body = Buffer.from(make(`${method} ${pattern} HTTP/1.1`), 'latin1')
      return { manner: 'as bytes', body, detail: JSON.stringify(body.toString('latin1', 0, 200)) }
    },
  },
  {
    name: 'a body where none belongs',
    fits: ({ format }) => format === undefined,
    change: (_, { bytes }) => ({ body: Buffer.alloc(bytes, '{"a":') }),
  },
  ...STATEMENTS.map((shape): Kind => {
    return {
      name: `a statement in the query: ${shape.name}`,
      fits: ({ query }) => query.has('q'),
      change: (route, { number, random }) => {
        const statement = shape.make(bytesOf(random), number, random)
        return queried(route, random, undefined, `q=${encodeURIComponent(statement)}`)
      },
    }
  }),
]

function withValues(route: HostileRoute, { random }: Turn): Change {
  const names = [...route.query.keys()]
  const pairs = names
    .filter((_, at) => at === 0 || random.isOneIn(2))
    .map((name) => `${name}=${random.one(VALUES)(random)}`)
  return queried(route, random, pairs.join('&').slice(0, 200), pairs.join('&'))
}

function queried(
  route: HostileRoute,
  random: Seeded,
  detail: string | undefined,
  query: string,
): Change {
  return { path: `${pathOf(route, random)}?${query}`, ...(detail !== undefined && { detail }) }
}
