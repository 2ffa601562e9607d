// Refusing what wants the database while it cannot be used as it is: another server has the data,
// and the store that has their measurements is another one than the settings say, or says nothing.

import { refusalError, ServiceError } from '../domain/errors.ts'
import type { Log } from '../ports/system.ts'
import type { DatabaseOptions } from '../postgres/database.ts'
import { isOutOfReach } from '../postgres/failures.ts'

type Greeting = NonNullable<DatabaseOptions['greet']>

/**
 * Greets each connection. What keeps it from being used is said in the log once, and refused with
 * `overloaded`, but for a server that is out of reach: that may be another one the next moment.
 */
export function refusingUnfit(greet: Greeting, log: Log): Greeting {
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
  const detail = 'The database cannot be used as it is.'
  return refusalError('overloaded', { detail, hint, cause: error })
}
