// Checks every new connection to the database before it is used: has another server taken over the
// data? Requests that need an unusable database are refused.

import type pg from 'pg'
import { postponedError, ServiceError } from '../../domain/errors.ts'
import type { Log } from '../../ports/system.ts'
import { OtherData } from './connection.ts'
import { isOutOfReach } from './failures.ts'
import type { KnownData } from './recorded-server.ts'
import { noticeRestore } from './restore.ts'

type Greeting = (client: pg.ClientBase) => Promise<void>

/** Keeps a process from another server than the recorded one. */
export interface Guard {
  readonly known: KnownData
  /** Runs on every new connection before its use. */
  readonly greet: Greeting
}

const RESTORED =
  'the data are a restored copy, or of another server, and may lack what was acknowledged last: ' +
  'the store id is new'

/** For the first connection: if it throws, the process does not start. */
export function firstGreeting(known: KnownData, log: Log): Greeting {
  return async (client) => {
    if (await noticeRestore(client, known)) log.warn(RESTORED)
  }
}

/**
 * For further ones: logs once why a connection is unusable, and refuses requests with `overloaded`;
 * but not for an unreachable server, since the next connection may reach another one.
 */
export function guardOf(known: KnownData, log: Log): Guard {
  const first = firstGreeting(known, log)
  let said: string | undefined
  const greet: Greeting = async (client) => {
    try {
      await first(client)
      said = undefined
    } catch (error) {
      if (isOutOfReach(error) && !(error instanceof OtherData)) throw error
      const refusal = asRefusal(error)
      const reason = refusal.hint ?? refusal.message
      if (reason !== said) log.error('the database cannot be used now', { reason })
      said = reason
      throw refusal
    }
  }
  return { known, greet }
}

function asRefusal(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const hint = error instanceof Error ? error.message : String(error)
  const detail = 'The database cannot be used at present.'
  return postponedError('overloaded', { detail, hint, cause: error })
}
