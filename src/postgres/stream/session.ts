// The connection of a lane, and transactions on it that are durable once they are committed.
// Statements are pipelined: sent without waiting for earlier answers.

import type pg from 'pg'
import { postponedError } from '../../domain/errors.ts'
import { connectAlone, endConnection, prepared, readRow } from '../server/connection.ts'
import type { Opening } from '../server/connection.ts'
import { durabilityFault, isSameDurability, READ_DURABILITY } from '../server/durability.ts'
import type { Durability, DurabilityRow } from '../server/durability.ts'
import { codeOf, isOfStatement, TRANSACTION_FAILED, UNDEFINED_TABLE } from '../server/failures.ts'
import { HOLD_SHARD, IS_SHARD_HERE, ShardTables } from './shard-tables.ts'

/** The connection is lost, or the server ended it: unanswered statements may have had effect. */
export class ConnectionLost extends Error {}

/** The COMMIT was sent, and may or may not have made everything durable. */
export class CommitUnknown extends Error {}

const READ_EPOCH = 'SELECT epoch FROM data_identity'
/** A restore locks this row before it fences streams. */
const HOLD_EPOCH = `${READ_EPOCH} FOR SHARE`

interface EpochRow {
  readonly epoch: string
}

export interface SessionSettings {
  readonly databaseUrl: string
  readonly durability: Durability
  /** Runs on every new connection before its use. */
  readonly greet: (client: pg.ClientBase) => Promise<void>
}

type Answer<Row> = Promise<pg.QueryResult<Row & pg.QueryResultRow>>
type Outcome<Value> = PromiseSettledResult<Value>

export class Session {
  readonly #client: pg.Client
  readonly #tables: ShardTables | undefined
  /** Of the data, when the connection was greeted. */
  readonly #epoch: string
  #warnings = 0
  /** What made the server refuse the statements behind it, until the transaction ends. */
  #failure: unknown

