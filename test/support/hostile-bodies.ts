// Hostile bodies, in the format of the route.

import { deflateSync, gzipSync } from 'node:zlib'
import type { Change, Kind, Turn } from './hostile-request.ts'
import type { HostileRoute } from './hostile-routes.ts'
import { LINES, MEMBERS, PARAMETERS, STATEMENTS, VALUES } from './hostile-texts.ts'
import type { Shape } from './hostile-texts.ts'
import { mutated } from './mutated.ts'
import type { Seeded } from './seeded.ts'

const BOMB_BYTES = 256 * 2 ** 20
const BATCH = 500
/** Longer ones are refused unread. */
const STATEMENT_BYTES_MAX = 64_000
const NEW_SENSORS = 20
/** Stands for a value until the text is made; no example has it. */
const PLACE = '\u0001'
/** What no element of a batch may have in place of any of its members. */
const BAD_VALUES = [null, [], {}, '', true, [[[[[[1]]]]]], 'x'.repeat(5_000)]
const BAD_BYTES = [
  '\0',
  '\xff',
  '\xc0\x80',
  '\xed\xa0\x80',
  '\xf4\x90\x80\x80',
  '\xef\xbb\xbf',
  '\x7f',
]

type Element = Readonly<Record<string, unknown>>

const hasBody = ({ format }: HostileRoute) => format !== undefined
const isJson = ({ format }: HostileRoute) => format === 'json'
const takesElements = (route: HostileRoute) => isJson(route) && elementsOf(route) !== undefined
const takesEvents = (route: HostileRoute) =>
  elementsOf(route)?.elements.some((element) => 'event_id' in element) === true

/** A kind whose bodies are of one shape, packed or not. */
function ofShape(
  prefix: string,
  shape: Shape,
  fits: Kind['fits'],
  bodyOf: (route: HostileRoute, text: string, turn: Turn) => string = (_, text) => text,
): Kind {
  return {
    name: `${prefix}: ${shape.name}`,
    fits,
    change: (route, turn) => {
      const text = shape.make(turn.bytes, turn.number, turn.random)
      return packed(Buffer.from(bodyOf(route, text, turn)), route, turn.random)
    },
  }
}

const SHAPED: readonly Kind[] = [
  ...VALUES.map((shape) => ofShape('a value', shape, isJson, withValue)),
  ...VALUES.map((shape) => ofShape('JSON', shape, takesElements)),
  ...MEMBERS.map((shape) =>
    ofShape('members', shape, isJson, ({ bodies }, text, { random }) => {
      const body = random.one(bodies)
      const at = body.lastIndexOf('{') + 1
      return body.slice(0, at) + text + body.slice(at)
    }),
  ),
  ...LINES.map((shape) => ofShape('lines', shape, ({ format }) => format === 'lines')),
  ...PARAMETERS.map((shape) => ofShape('a form', shape, ({ format }) => format === 'form')),
  ...STATEMENTS.map(({ name, make }): Kind => {
    return {
      name: `a statement: ${name}`,
      fits: ({ format, query }) => format === 'form' && query.has('q'),
      change: (route, { bytes, number, random }) => {
        const text = make(Math.min(bytes, STATEMENT_BYTES_MAX), number, random)
        const body = Buffer.from(`q=${encodeURIComponent(text)}`)
        // Without the query: its statement would be read instead.
        return { ...packed(body, route, random), path: route.pattern }
      },
    }
  }),
]

const LISTED: readonly Kind[] = [
  {
    name: 'many elements',
    fits: takesElements,
    change: (route, turn) => {
      const [element] = elementsOf(route)?.elements ?? []
      const count = Math.max(1, Math.floor(turn.bytes / JSON.stringify(element).length))
      return packedElements(
        route,
        turn,
        Array.from({ length: count }, () => element ?? {}),
      )
    },
  },
  {
    name: 'new event ids',
    fits: takesEvents,
    change: (route, turn) => packedElements(route, turn, newElements(route, turn, 'new')),
  },
  {
    name: 'new sensors',
    fits: takesEvents,
    change: (route, turn) => {
      const elements = newElements(route, turn, 'sensors').slice(0, NEW_SENSORS)
      const named = elements.map((element, at) => ({ ...element, sn: `new-${turn.number}.${at}` }))
      return packedElements(route, turn, named)
    },
  },
  ...BAD_VALUES.map((value): Kind => {
    return {
      name: `a batch with a bad element: ${JSON.stringify(value).slice(0, 20)}`,
      fits: takesEvents,
      change: (route, turn) => {
        const { random } = turn
        const elements = newElements(route, turn, 'bad').slice(0, 1 + random.below(BATCH))
        const spoilt = random.below(elements.length)
        const member = random.one(Object.keys(elements[spoilt] ?? {}))
        const bad = elements.with(spoilt, { ...elements[spoilt], [member]: value })
        return { ...packedElements(route, turn, bad), ...wholeOrNot(route, elements) }
      },
    }
  }),
  {
    name: 'a batch that is cut off',
    fits: takesEvents,
    change: (route, turn) => {
      const elements = newElements(route, turn, 'cut')
      const change = packedElements(route, turn, elements)
      return { ...change, ...wholeOrNot(route, elements), manner: 'cut off' }
    },
  },
]

let bomb: Buffer | undefined

