// Texts that are long, deep, wide or repeated, in each format that the service reads. They are
// built as text, since nothing that writes a format properly would write them.

import type { Seeded } from './seeded.ts'

export interface Shape {
  readonly name: string
  /**
   * @param bytes about how many it is to have
   * @param number is different in each request of a run
   */
  readonly make: (bytes: number, number: number, random: Seeded) => string
}

/** As many of a part as there is room for. */
export function filled(bytes: number, head: string, part: string, tail = ''): string {
  const room = Math.max(1, bytes - head.length - tail.length)
  return head + part.repeat(Math.ceil(room / Buffer.byteLength(part))) + tail
}

/** Numbered parts until there is no more room. */
function numbered(bytes: number, part: (at: number) => string): string {
  const parts: string[] = []
  for (let length = 0; length < bytes; length += parts.at(-1)?.length ?? 0) {
    parts.push(part(parts.length))
  }
  return parts.join('')
}

function nested(bytes: number, open: string, close: string): string {
  const depth = Math.ceil(bytes / (open.length + close.length))
  return `${open.repeat(depth)}1${close.repeat(depth)}`
}

const nowNs = () => `${Date.now()}000000`

/** JSON values. */
export const VALUES: readonly Shape[] = [
  { name: 'digits', make: (bytes) => '9'.repeat(bytes) },
  { name: 'digits behind a point', make: (bytes) => filled(bytes, '1.', '0', '1') },
  { name: 'a long exponent', make: (bytes) => filled(bytes, '1e', '9') },
  { name: 'a long text', make: (bytes) => filled(bytes, '"', 'x', '"') },
  { name: 'a text of escapes', make: (bytes) => filled(bytes, '"', '\\u00e9', '"') },
  { name: 'a text of wide characters', make: (bytes) => filled(bytes, '"', '温', '"') },
  { name: 'a text of halves', make: (bytes) => filled(bytes, '"', '\\ud800', '"') },
  { name: 'a text without an end', make: (bytes) => filled(bytes, '"', '\\"') },
  { name: 'deep lists', make: (bytes) => nested(bytes, '[', ']') },
  { name: 'deep lists without an end', make: (bytes) => '['.repeat(bytes) },
  { name: 'deep objects', make: (bytes) => nested(bytes, '{"a":', '}') },
  { name: 'empty objects', make: (bytes) => filled(bytes, '[', '{},', '{}]') },
  { name: 'empty lists', make: (bytes) => filled(bytes, '[', '[],', '[]]') },
  { name: 'numbers', make: (bytes) => filled(bytes, '[', '1.5,', '1]') },
  { name: 'short texts', make: (bytes) => filled(bytes, '[', '"aé",', '1]') },
  {
    name: 'members',
    make: (bytes) => `{${numbered(bytes, (at) => `"${at.toString(36)}":1,`)}"last":1}`,
  },
  { name: 'one member many times', make: (bytes) => filled(bytes, '{', '"sn":"a",', '"sn":"a"}') },
  {
    name: 'long names of members',
    make: (bytes) => filled(bytes, '{', `"${'x'.repeat(Math.ceil(bytes / 4))}":1,`, '"a":1}'),
  },
  { name: 'blanks', make: (bytes) => filled(bytes, '1', ' \n\t\r') },
  { name: 'commas', make: (bytes) => filled(bytes, '[', ',', ']') },
]

/** Members of an object: what comes between its first brace and its own members. */
export const MEMBERS: readonly Shape[] = [
  {
    name: 'unknown members',
    make: (bytes) => numbered(bytes, (at) => `"m${at.toString(36)}":1,`),
  },
  {
    name: 'members with lists',
    make: (bytes) => numbered(bytes, (at) => `"m${at % 31}":[${'{},'.repeat(90)}1],`),
  },
  { name: 'inherited members', make: (bytes) => filled(bytes, '', '"__proto__":{"a":1},') },
]

const FIELDS_OF_LONG_KEY = 64