  private constructor(client: pg.Client, epoch: string, tables: ShardTables | undefined) {
    this.#client = client
    this.#epoch = epoch
    this.#tables = tables
    client.on('notice', () => this.#warnings++)
  }

  /**
   * @param shard of Citus, whose own tables all statements are on
   * @throws Error if no host can be used now
   */
  static async open(databaseUrl: string, opening?: Opening, shard?: number): Promise<Session> {
    let epoch = ''
    let tables: ShardTables | undefined
    const greet = async (client: pg.ClientBase) => {
      ;({ epoch } = await readRow<EpochRow>(client, READ_EPOCH))
      await opening?.greet?.(client)
      if (shard !== undefined) tables = await ShardTables.find(client, shard)
    }
    const client = await connectAlone(databaseUrl, true, { ...opening, greet })
    return new Session(client, epoch, tables)
  }

  /** How many warnings and notices the server has sent so far. */
  get warnings(): number {
    return this.#warnings
  }

  /**
   * Sends a statement behind all earlier ones.
   *
   * @throws pg.DatabaseError of the statement, or of an earlier one of the transaction that failed
   * @throws ConnectionLost
   */
  send<Row>(text: string, values: unknown[] = []): Answer<Row> {
    const answer = this.#client
      .query<Row & pg.QueryResultRow>(prepared(this.#tables?.inShard(text) ?? text, values))
      .catch((cause: unknown) => {
        throw this.#failureOf(cause)
      })
    // If several fail, the caller awaits only the first; the others must not end the process.
    answer.catch(ignore)
    return answer
  }

  /**
   * Keeps the shard on this server until the transaction ends.
   *
   * @throws ConnectionLost: it was moved to another one
   */
  async holdShard(): Promise<void> {
    if (this.#tables === undefined) return
    const shard = [this.#tables.shardId]
    const holding = this.send(HOLD_SHARD, shard)
    const [, { rowCount }] = await Promise.all([holding, this.send(IS_SHARD_HERE, shard)])
    if (rowCount !== 1) throw new ConnectionLost('the shard was moved to another server, or split')
  }

  /**
   * To be called whenever a stream was taken, because only greetings mark the data of which
   * something may be lacking. A restore that is under way is waited for; a later one finds the
   * stream, and fences it.
   *
   * @throws ConnectionLost: the data were taken over since the greeting
   */
  async refuseTakenOver(): Promise<void> {
    const { rows } = await this.send<EpochRow>(HOLD_EPOCH)
    if (rows[0]?.epoch !== this.#epoch) throw new ConnectionLost('the data were taken over')
  }

  /** Callers that have sent several statements do not learn of the failed one first. */
  #failureOf(cause: unknown): unknown {
    if (codeOf(cause) === TRANSACTION_FAILED) return this.#failure
    const isLost = !isOfStatement(cause) || this.#hasLostTable(cause)
    this.#failure = isLost
      ? new ConnectionLost('the connection to the database is lost', { cause })
      : cause
    return this.#failure
  }

  /** Citus drops what was moved after a while. */
  #hasLostTable({ code }: pg.DatabaseError): boolean {
    return this.#tables !== undefined && code === UNDEFINED_TABLE
  }

  /** Cuts the connection at once; the server then gives up what it does for it. */
  destroy(): void {
    this.#client.connection.stream.destroy()
  }

  async close(): Promise<void> {
    await endConnection(this.#client)
  }
}

/**
 * Begins and ends a transaction whose commit must be durable. The settings that durability rests on
 * are read in the first statement and again behind the COMMIT. Nothing is acknowledged unless both
 * reads find safe settings, the two are equal, and the server issued no warning.
 */
export class CommitCheck {
  readonly #session: Session
  readonly #durability: Durability
  #warnings = 0
  #before: DurabilityRow | undefined

  constructor(session: Session, durability: Durability) {
    this.#session = session
    this.#durability = durability
  }

  /** @throws ServiceError `overloaded`: with these settings nothing can be acknowledged */
  async begin(): Promise<void> {
    const begun = this.#session.send('BEGIN')
    const holding = this.#session.holdShard()
    const [, , { rows }] = await Promise.all([begun, holding, this.#readDurability()])
    this.#warnings = this.#session.warnings
    this.#before = rows[0]
    if (this.#before === undefined) throw new Error('BUG: the settings have no row')
    const fault = durabilityFault(this.#before, this.#durability)
    if (fault === undefined) return
    const detail = 'The database cannot keep measurements safely now.'
    throw postponedError('overloaded', { detail, hint: fault })
  }

  /**
   * Sends COMMIT behind the statements already sent, and waits for all of them.
   *
   * @throws pg.DatabaseError: nothing is stored @throws CommitUnknown
   */
  async commit(sent: readonly Promise<unknown>[]): Promise<void> {
    const committing = this.#session.send('COMMIT')
    const reading = this.#readDurability()
    // All at once: an unhandled rejection would end the process.
    const [outcomes, [committed, after]] = await Promise.all([
      Promise.allSettled(sent),
      Promise.allSettled([committing, reading]),
    ])
    refuseRolledBack(committed, outcomes)
    const isWarned = this.#session.warnings !== this.#warnings
    const read = after.status === 'fulfilled' ? after.value.rows[0] : undefined
    const isSame =
      read !== undefined && this.#before !== undefined && isSameDurability(this.#before, read)
    if (committed.status === 'fulfilled' && isSame && !isWarned) return
    const cause: unknown = committed.status === 'rejected' ? committed.reason : undefined
    throw new CommitUnknown('the outcome of a commit is not known', { cause })
  }

  #readDurability(): Answer<DurabilityRow> {
    return this.#session.send<DurabilityRow>(READ_DURABILITY)
  }
}

/**
 * @throws the error of the COMMIT, or of the statement for which the server rolled back: nothing is
 *   stored
 */
function refuseRolledBack(
  committed: Outcome<pg.QueryResult>,
  sent: readonly Outcome<unknown>[],
): void {
  if (committed.status === 'rejected') {
    const reason: unknown = committed.reason
    if (reason instanceof ConnectionLost) return
    throw reason
  }
  if (committed.value.command === 'COMMIT') return
  const failed = sent.find(({ status }) => status === 'rejected')
  throw failed?.status === 'rejected' ? failed.reason : new Error('BUG: COMMIT was rolled back')
}

function ignore(): void {}