const PACKED: readonly Kind[] = [
  {
    name: 'a bomb',
    fits: hasBody,
    change: () => packedAs('gzip', (bomb ??= gzipSync(Buffer.alloc(BOMB_BYTES, '[')))),
  },
  {
    name: 'packed twice',
    fits: hasBody,
    change: (_, { bytes }) =>
      packedAs('gzip, gzip', gzipSync(gzipSync(Buffer.alloc(bytes, ' '), { level: 1 }))),
  },
  {
    name: 'packed in many pieces',
    fits: hasBody,
    change: () => {
      return packedAs('gzip', Buffer.concat(Array.from({ length: 5_000 }, () => EMPTY_PACKED)))
    },
  },
  {
    name: 'packed and torn',
    fits: hasBody,
    change: ({ bodies }, { random }) => {
      const whole = gzipSync(random.one(bodies))
      return packedAs('gzip', whole.subarray(0, random.below(whole.length)))
    },
  },
  {
    name: 'packed and changed',
    fits: hasBody,
    change: ({ bodies }, { number, random }) =>
      packedAs(random.one(['gzip', 'deflate']), mutated(gzipSync(random.one(bodies)), number)),
  },
  {
    name: 'not packed as it says',
    fits: hasBody,
    change: ({ bodies }, { random }) =>
      packedAs(random.one(['gzip', 'deflate', 'br', 'x', 'identity']), random.one(bodies)),
  },
]

const EMPTY_PACKED = gzipSync('')

const SPOILT: readonly Kind[] = [
  {
    name: 'a byte changed',
    fits: hasBody,
    change: ({ bodies }, { number, random }) => {
      const body = mutated(Buffer.from(random.one(bodies)), number)
      return { body, detail: JSON.stringify(body.toString('latin1').slice(0, 300)) }
    },
  },
  {
    name: 'bytes that are not UTF-8',
    fits: hasBody,
    change: ({ bodies }, { random }) => {
      const text = Buffer.from(random.one(bodies)).toString('latin1')
      const at = random.below(text.length)
      const many = random.one(BAD_BYTES).repeat(1 + random.below(3))
      return { body: Buffer.from(text.slice(0, at) + many + text.slice(at), 'latin1') }
    },
  },
  { name: 'no body', fits: hasBody, change: () => ({ body: Buffer.alloc(0) }) },
  { name: 'cut off', fits: hasBody, change: () => ({ manner: 'cut off' }) },
  { name: 'slowly', fits: hasBody, change: () => ({ manner: 'slowly' }) },
  { name: 'in odd chunks', fits: hasBody, change: () => ({ manner: 'in odd chunks' }) },
]

export const BODY_KINDS: readonly Kind[] = [...SHAPED, ...LISTED, ...PACKED, ...SPOILT]

/** An example with a text in place of one of its values. */
function withValue({ bodies }: HostileRoute, text: string, { random }: Turn): string {
  const example: unknown = JSON.parse(random.one(bodies))
  const whole = JSON.stringify(placedIn(example, random))
  // As a function: in a text `$&` would be read as a pattern.
  return whole.replace(JSON.stringify(PLACE), () => text)
}

function placedIn(value: unknown, random: Seeded): unknown {
  if (typeof value !== 'object' || value === null) return PLACE
  const members = Object.entries(value)
  // A value as a whole may be replaced too.
  if (members.length === 0 || random.isOneIn(8)) return PLACE
  const [name, member] = random.one(members)
  const changed = placedIn(member, random)
  if (Array.isArray(value)) return (value as unknown[]).with(Number(name), changed)
  return { ...value, [name]: changed }
}

/** The list in an example that has one. */
function elementsOf({
  bodies,
}: HostileRoute): { readonly name: string; readonly elements: readonly Element[] } | undefined {
  for (const body of bodies) {
    if (!body.startsWith('{')) continue
    const members = Object.entries(JSON.parse(body) as Readonly<Record<string, unknown>>)
    const list = members.find(([, value]) => Array.isArray(value))
    if (list !== undefined) return { name: list[0], elements: list[1] as Element[] }
  }
  return undefined
}

/** Good ones with event ids of their own. */
function newElements(route: HostileRoute, { number }: Turn, prefix: string): Element[] {
  // Without a time: that of the example may be far ahead of the clock.
  const { timestamp: _, ...element } = elementsOf(route)?.elements[0] ?? {}
  return Array.from({ length: BATCH }, (_element, at) => {
    return { ...element, event_id: `${prefix}-${number}-${at}` }
  })
}

function packedElements(route: HostileRoute, { random }: Turn, elements: readonly Element[]) {
  const name = elementsOf(route)?.name ?? ''
  return packed(Buffer.from(JSON.stringify({ [name]: elements })), route, random)
}

/** Without the query, which may ask to store a part. */
function wholeOrNot({ pattern }: HostileRoute, elements: readonly Element[]): Change {
  return { path: pattern, eventIds: elements.map((element) => String(element['event_id'])) }
}

/** Half of them as they are. */
function packed(body: Buffer, { format }: HostileRoute, random: Seeded): Change {
  const level = { level: 1 }
  if (random.isOneIn(3)) return packedAs('gzip', gzipSync(body, level))
  // Line protocol knows no other way.
  if (format !== 'lines' && random.isOneIn(4)) return packedAs('deflate', deflateSync(body, level))
  return { body }
}

function packedAs(encoding: string, body: Buffer | string): Change {
  return { headers: { 'content-encoding': encoding }, body: Buffer.from(body) }
}