/** Bodies of line protocol. */
export const LINES: readonly Shape[] = [
  {
    name: 'digits of an integer',
    make: (bytes) => filled(bytes, 'temperature value=', '9', `i ${nowNs()}\n`),
  },
  {
    name: 'digits of a number',
    make: (bytes) => filled(bytes, 'temperature value=', '9', `.x ${nowNs()}\n`),
  },
  { name: 'digits of a time', make: (bytes) => filled(bytes, 'room temp=1 ', '1', '\n') },
  {
    name: 'tags',
    make: (bytes) => `m${numbered(bytes, (at) => `,${at.toString(36)}=1`)} temp=1 ${nowNs()}`,
  },
  { name: 'one tag many times', make: (bytes) => filled(bytes, 'm', ',sn=1', ' temp=1') },
  {
    name: 'temperatures',
    make: (bytes) => filled(bytes, 'm ', 'temp=1,', `temp=1 ${nowNs()}`),
  },
  {
    name: 'temperatures out of range',
    make: (bytes) => filled(bytes, 'm ', 'temp=1e9,', `temp=1e9 ${nowNs()}`),
  },
  { name: 'other fields', make: (bytes) => filled(bytes, 'm ', 'a=1,', `a=1 ${nowNs()}`) },
  { name: 'empty texts', make: (bytes) => filled(bytes, 'm ', 'a="",', `a="" ${nowNs()}`) },
  {
    name: 'fields of names of their own',
    make: (bytes) => `m ${numbered(bytes, (at) => `temp_${at}=1,`)}a=1 ${nowNs()}`,
  },
  {
    name: 'a long key with fields',
    make: (bytes) => {
      const fields = Array.from({ length: FIELDS_OF_LONG_KEY }, (_, at) => `temp_${at}=${at}`)
      return filled(bytes / 4, 'm,room=', 'x', ` ${fields.join(',')} ${nowNs()}`)
    },
  },
  { name: 'a long text', make: (bytes) => filled(bytes, 'm temp=1,a="', 'x', `" ${nowNs()}`) },
  { name: 'a text without an end', make: (bytes) => filled(bytes, 'm temp=1,a="', 'x') },
  { name: 'texts without an end', make: (bytes) => filled(bytes, '', 'm a="\n') },
  { name: 'escapes', make: (bytes) => filled(bytes, 'm,a=', '\\ ', ` temp=1 ${nowNs()}`) },
  { name: 'backslashes', make: (bytes) => filled(bytes, 'm,a=', '\\', ' temp=1') },
  { name: 'blanks', make: (bytes) => filled(bytes, 'm', ' ', 'temp=1') },
  { name: 'commas', make: (bytes) => filled(bytes, 'm', ',', ' temp=1') },
  { name: 'one long line', make: (bytes) => 'x'.repeat(bytes) },
  { name: 'bad lines', make: (bytes) => filled(bytes, '', 'x\n') },
  { name: 'empty lines', make: (bytes) => filled(bytes, 'room temp=1', '\n') },
  {
    name: 'lines without a temperature',
    make: (bytes) => filled(bytes, '', `m ${'a=1,'.repeat(17)}b=2 ${nowNs()}\n`),
  },
  {
    name: 'series without a temperature',
    make: (bytes, number) =>
      numbered(bytes, (at) => `m,t=${number}-${at}${'x'.repeat(50)} a=1 ${nowNs()}\n`),
  },
  {
    name: 'points without a time',
    make: (bytes) => filled(Math.min(bytes, 20_000), '', 'hostile temp=1\n'),
  },
  {
    name: 'a new series beside a long comment',
    make: (bytes, number) =>
      filled(bytes, `temperature,room=attic-${number} value=21.5 ${nowNs()}\n#`, 'x'),
  },
  {
    name: 'new series',
    make: (bytes, number) =>
      numbered(Math.min(bytes, 1_000), (at) => `m,room=${number}.${at} temp=1 ${nowNs()}\n`),
  },
]

const ROWS = 'SELECT "temp" FROM "sensor" WHERE '
const MEANS = 'SELECT mean("temp") FROM "temperature" WHERE time > now() - 1h'

