// What a hostile request is made of.

import type { HostileRoute } from './hostile-routes.ts'
import type { Seeded } from './seeded.ts'

/** How a request is written to its connection. */
export type Manner = 'at once' | 'in odd chunks' | 'cut off' | 'slowly' | 'as bytes'

export interface HostileRequest {
  /** For the report of a failure. */
  readonly what: string
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
  readonly manner: Manner
  /** The caller's token, if it sends one that is good. */
  readonly token: 'daemon' | 'mobile' | undefined
  /** Of its elements: all of them are stored, or none. */
  readonly eventIds?: readonly string[]
}

/** What a kind makes of a request that is as the document has it. */
export type Change = Partial<Omit<HostileRequest, 'what' | 'token'>> & {
  /** What was chosen within the kind. */
  readonly detail?: string
}

/** One request of a run. */
export interface Turn {
  readonly number: number
  readonly random: Seeded
  /** How large what is large is to be. */
  readonly bytes: number
}

export interface Kind {
  readonly name: string
  fits(route: HostileRoute): boolean
  change(route: HostileRoute, turn: Turn): Change
}
