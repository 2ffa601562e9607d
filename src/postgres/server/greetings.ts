// Checks every new connection to the database before it is used: has another server taken over the
// data? Requests that need an unusable database are refused.

import { postponedError, ServiceError } from '../../domain/errors.ts'
import type { Log } from '../../ports/system.ts'
import type { DatabaseOptions } from './database.ts'
import type { Durability } from './durability.ts'
import { isOutOfReach } from './failures.ts'
import { noticeTakeover } from './notice-takeover.ts'
import type { Takeover } from './renewal.ts'
import type { SeenStreams } from './seen-streams.ts'

type Greeting = NonNullable<DatabaseOptions['greet']>

export interface Greetings {
  /** For the first connection: if it throws, the process does not start. */
  readonly first: Greeting
  readonly further: Greeting
  /** For a lane's connection. Only lanes acknowledge, so only they check the durability. */
  readonly lane: Greeting
}

interface Process {
  readonly owner: string
  /** What lanes promise. */
  readonly durability: Durability
  readonly seen: SeenStreams
  readonly log: Log
}

const TAKEN_OVER: Readonly<Record<Takeover, string>> = {
  promotion: 'another server has the data: a promoted standby that lacks no measurement',
  restore:
    'another server has the data and may lack what was acknowledged last: the store id is new',
}

export function greetingsOf({ owner, seen, log, ...process }: Process): Greetings {
  const greetAs = (durability: Durability) => async (client: Parameters<Greeting>[0]) => {
    const takeover = await noticeTakeover(client, { owner, durability, seen })
    if (takeover !== undefined) log.warn(TAKEN_OVER[takeover])
  }
  const first = greetAs('replicated')
  const lane = refusingUnfit(greetAs(process.durability), log)
  return { first, further: refusingUnfit(first, log), lane }
}

/**
 * Logs once why a connection is unusable, and refuses requests with `overloaded`; but not for an
 * unreachable server, since the next connection may reach another one.
 */
function refusingUnfit(greet: Greeting, log: Log): Greeting {
  let said: string | undefined
  return async (client) => {
    try {
      await greet(client)
      said = undefined
    } catch (error) {
      if (isOutOfReach(error)) throw error
      const refusal = asRefusal(error)
      const reason = refusal.hint ?? refusal.message
      if (reason !== said) log.error('the database cannot be used now', { reason })
      said = reason
      throw refusal
    }
  }
}

function asRefusal(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const hint = error instanceof Error ? error.message : String(error)
  const detail = 'The database cannot be used at present.'
  return postponedError('overloaded', { detail, hint, cause: error })
}
