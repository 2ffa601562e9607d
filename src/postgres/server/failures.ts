// What an error of a statement or of a connection means, and what follows from it.

import pg from 'pg'
import { MoveUnfinished, NotPrimary, TakeoverUndecided } from './connection.ts'

export const UNIQUE_VIOLATION = '23505'
export const DUPLICATE_TABLE = '42P07'
export const DUPLICATE_OBJECT = '42710'
export const DISK_FULL = '53100'
/** A lock was not to be had in time. */
export const LOCK_NOT_AVAILABLE = '55P03'
/** A statement took longer than it may. */
export const QUERY_CANCELED = '57014'

/** What a row belongs to is gone. */
const FOREIGN_KEY_VIOLATION = '23503'

/** These, or deadlock, or serialization failure: somebody else was faster. */
const RACES = new Set(['40P01', '40001', UNIQUE_VIOLATION, FOREIGN_KEY_VIOLATION])

/** The server's code of an error; `undefined`: it did not answer. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** Whether the same work may succeed at once. */
export function isRace(error: unknown): boolean {
  return RACES.has(codeOf(error) ?? '')
}

/** Whether the server has refused a statement and goes on; else it ends the connection. */
export function isOfStatement(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && !/^(08|57P)/.test(error.code ?? '')
}

/** Whether a connection could not be made or was lost; errors of our own code have no such mark. */
function isOfNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, message } = error as NodeJS.ErrnoException
  const isUnready = [NotPrimary, MoveUnfinished, TakeoverUndecided].some(
    (kind) => error instanceof kind,
  )
  const isMarked = isUnready || code !== undefined
  return isMarked || /connection|timeout/i.test(message)
}

/**
 * Connection lost or refused, no such database, no room, shutting down or given up, a standby, a
 * lock that was not to be had in time.
 */
const OUT_OF_REACH = /^(08|28|3D|53|57|25006|55P03)/

/** Whether the server, or the way to it, does not work now: nothing is wrong with the statement. */
export function isOutOfReach(error: unknown): boolean {
  const code = codeOf(error)
  return code === undefined ? isOfNetwork(error) : OUT_OF_REACH.test(code)
}
