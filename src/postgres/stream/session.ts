// The connection of a lane, and transactions on it that are durable once they are committed.
// Statements are pipelined: sent without waiting for earlier answers.

import type pg from 'pg'
import { postponedError } from '../../domain/errors.ts'
import { connectAlone, endConnection, prepared } from '../server/connection.ts'
import type { Opening } from '../server/connection.ts'
import { durabilityFault, isSameDurability, READ_DURABILITY } from '../server/durability.ts'
import type { Durability, DurabilityRow } from '../server/durability.ts'
import { codeOf, isOfStatement, TRANSACTION_FAILED } from '../server/failures.ts'
import { isKnownServer, READ_SERVER } from '../server/recorded-server.ts'
import type { KnownData, ServerRow } from '../server/recorded-server.ts'

/** The connection is lost, or the server ended it: unanswered statements may have had effect. */
export class ConnectionLost extends Error {}

/** The COMMIT was sent, and may or may not have made everything durable. */
export class CommitUnknown extends Error {}

/** What a commit is checked against. */
export interface CheckSettings {
  readonly durability: Durability
  readonly known: KnownData
}

type Answer<Row> = Promise<pg.QueryResult<Row & pg.QueryResultRow>>
type Outcome<Value> = PromiseSettledResult<Value>

export class Session {
  readonly #client: pg.Client
  #warnings = 0
  /** What made the server refuse the statements behind it, until the transaction ends. */
  #failure: unknown

  private constructor(client: pg.Client) {
    this.#client = client
    client.on('notice', () => this.#warnings++)
  }

  /** @throws Error if no host can be used now */
  static async open(databaseUrl: string, opening?: Opening): Promise<Session> {
    return new Session(await connectAlone(databaseUrl, true, opening))
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
      .query<Row & pg.QueryResultRow>(prepared(text, values))
      .catch((cause: unknown) => {
        throw this.#failureOf(cause)
      })
    // If several fail, the caller awaits only the first; the others must not end the process.
    answer.catch(ignore)
    return answer
  }

  /** Callers that have sent several statements do not learn of the failed one first. */
  #failureOf(cause: unknown): unknown {
    if (codeOf(cause) === TRANSACTION_FAILED) return this.#failure
    this.#failure = isOfStatement(cause)
      ? cause
      : new ConnectionLost('the connection to the database is lost', { cause })
    return this.#failure
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
 * reads find safe settings, the two are equal, the first finds the recorded server, and there was
 * no warning.
 */
export class CommitCheck {
  readonly #session: Session
  readonly #with: CheckSettings
  #warnings = 0
  #before: ServerRow | undefined

  constructor(session: Session, settings: CheckSettings) {
    this.#session = session
    this.#with = settings
  }

  /**
   * @throws ServiceError `overloaded`: with these settings nothing can be acknowledged
   * @throws ConnectionLost: another server has the data
   */
  async begin(): Promise<void> {
    const { known, durability } = this.#with
    const { reached } = known
    const begun = this.#session.send('BEGIN')
    const reading = this.#session.send<ServerRow>(READ_SERVER, [known.process])
    const [, { rows }] = await Promise.all([begun, reading])
    this.#warnings = this.#session.warnings
    this.#before = rows[0]
    if (this.#before === undefined) throw new Error('BUG: the settings have no row')
    if (!isKnownServer(this.#before, reached))
      throw new ConnectionLost('another server has the data')
    const fault = durabilityFault(this.#before, durability)
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
    const reading = this.#session.send<DurabilityRow>(READ_DURABILITY)
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