/** Statements of InfluxQL. */
export const STATEMENTS: readonly Shape[] = [
  { name: 'as it should be', make: () => `${MEANS} GROUP BY time(1m), sn fill(0) SLIMIT 1000` },
  {
    name: 'conditions',
    make: (bytes) => filled(bytes, `${ROWS}sn != 'x'`, " AND sn != 'x'", ' GROUP BY sn'),
  },
  {
    name: 'alternatives',
    make: (bytes) => filled(bytes, `${ROWS}sn = 'x'`, " OR sn = 'x'", ' GROUP BY sn'),
  },
  { name: 'blanks', make: (bytes) => filled(bytes, 'show databases', ' ', 'x') },
  { name: 'blanks between words', make: (bytes) => filled(bytes, 'SELECT', ' ', '"temp"') },
  { name: 'a database with a long name', make: (bytes) => filled(bytes, 'CREATE DATABASE ', 'x ') },
  { name: 'semicolons', make: (bytes) => filled(bytes, 'show databases', ' ;') },
  { name: 'parentheses', make: (bytes) => `${ROWS}${nested(bytes, '(', ')')}` },
  { name: 'parentheses without an end', make: (bytes) => filled(bytes, ROWS, '(') },
  { name: 'columns', make: (bytes) => filled(bytes, 'SELECT ', 'mean("temp"),', MEANS.slice(7)) },
  { name: 'a long text', make: (bytes) => filled(bytes, `${ROWS}sn = '`, 'x', "'") },
  { name: 'a text without an end', make: (bytes) => filled(bytes, `${ROWS}sn = '`, "\\'") },
  { name: 'digits', make: (bytes) => filled(bytes, `${MEANS} LIMIT `, '9') },
  { name: 'digits of a time', make: (bytes) => filled(bytes, `${ROWS}time > `, '9', 'ms') },
  { name: 'a long pattern', make: (bytes) => filled(bytes, `${ROWS}sn !~ /`, '(x*)*', 'b/') },
  { name: 'a pattern of 1,000', make: () => filled(1_000, `${ROWS}sn !~ /`, '(x+x+)+', 'b/') },
  { name: 'a deep pattern', make: (bytes) => `${ROWS}sn !~ /${nested(bytes, '(', ')*')}b/` },
  { name: 'minus signs', make: (bytes) => filled(bytes, `${ROWS}time > now()`, ' - 1h') },
  { name: 'many windows', make: () => `${MEANS} GROUP BY time(1s), * fill(previous)` },
  { name: 'many days', make: () => `${MEANS.replace('1h', '9999d')} GROUP BY time(1h) fill(0)` },
  { name: 'tags to group by', make: (bytes) => filled(bytes, `${MEANS} GROUP BY sn`, ',sn') },
  { name: 'comments', make: (bytes) => filled(bytes, 'SHOW ', '/**/', 'DATABASES') },
]

/** What comes behind the question mark, or is a whole form. */
export const PARAMETERS: readonly Shape[] = [
  { name: 'a long value', make: (bytes) => filled(bytes, 'a=', 'x') },
  { name: 'a long name', make: (bytes) => filled(bytes, '', 'x') },
  { name: 'many names', make: (bytes) => numbered(bytes, (at) => `${at.toString(36)}=1&`) },
  { name: 'one name many times', make: (bytes) => filled(bytes, '', 'a=1&') },
  { name: 'no names', make: (bytes) => filled(bytes, '', '=&') },
  { name: 'ampersands', make: (bytes) => '&'.repeat(bytes) },
  { name: 'brackets', make: (bytes) => filled(bytes, 'a', '[b]', '=1') },
  { name: 'broken escapes', make: (bytes) => filled(bytes, 'a=', '%') },
  { name: 'escapes that are not UTF-8', make: (bytes) => filled(bytes, 'a=', '%ff%c0%ed%a0') },
  { name: 'NUL', make: (bytes) => filled(bytes, 'a=', '%00') },
  { name: 'plus signs', make: (bytes) => filled(bytes, 'a=', '+') },
]
