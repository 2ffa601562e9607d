// The database for everything but lanes, which have connections of their own: statements, flows of
// them (control/flow.ts) and short transactions over a pool of connections.

import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { NO_OUTCOME } from '../../control/flow.ts'
import type { Flow, Outcome } from '../../control/flow.ts'
import { postponedError, ServiceError } from '../../domain/errors.ts'
import { SECOND_MS } from '../../domain/time.ts'
import {
  addressesOf,
  connectionSettings,
  moreTelling,
  OtherData,
  prepared,
  refuseStandby,
  statementLimit,
} from './connection.ts'
import {
  asDiskFailure,
  isOfStatement,
  isOutOfReach,
  isRace,
  isSilence,
  OUT_OF_REACH_DETAIL,
} from './failures.ts'
import type { Guard } from './greetings.ts'
import { isKnownServer, READ_SERVER } from './recorded-server.ts'
import type { KnownData, ServerRow } from './recorded-server.ts'

/** Runs statements. */
export interface Sql {
  run(text: string, values?: readonly unknown[]): Promise<Outcome>
  /** @returns the rows of a statement */
  rows<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** @returns how many rows a statement has inserted, changed or deleted */
  change(text: string, values?: readonly unknown[]): Promise<number>
}

/** Runs a flow statement by statement. */
export async function runFlow<Result>(sql: Pick<Sql, 'run'>, flow: Flow<Result>): Promise<Result> {
  let step = flow.next(NO_OUTCOME)
  while (step.done !== true) {
    const { text, values } = step.value
    step = flow.next(await sql.run(text, values))
  }
  return step.value
}

/** Time limit of a read. */
const STATEMENT_MS_MAX = 10 * SECOND_MS
const IDLE_MS_MAX = 60 * SECOND_MS
const ATTEMPTS_MAX = 5

/** What a server that has left something unanswered is asked every second. */
const PING = { text: 'SELECT 1', query_timeout: 3 * SECOND_MS }

interface DatabaseOptions {
  /** Of a service: commands compare nothing. */
  readonly guard?: Guard
  readonly statementMsMax?: number
}

export class Database implements Sql {
  readonly #pools: readonly pg.Pool[]
  /** The host that answered last: it is tried first. */
  #at = 0
  readonly #guard: Guard | undefined
  readonly #greeted = new WeakSet<pg.PoolClient>()
  readonly #inUse = new Set<pg.PoolClient>()
  #isCut = false
  /** Nobody waits for a server that has left something unanswered, until it answers again. */
  #isSilent = false

