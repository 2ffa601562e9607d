// Connections to PostgreSQL: where it is, how it is spoken to, and which of several hosts is asked.

import pg from 'pg'
import { ServiceError } from '../../domain/errors.ts'
import { SECOND_MS } from '../../domain/time.ts'

const CONNECT_MS_MAX = 3 * SECOND_MS
/** If a statement is not answered within this time after its limit, the connection is dead. */
const ANSWER_MS_MORE = 2 * SECOND_MS

/** A process that stalls in a transaction gives its locks back. */
const IDLE_IN_TRANSACTION_MS_MAX = 10 * SECOND_MS

/** Whole numbers of 64 bits are times and counters, far below 2^53. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === pg.types.builtins.INT8 && format !== 'binary'
      ? Number
      : (pg.types.getTypeParser(type, format) as never),
}

/** The host is a standby, or not the server that the setting promises. */
export class NotPrimary extends Error {
  constructor() {
    super('the server is a standby')
    this.name = 'NotPrimary'
  }
}

/** The database has only a part of its data so far. */
export class MoveUnfinished extends Error {
  constructor() {
    super(
      'a data directory is being moved into it: run `thermolog move` again, until it is over, ' +
        'or drop the database',
    )
    this.name = 'MoveUnfinished'
  }
}

/** Another server has the data, and what it lacks is still to be found out. */
export class TakeoverUndecided extends Error {
  constructor() {
    super('another server has the data: what it lacks is known within fifteen seconds')
    this.name = 'TakeoverUndecided'
  }
}

/** One address for each host of `postgresql://user:password@host1:5432,host2:5432/name`. */
export function addressesOf(databaseUrl: string): readonly string[] {
  const [, head = '', hosts = '', rest = ''] =
    /^([a-z]+:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/.exec(databaseUrl) ?? []
  return hosts.split(',').map((host) => head + host + rest)
}

/** A URL as it may be shown. */
export function withoutPassword(databaseUrl: string): string {
  return databaseUrl
    .replace(/^([a-z]+:\/\/[^:/?]*):[^/?]*@/, '$1:***@')
    .replace(/([?&]password=)[^&]*/g, '$1***')
}

/** How every connection behaves, to whichever host. */
export function connectionSettings(address: string): pg.ClientConfig {
  return {
    // A name in the URL would take the place of ours, by which a move knows processes.
    connectionString: address.replace(/\bapplication_name=[^&]*&?/, ''),
    application_name: 'thermolog',
    connectionTimeoutMillis: CONNECT_MS_MAX,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10 * SECOND_MS,
    types: TYPES,
  }
}

/** The server gives a statement up that takes longer, waiting for locks included. */
export function statementLimit(statementMsMax: number): pg.ClientConfig {
  return {
    statement_timeout: statementMsMax,
    query_timeout: statementMsMax + ANSWER_MS_MORE,
  }
}

/** Statements are prepared once on each connection, under a short name. */
const statementNames = new Map<string, string>()

export function prepared(text: string, values: readonly unknown[]): pg.QueryConfig {
  const name = statementNames.get(text) ?? `s${statementNames.size}`
  statementNames.set(text, name)
  return { name, text, values: [...values] }
}

/** The row of a statement that has one. */
export async function readRow<Row extends object>(
  client: pg.ClientBase,
  text: string,
): Promise<Row> {
  const { rows } = await client.query<Row & pg.QueryResultRow>(text)
  if (rows[0] === undefined) throw new Error(`BUG: no row: ${text}`)
  return rows[0]
}

/** @throws NotPrimary @throws Error if the connection is lost */
export async function refuseStandby(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ isStandby: boolean }>(
    'SELECT pg_is_in_recovery() AS "isStandby"',
  )
  if (rows[0]?.isStandby !== false) throw new NotPrimary()
}

/** What fails where a server has answered. */
const ANSWERS = [pg.DatabaseError, ServiceError, MoveUnfinished, TakeoverUndecided]

export interface Opening {
  /** What is to be done before the connection is used. */
  readonly greet?: (client: pg.ClientBase) => Promise<void>
  /** Gives up, whatever is waited for. */
  readonly signal?: AbortSignal
  /** Of each statement; default: there is no limit. */
  readonly statementMsMax?: number
}

/**
 * A connection of its own to the first host that is not a standby.
 *
 * @param isPipelined statements are sent without waiting for the answers of those before
 * @throws Error of the host that says most, if none can be used
 */
export async function connectAlone(
  databaseUrl: string,
  isPipelined: boolean,
  { greet, signal, statementMsMax }: Opening = {},
): Promise<pg.Client> {
  const limit = statementMsMax === undefined ? {} : statementLimit(statementMsMax)
  let failure: unknown
  for (const address of addressesOf(databaseUrl)) {
    const client = new pg.Client({
      ...connectionSettings(address),
      ...limit,
      pipeline: isPipelined,
    })
    // Who waits for an answer is told as well; without a listener the process would end.
    client.on('error', () => undefined)
    const givenUp = Promise.withResolvers<never>()
    const giveUp = () => givenUp.reject(signal?.reason)
    signal?.addEventListener('abort', giveUp)
    try {
      signal?.throwIfAborted()
      await Promise.race([open(client, greet), givenUp.promise])
      return client
    } catch (error) {
      failure = moreTelling(failure, error)
      // Without a word: the server may not answer.
      client.connection.stream.destroy()
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }
  throw failure
}

async function open(client: pg.Client, greet: Opening['greet']): Promise<void> {
  await client.connect()
  await refuseStandby(client)
  await greet?.(client)
}

/** The failure of two hosts that says more: a server's answer, and least that it is a standby. */
export function moreTelling(one: unknown, other: unknown): unknown {
  return rankOf(other) > rankOf(one) ? other : one
}

function rankOf(failure: unknown): number {
  if (failure === undefined) return 0
  if (failure instanceof NotPrimary) return 1
  return ANSWERS.some((kind) => failure instanceof kind) ? 3 : 2
}
