// Connections to PostgreSQL: addresses, settings, and which of several hosts is used.

import pg from 'pg'
import { ServiceError } from '../../domain/errors.ts'
import { SECOND_MS } from '../../domain/time.ts'

const CONNECT_MS_MAX = 3 * SECOND_MS
/** Until then a server says goodbye, if it can. */
const GOODBYE_MS_MAX = SECOND_MS
/** If a statement is not answered within this time after its limit, the connection is dead. */
const ANSWER_MS_MORE = 2 * SECOND_MS

/** The server ends the transaction of a process that stalls, and releases its locks. */
const IDLE_IN_TRANSACTION_MS_MAX = 10 * SECOND_MS

/** 64-bit integers are read as numbers: all are times or counters, far below 2^53. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === pg.types.builtins.INT8 && format !== 'binary'
      ? Number
      : (pg.types.getTypeParser(type, format) as never),
}

/** The host is a standby. */
export class NotPrimary extends Error {
  constructor() {
    super('the server is a standby')
    this.name = 'NotPrimary'
  }
}

/** A move into the database is unfinished: it has only part of the data. */
export class MoveUnfinished extends Error {
  constructor() {
    super(
      'a data directory is being moved into it: run `thermolog move --to …` again, ' +
        'until it is over, or drop the database',
    )
    this.name = 'MoveUnfinished'
  }
}

/** The server has other data than a process knows, or not all yet; the message says which. */
export class OtherData extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'OtherData'
  }
}

/** One address for each host of `postgresql://user:password@host1:5432,host2:5432/name`. */
export function addressesOf(databaseUrl: string): readonly string[] {
  const [, head = '', hosts = '', rest = ''] =
    /^([a-z]+:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/.exec(databaseUrl) ?? []
  return hosts.split(',').map((host) => head + host + rest)
}

/** A URL that may be shown. */
export function withoutPassword(databaseUrl: string): string {
  return databaseUrl
    .replace(/^([a-z]+:\/\/[^:/?]*):[^/?]*@/, '$1:***@')
    .replace(/([?&]password=)[^&]*/g, '$1***')
}

/** Settings of every connection, whatever the host. */
export function connectionSettings(address: string): pg.ClientConfig {
  return {
    // A name in the URL must not replace ours, by which a move recognises processes.
    connectionString: address.replace(/\bapplication_name=[^&]*&?/, ''),
    application_name: 'thermolog',
    connectionTimeoutMillis: CONNECT_MS_MAX,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10 * SECOND_MS,
    types: TYPES,
  }
}

/** The server cancels a statement that takes longer, waiting for locks included. */
export function statementLimit(statementMsMax: number): pg.ClientConfig {
  return {
    statement_timeout: statementMsMax,
    query_timeout: statementMsMax + ANSWER_MS_MORE,
  }
}

/** Prepares each statement once on each connection, under a short name. */
const statementNames = new Map<string, string>()

export function prepared(text: string, values: readonly unknown[]): pg.QueryConfig {
  const name = statementNames.get(text) ?? `s${statementNames.size}`
  statementNames.set(text, name)
  return { name, text, values: [...values] }
}

/** Runs a statement that finds exactly one row. */
export async function readRow<Row extends object>(
  client: pg.ClientBase,
  text: string,
  values: unknown[] = [],
): Promise<Row> {
  const { rows } = await client.query<Row & pg.QueryResultRow>(text, values)
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

/** Errors after which it is known that a server answered. */
const ANSWERS = [pg.DatabaseError, ServiceError, MoveUnfinished, OtherData]

export interface Opening {
  /** Runs before the connection is used. */
  readonly greet?: (client: pg.ClientBase) => Promise<void>
  /** Aborts the opening, whatever it waits for. */
  readonly signal?: AbortSignal
  /** Time limit of each statement; default: none. */
  readonly statementMsMax?: number
}

/**
 * Opens a connection outside of any pool, to the first host that is not a standby.
 *
 * @param isPipelined send statements without waiting for earlier answers
 * @throws Error the most telling one of all hosts, if none can be used
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
    // Pending statements fail too; without a listener, though, the process would end.
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
      // Without a goodbye: the server may not answer.
      client.connection.stream.destroy()
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }
  throw failure
}

/** Works over a connection of its own, outside of any pool; see `connectAlone`. */
export async function withConnection<Result>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<Result>,
  opening?: Opening,
): Promise<Result> {
  const client = await connectAlone(databaseUrl, false, opening)
  try {
    return await work(client)
  } finally {
    await endConnection(client)
  }
}

/** Waits for the server's goodbye, but not for that of one that stands still. */
export async function endConnection(client: pg.Client): Promise<void> {
  const cutting = setTimeout(() => client.connection.stream.destroy(), GOODBYE_MS_MAX)
  await client.end()
  clearTimeout(cutting)
}

async function open(client: pg.Client, greet: Opening['greet']): Promise<void> {
  await client.connect()
  await refuseStandby(client)
  await greet?.(client)
}

/** The more telling of two hosts' failures: a server's answer first, being a standby last. */
export function moreTelling(one: unknown, other: unknown): unknown {
  return rankOf(other) > rankOf(one) ? other : one
}

function rankOf(failure: unknown): number {
  if (failure === undefined) return 0
  if (failure instanceof NotPrimary) return 1
  return ANSWERS.some((kind) => failure instanceof kind) ? 3 : 2
}
