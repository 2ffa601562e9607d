// What errors of statements and connections mean.

import pg from 'pg'
import { postponedError, ServiceError } from '../../domain/errors.ts'
import { MoveUnfinished, NotPrimary, OtherData } from './connection.ts'

export const UNIQUE_VIOLATION = '23505'
export const DUPLICATE_TABLE = '42P07'
export const DUPLICATE_OBJECT = '42710'
const DISK_FULL = '53100'
/** Of a statement behind the one that failed. */
export const TRANSACTION_FAILED = '25P02'
/** Of a page of a table, or of an index. */
const DAMAGED = ['XX001', 'XX002']
/** A lock was not granted in time. */
export const LOCK_NOT_AVAILABLE = '55P03'
/** A statement exceeded its time limit. */
export const QUERY_CANCELED = '57014'

/** The row that another one refers to is gone. */
const FOREIGN_KEY_VIOLATION = '23503'

/** With deadlock and serialization failure: another transaction was faster. */
const RACES = new Set(['40P01', '40001', UNIQUE_VIOLATION, FOREIGN_KEY_VIOLATION])

/** The server's code for an error; `undefined`: it did not answer. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** What the server's disk is to senders; `undefined`: it has not failed. */
export function asDiskFailure(error: unknown): ServiceError | undefined {
  const code = codeOf(error) ?? ''
  if (code === DISK_FULL) return postponedError('storage_full', { cause: error })
  if (DAMAGED.includes(code)) return postponedError('data_damaged', { cause: error })
  return undefined
}

/** Told to senders. */
export const OUT_OF_REACH_DETAIL = 'The database is out of reach.'

/** Whether the same work may succeed if repeated at once. */
export function isRace(error: unknown): boolean {
  return RACES.has(codeOf(error) ?? '')
}

/** Whether only the statement failed, and the connection is still open. */
export function isOfStatement(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && !endsConnection(error)
}

/** Connection lost, shutdown, idle for too long in a transaction, or whatever else is fatal. */
function endsConnection({ code = '', severity = '' }: pg.DatabaseError): boolean {
  return /^(08|57P|25P03)/.test(code) || /^(FATAL|PANIC)$/.test(severity)
}

/** Whether a connection failed or was lost; errors of our own code have no such mark. */
function isOfNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, message } = error as NodeJS.ErrnoException
  const isUnready = [NotPrimary, MoveUnfinished, OtherData].some((kind) => error instanceof kind)
  const isMarked = isUnready || code !== undefined
  return isMarked || /connection|timeout/i.test(message)
}

/**
 * Connection lost or refused, no such database, no room, shutdown, cancelled, a standby, a lock not
 * granted in time; and whatever ends a connection.
 */
const OUT_OF_REACH = /^(08|28|3D|53|57|25006|55P03)/

/** Of a connection, or a statement on one; not of waiting until others give theirs back. */
const SILENCE = /^(timeout expired|.* due to connection timeout|Query read timeout)$/

/** Whether it took all its time, so that others would wait as long. */
export function isSilence(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error
  return cause instanceof Error && SILENCE.test(cause.message)
}

/** Whether the server or the network is at fault, not the statement. */
export function isOutOfReach(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return isOfNetwork(error)
  return OUT_OF_REACH.test(error.code ?? '') || endsConnection(error)
}

/** A wrong password, database or permission: a setting is at fault. */
const OF_SETTINGS = /^(28|3D|42)/

/**
 * Whether the server is out of reach for now, and nobody has to do anything: no setting is wrong,
 * no move unfinished. Certificates have errors with codes of their own, and files too.
 */
export function isAway(error: unknown): boolean {
  if (error instanceof MoveUnfinished) return false
  if (error instanceof pg.DatabaseError) {
    return isOutOfReach(error) && !OF_SETTINGS.test(error.code ?? '')
  }
  const { code, syscall = '' } = error as NodeJS.ErrnoException
  const isOfSocket = /^(connect|getaddrinfo|read|write)$/.test(syscall)
  return (
    isOutOfReach(error) && (code === undefined || isOfSocket || error instanceof AggregateError)
  )
}
