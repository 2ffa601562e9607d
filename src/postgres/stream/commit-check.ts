// Begins and ends transactions whose commit must be durable. The settings that durability rests on
// are read in the first statement and again behind the COMMIT. Nothing is acknowledged unless both
// reads find safe settings, the two are equal, and the server issued no warning.

import type pg from 'pg'
import { postponedError } from '../../domain/errors.ts'
import { durabilityFault, isSameDurability, READ_DURABILITY } from '../server/durability.ts'
import type { Durability, DurabilityRow } from '../server/durability.ts'
import type { Session } from './session.ts'
import { ConnectionLost } from './session.ts'

type Outcome<Value> = PromiseSettledResult<Value>

/** The COMMIT was sent, and may or may not have made everything durable. */
export class CommitUnknown extends Error {}

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
    const [, { rows }] = await Promise.all([begun, this.#readDurability()])
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

  #readDurability(): Promise<pg.QueryResult<DurabilityRow & pg.QueryResultRow>> {
    return this.#session.send<DurabilityRow & pg.QueryResultRow>(READ_DURABILITY)
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