  /**
   * @param connectionsMax at the same time, besides those of lanes
   */
  constructor(databaseUrl: string, connectionsMax: number, options: DatabaseOptions = {}) {
    const { guard, ...others } = options
    this.#guard = guard
    this.#pools = addressesOf(databaseUrl).map((address) => {
      return openPool(address, connectionsMax, others)
    })
  }

  run(text: string, values?: readonly unknown[]): Promise<Outcome> {
    return this.#use((client) => sqlOn(client).run(text, values))
  }

  async rows<Row>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    return (await this.run(text, values)).rows as Row[]
  }

  async change(text: string, values?: readonly unknown[]): Promise<number> {
    return (await this.run(text, values)).changes
  }

  /** Runs a one-off statement, without preparing it. */
  async execute(text: string): Promise<void> {
    await this.#use((client) => client.query(text))
  }

  /**
   * Runs work in one transaction; after a deadlock or a lost race for a unique value, from the
   * start again.
   *
   * @throws ServiceError `overloaded`: nothing has changed, the database is out of reach
   * @throws ServiceError `outcome_unknown`: the connection was lost during COMMIT
   */
  async transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#use((client) => this.#runTransaction(client, work))
      } catch (error) {
        if (attempt === ATTEMPTS_MAX || !isRace(error)) throw error
      }
    }
  }

  /** Runs work whose reads all see the same moment. */
  view<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#use(async (client) => {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const result = await work(sqlOn(client))
      await client.query('COMMIT')
      return result
    })
  }

  /** Runs work of several statements, each by itself, on one connection. */
  onClient<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
    return this.#use(work)
  }

  /** Gives up what is under way; from then on, the database is out of reach. */
  cut(): void {
    this.#isCut = true
    for (const client of this.#inUse) client.connection.stream.destroy()
  }

  /** When nothing is under way any more. */
  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()))
  }

  async #runTransaction<Result>(
    client: pg.ClientBase,
    work: (sql: Sql) => Promise<Result>,
  ): Promise<Result> {
    await client.query('BEGIN')
    if (this.#guard !== undefined) await compare(client, this.#guard.known)
    const result = await work(sqlOn(client))
    await commit(client)
    return result
  }

  async #use<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    if (this.#isSilent) throw outOfReach(new Error('it has stopped answering, and is asked again'))
    try {
      return await this.#useNow(work)
    } catch (error) {
      if (isSilence(error)) void this.#pingUntilAnswered()
      throw error
    }
  }

  async #pingUntilAnswered(): Promise<void> {
    if (this.#isSilent) return
    this.#isSilent = true
    while (await this.#isUnanswered()) await setTimeout(SECOND_MS, undefined, { ref: false })
    this.#isSilent = false
  }

  /** Asks on all connections at once: those to a host that is lost are then dropped. */
  async #isUnanswered(): Promise<boolean> {
    const idle = this.#pools.reduce((sum, { idleCount }) => sum + idleCount, 0)
    const ping = () => this.#useNow((client) => client.query(PING))
    const pings = Array.from({ length: Math.max(1, idle) }, () =>
      ping().then(() => false, isSilence),
    )
    return (await Promise.all(pings)).every(Boolean)
  }

  async #useNow<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#connect()
    let isUsable = false
    try {
      const result = await work(client)
      isUsable = true
      return result
    } catch (error) {
      isUsable = isAnswered(error) && (await isRolledBack(client))
      throw asServiceError(error)
    } finally {
      this.#release(client, isUsable)
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    let failure: unknown
    for (const at of this.#pools.keys()) {
      if (this.#isCut) throw postponedError('shutting_down')
      const place = (this.#at + at) % this.#pools.length
      try {
        const client = await this.#pools[place]?.connect()
        if (client === undefined) continue
        await this.#prepare(client)
        this.#at = place
        return client
      } catch (error) {
        failure = moreTelling(failure, error)
      }
    }
    throw asServiceError(failure)
  }

  /** Not by the pool, which loses its place if that takes longer than connecting may take. */
  async #prepare(client: pg.PoolClient): Promise<void> {
    this.#inUse.add(client)
    try {
      if (this.#isCut) throw postponedError('shutting_down')
      if (this.#greeted.has(client)) return
      await refuseStandby(client)
      await this.#guard?.greet(client)
      this.#greeted.add(client)
    } catch (error) {
      this.#release(client, false)
      throw error
    }
  }

  #release(client: pg.PoolClient, isUsable: boolean): void {
    this.#inUse.delete(client)
    client.release(!isUsable)
  }
}

function openPool(
  address: string,
  connectionsMax: number,
  { statementMsMax = STATEMENT_MS_MAX }: DatabaseOptions,
): pg.Pool {
  const pool = new pg.Pool({
    ...connectionSettings(address),
    max: connectionsMax,
    idleTimeoutMillis: IDLE_MS_MAX,
    ...statementLimit(statementMsMax),
  })
  // The pool replaces a connection that is lost while idle; in use, the statement fails. Without
  // listeners, though, the process would end.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => void client.on('error', () => undefined))
  return pool
}

function sqlOn(client: pg.ClientBase): Sql {
  const run = async (text: string, values: readonly unknown[] = []) => {
    const { rows, rowCount } = await client.query(prepared(text, values.map(storable)))
    return { rows, changes: rowCount ?? 0 }
  }
  return {
    run,
    rows: async <Row>(text: string, values?: readonly unknown[]) =>
      (await run(text, values)).rows as Row[],
    change: async (text, values) => (await run(text, values)).changes,
  }
}

/** PostgreSQL's texts cannot contain U+0000: U+FFFD replaces it. */
function storable(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\u{FFFD}') : value
}

/** @throws OtherData */
async function compare(client: pg.ClientBase, known: KnownData): Promise<void> {
  const { reached } = known
  const { rows } = await client.query<ServerRow>(prepared(READ_SERVER, [known.process]))
  if (rows[0] === undefined || !isKnownServer(rows[0], reached))
    throw new OtherData('another server has the data')
}

/** @throws ServiceError `outcome_unknown` also after a warning: a standby may lack the commit */
async function commit(client: pg.ClientBase): Promise<void> {
  const warnings: string[] = []
  const hear = ({ message = '' }: { message?: string | undefined }) => void warnings.push(message)
  client.on('notice', hear)
  try {
    const { command } = await client.query('COMMIT')
    if (command !== 'COMMIT') throw new Error(`BUG: COMMIT was answered ${command}`)
  } catch (error) {
    if (isAnswered(error)) throw error
    throw postponedError('outcome_unknown', { cause: error })
  } finally {
    client.off('notice', hear)
  }
  if (warnings.length > 0) throw postponedError('outcome_unknown', { hint: warnings.join('; ') })
}

async function isRolledBack(client: pg.ClientBase): Promise<boolean> {
  try {
    await client.query('ROLLBACK')
    return true
  } catch {
    return false
  }
}

/** Whether the server answered: then the connection can be used again. */
function isAnswered(error: unknown): boolean {
  if (error instanceof ServiceError) return error.code !== 'outcome_unknown'
  return isOfStatement(error)
}

/** An unreachable database is temporary; an error in a statement is our bug. */
function asServiceError(error: unknown): unknown {
  if (error instanceof ServiceError) return error
  const failure = asDiskFailure(error)
  if (failure !== undefined || !isOutOfReach(error)) return failure ?? error
  return outOfReach(error)
}

function outOfReach(cause: unknown): ServiceError {
  const hint = cause instanceof Error ? cause.message : String(cause)
  return postponedError('overloaded', { detail: OUT_OF_REACH_DETAIL, hint, cause })
}

/** Runs work that may be skipped while the database is away: it is repeated later. */
export async function unlessAway<Result>(
  work: () => Promise<Result>,
  otherwise: Result,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError) return otherwise
    throw error
  }
}
