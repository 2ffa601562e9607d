// SignInCodes in memory, for one process; a restart forgets them.

import { hash } from 'node:crypto'
import { MINUTE_MS } from '../domain/time.ts'
import type { ExchangedCode, SignedIn, SignInAttempt, SignInCodes } from '../ports/sign-in-codes.ts'
import type { Clock } from '../ports/system.ts'

const REMEMBERED_MS = 2 * MINUTE_MS
/** Codes remembered at the same time, about 1 KB each; beyond it, the oldest is forgotten. */
const CODES_MAX = 10_000

interface Code {
  readonly firstSeenAtMs: number
  readonly attempt: SignInAttempt
  /** The attempt of the request under way, or of the one that succeeded. */
  answer?: Promise<SignedIn> | undefined
}

export class MemorySignInCodes implements SignInCodes {
  readonly #clock: Clock
  /** By hash, oldest first. */
  readonly #codes = new Map<string, Code>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async once(
    secret: string,
    exchange: (attempt: SignInAttempt) => Promise<SignedIn>,
  ): Promise<ExchangedCode> {
    const code = this.#codeOf(secret)
    const isRepeat = code.answer !== undefined
    code.answer ??= answerOf(code, exchange)
    return { signedIn: await code.answer, isRepeat }
  }

  #codeOf(secret: string): Code {
    const firstSeenAtMs = this.#clock.nowMs()
    this.#forgetOld(firstSeenAtMs)
    const key = hash('sha256', secret, 'base64')
    const known = this.#codes.get(key)
    if (known !== undefined) return known
    const code: Code = { firstSeenAtMs, attempt: { exchange: {} } }
    this.#codes.set(key, code)
    return code
  }

  #forgetOld(nowMs: number): void {
    for (const [key, { firstSeenAtMs }] of this.#codes) {
      const isOld = firstSeenAtMs + REMEMBERED_MS <= nowMs
      if (!isOld && this.#codes.size < CODES_MAX) return
      this.#codes.delete(key)
    }
  }
}

async function answerOf(
  code: Code,
  exchange: (attempt: SignInAttempt) => Promise<SignedIn>,
): Promise<SignedIn> {
  try {
    return await exchange(code.attempt)
  } catch (error) {
    code.answer = undefined
    throw error
  }
}
