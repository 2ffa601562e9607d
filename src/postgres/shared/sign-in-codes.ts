// SignInCodes on PostgreSQL: one process exchanges a code, the others wait for the result. Only the
// code's hash is stored; the result is encrypted with the code.

import { hash, randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type {
  ExchangedCode,
  SignedIn,
  SignInAttempt,
  SignInCodes,
} from '../../ports/sign-in-codes.ts'
import type { Database } from '../server/database.ts'
import { seal, unseal } from './sealed.ts'

/** Longer than an exchange may take: after that, its process has died. */
const OWNED = `interval '15 seconds'`
const REMEMBERED = `interval '2 minutes'`
/** About 2 KB each; beyond this, the oldest code is forgotten. */
const CODES_MAX = 10_000
const POLL_MS = 50

interface ClaimedRow {
  readonly attempt: Buffer | null
}

const FORGET = `
  DELETE FROM sign_in_codes WHERE first_seen_at <= statement_timestamp() - ${REMEMBERED}
    OR hash IN (SELECT hash FROM sign_in_codes ORDER BY first_seen_at DESC OFFSET ${CODES_MAX})`
const CLAIM = `
  INSERT INTO sign_in_codes AS c (hash, first_seen_at, owner, owned_until)
  VALUES ($1, statement_timestamp(), $2, statement_timestamp() + ${OWNED})
  ON CONFLICT (hash) DO UPDATE SET owner = excluded.owner, owned_until = excluded.owned_until
  WHERE c.result IS NULL AND c.owned_until <= statement_timestamp()
  RETURNING c.attempt`
const RESULT = 'SELECT result FROM sign_in_codes WHERE hash = $1'
const FINISH = 'UPDATE sign_in_codes SET result = $3, attempt = NULL WHERE hash = $1 AND owner = $2'
const GIVE_UP = `
  UPDATE sign_in_codes SET attempt = $3, owned_until = '-infinity' WHERE hash = $1 AND owner = $2`

export class PostgresSignInCodes implements SignInCodes {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async once(
    secret: string,
    exchange: (attempt: SignInAttempt) => Promise<SignedIn>,
  ): Promise<ExchangedCode> {
    const key = hash('sha256', secret, 'buffer')
    const owner = randomUUID()
    await this.#database.change(FORGET)
    for (;;) {
      const [claimed] = await this.#database.rows<ClaimedRow>(CLAIM, [key, owner])
      if (claimed !== undefined) {
        const signedIn = await this.#exchange({ secret, key, owner }, claimed, exchange)
        return { signedIn, isRepeat: false }
      }
      const [known] = await this.#database.rows<{ result: Buffer | null }>(RESULT, [key])
      if (known?.result) {
        return { signedIn: unseal(secret, known.result) as SignedIn, isRepeat: true }
      }
      await setTimeout(POLL_MS)
    }
  }

  async #exchange(
    { secret, key, owner }: { secret: string; key: Buffer; owner: string },
    { attempt: sealed }: ClaimedRow,
    exchange: (attempt: SignInAttempt) => Promise<SignedIn>,
  ): Promise<SignedIn> {
    const none: SignInAttempt = { exchange: {} }
    const attempt = sealed === null ? none : (unseal(secret, sealed) as SignInAttempt)
    try {
      const signedIn = await exchange(attempt)
      await this.#database.change(FINISH, [key, owner, seal(secret, signedIn)])
      return signedIn
    } catch (error) {
      await this.#database.change(GIVE_UP, [key, owner, seal(secret, attempt)])
      throw error
    }
  }
}
