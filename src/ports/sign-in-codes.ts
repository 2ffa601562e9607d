// Recent results of authorization codes. No provider accepts a code twice, and an app on a bad
// network sends the same one again.

import type { User, VerifiedIdentity } from '../domain/access.ts'
import type { ExchangeProgress } from './identity.ts'

export interface SignedIn {
  /** The text of the mobile token. */
  readonly token: string
  /** When it expires at the latest. */
  readonly expiresAtMs: number
  readonly user: User
}

/** How far the sign-in with a code has come. */
export interface SignInAttempt {
  /** Set until the provider's response is verified. */
  exchange: ExchangeProgress
  /** Set once it is verified. */
  identity?: VerifiedIdentity
}

export interface ExchangedCode {
  readonly signedIn: SignedIn
  /** Whether another request is exchanging it, or has exchanged it. */
  readonly isRepeat: boolean
}

export interface SignInCodes {
  /**
   * Exchanges a code once, however often and wherever it arrives within two minutes: later requests
   * wait for the result and get the same one. If the exchange fails, the next request continues
   * where it stopped.
   *
   * @param secret the code and everything that belongs to it: only its hash is kept, and stored
   *   results can be read only with it
   * @param exchange records in the attempt what need not be repeated
   */
  once(
    secret: string,
    exchange: (attempt: SignInAttempt) => Promise<SignedIn>,
  ): Promise<ExchangedCode>
}
