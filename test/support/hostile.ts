// Hostile requests, for every route that the service describes: the same ones for the same seed.
// The first requests are every kind on every route that it fits, in a random order, each kind once
// as large as a body may be, and with a token that is good there; what follows is chosen at random.

import { BODY_KINDS } from './hostile-bodies.ts'
import { HEAD_KINDS } from './hostile-heads.ts'
import type { HostileRequest, Kind } from './hostile-request.ts'
import { pathOf } from './hostile-routes.ts'
import type { HostileRoute } from './hostile-routes.ts'
import { Seeded } from './seeded.ts'

interface Pair {
  readonly kind: Kind
  readonly route: HostileRoute
  readonly isLarge: boolean
}

/** Just under what a body may have. */
const LARGE_BYTES = 4_190_000
const OTHER_BYTES = [30, 300, 3_000, 20_000, 60_000, 250_000]
/** One in so many, after every kind was large once. */
const LARGE_EVERY = 16
const KINDS: readonly Kind[] = [...HEAD_KINDS, ...BODY_KINDS]

export class HostileRequests {
  readonly #seed: number
  readonly #first: readonly Pair[]
  readonly #routesOf: readonly (readonly [Kind, readonly HostileRoute[]])[]

  constructor(routes: readonly HostileRoute[], seed: number) {
    this.#seed = seed
    this.#routesOf = KINDS.map(
      (kind) => [kind, routes.filter((route) => kind.fits(route))] as const,
    )
    const pairs = this.#routesOf.flatMap(([kind, fitting], at) =>
      fitting.map((route, place): Pair => {
        return { kind, route, isLarge: place === at % fitting.length }
      }),
    )
    this.#first = new Seeded(seed).shuffled(pairs)
  }

  /** After so many requests every kind was sent to every route that it fits. */
  get pairs(): number {
    return this.#first.length
  }

  /** @param tokens as they are now */
  make(number: number, tokens: Readonly<Record<'daemon' | 'mobile', string>>): HostileRequest {
    const random = new Seeded(this.#seed + number)
    const first = this.#first[number]
    const { kind, route, isLarge } = first ?? this.#pairAtRandom(random)
    const turn = { number, random, bytes: isLarge ? LARGE_BYTES : random.one(OTHER_BYTES) }
    const { detail, ...change } = kind.change(route, turn)
    const plain = requestOf(route, random)
    const token = first === undefined ? tokenOf(route, random) : route.token
    const authorization = authorizationOf(token === undefined ? undefined : tokens[token], random)
    return {
      ...plain,
      manner: plain.body !== undefined && random.isOneIn(8) ? 'in odd chunks' : 'at once',
      token,
      ...change,
      headers: { ...plain.headers, ...authorization, ...change.headers },
      what: [kind.name, detail, `${turn.bytes} bytes`, `${route.method} ${route.pattern}`]
        .filter((part) => part !== undefined)
        .join(', '),
    }
  }

  #pairAtRandom(random: Seeded): Pair {
    const [kind, fitting] = random.one(this.#routesOf)
    return { kind, route: random.one(fitting), isLarge: random.isOneIn(LARGE_EVERY) }
  }
}

/** A request as the document has it. */
function requestOf(route: HostileRoute, random: Seeded) {
  const { method, query, bodies, format } = route
  const type = format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded'
  const asked = [...query].filter(() => random.isOneIn(2))
  return {
    method,
    path:
      pathOf(route, random) + (asked.length > 0 ? `?${new URLSearchParams(asked).toString()}` : ''),
    headers: format === undefined || format === 'lines' ? {} : { 'content-type': type },
    body: bodies.length === 0 ? undefined : Buffer.from(random.one(bodies)),
  }
}

function tokenOf(route: HostileRoute, random: Seeded): HostileRequest['token'] {
  if (random.isOneIn(16)) return undefined
  return random.isOneIn(12) ? random.one(['daemon', 'mobile']) : route.token
}

function authorizationOf(token: string | undefined, random: Seeded): { authorization?: string } {
  if (token !== undefined) return { authorization: `Bearer ${token}` }
  return random.isOneIn(4) ? { authorization: `Bearer thd_live_${'x'.repeat(43)}` } : {}
}
