// What came of authorization codes lately. No provider takes a code twice, and a phone on a bad
// network asks again with the one it has.

import type { User, VerifiedIdentity } from '../domain/access.ts'
import type { ExchangeProgress } from './identity.ts'

export interface SignedIn {
  /** The text of the mobile token. */
  readonly token: string
  /** When it ends at the latest. */
  readonly expiresAtMs: number
  readonly user: User
}

/** How far the sign-in with a code has come. */
export interface SignInAttempt {
  /** Until the provider's word is verified. */
  exchange: ExchangeProgress
  /** Once it is. */
  identity?: VerifiedIdentity
}

export interface ExchangedCode {
  readonly signedIn: SignedIn
  /** Whether another request has, or had, it exchanged. */
  readonly isRepeat: boolean
}

export interface SignInCodes {
  /**
   * Exchanges a code once, however often and wherever it comes within two minutes: who comes later
   * waits for the answer, and gets the same. What failed is tried again by the next request, which
   * goes on where it stopped.
   *
   * @param secret the code and all that belongs to it: only a hash of it is kept, and what is
   *   written down can be read by nobody without it
   * @param exchange notes in the attempt what need not be done again
   */
  once(
    secret: string,
    exchange: (attempt: SignInAttempt) => Promise<SignedIn>,
  ): Promise<ExchangedCode>
}
