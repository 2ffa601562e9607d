// Access tokens: creating them, and finding the principal of a presented one.
//
// Only the SHA-256 of a token's text is ever stored; the text stays in memory as long as the
// connection that sent it. Principals are cached by that hash, so a request needs no look-up,
// unless other processes work on the same data.
// Expiry is checked at each use; whatever revokes a token or deletes its user must say so here. The
// time of last use is kept in memory and written about once a minute: a crash loses at most that
// much of it, which only affects what is displayed.

import { hash, randomBytes } from 'node:crypto'
import type { AccessToken, Principal, TokenKind } from '../domain/access.ts'
import { TOKEN_PREFIX, tokenState } from '../domain/access.ts'
import { MINUTE_MS } from '../domain/time.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { Clock, Log } from '../ports/system.ts'

const SECRET_BYTES = 32
const TOKEN_CHARACTERS_MAX = 128
const CACHED_PRINCIPALS_MAX = 20_000
const FLUSH_INTERVAL_MS = MINUTE_MS

export interface MintedToken {
  /** Shown once and never kept. */
  readonly text: string
  /** SHA-256 of the text. */
  readonly hash: Buffer
}

/** A new token: the prefix of its kind and 256 random bits. */
export function mintToken(kind: TokenKind): MintedToken {
  const text = TOKEN_PREFIX[kind] + randomBytes(SECRET_BYTES).toString('base64url')
  return { text, hash: hash('sha256', text, 'buffer') }
}

export interface AccessTokensSettings {
  /** A mobile token that is not used for this long has expired. */
  readonly mobileTokenIdleMs: number
  /** Whether other processes revoke tokens too: then each use is a look-up. */
  readonly isShared?: boolean
}

interface Collaborators {
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly clock: Clock
  readonly log: Log
}

interface CachedPrincipal {
  readonly principal: Principal
  lastUsedAtMs: number | null
}

/**
 * Finds principals of tokens. Call `start` to have times of last use written, `stop` to write the
 * rest.
 */
export class AccessTokens {
  readonly #with: Collaborators
  readonly #settings: AccessTokensSettings
  readonly #cache = new Map<string, CachedPrincipal>()
  /** Hashing takes a twentieth of a small request's time, and a connection repeats its token. */
  readonly #lastOf = new WeakMap<object, { readonly text: string; readonly key: string }>()
  #unwrittenUses = new Map<number, number>()
  #timer: NodeJS.Timeout | undefined
  /** Counts invalidations: a look-up that began before one must not fill the cache after it. */
  #generation = 0

  constructor(collaborators: Collaborators, settings: AccessTokensSettings) {
    this.#with = collaborators
    this.#settings = settings
  }

  /**
   * The principal of a presented token; records the use. Synchronous if cached.
   *
   * @param connection by which it came
   * @returns `undefined` for a token that is unknown, revoked or expired: they look the same
   */
  find(
    text: string,
    nowMs: number,
    connection?: object,
  ): Principal | undefined | Promise<Principal | undefined> {
    if (text.length > TOKEN_CHARACTERS_MAX) return undefined
    const key = connection === undefined ? keyOf(text) : this.#lastKeyOf(connection, text)
    const cached = this.#cache.get(key)
    return cached === undefined ? this.#load(key, nowMs) : this.#use(cached, nowMs)
  }

  /** When a token was last used, as far as is known. */
  lastUsedAtMs(token: AccessToken): number | null {
    return this.#unwrittenUses.get(token.id) ?? token.lastUsedAtMs
  }

  /** The user's sessions, newest first: mobile tokens that work. */
  async listSessions(userId: number): Promise<readonly AccessToken[]> {
    const nowMs = this.#with.clock.nowMs()
    const tokens = await this.#with.control.listSessions(userId)
    return tokens.flatMap((token) => {
      const lastUsedAtMs = this.lastUsedAtMs(token)
      const state = tokenState(token, lastUsedAtMs, nowMs, this.#settings.mobileTokenIdleMs)
      return state === 'live' ? [{ ...token, lastUsedAtMs }] : []
    })
  }

  /** Ends a session, effective at once. @returns whether the user had it */
  async endSession(userId: number, tokenId: number): Promise<boolean> {
    const sessions = await this.#with.control.listSessions(userId)
    return sessions.some(({ id }) => id === tokenId) && (await this.revoke(tokenId))
  }

  /**
   * Revokes a token; when it resolves, the token is unknown to everyone.
   *
   * @returns whether it was not revoked before
   */
  async revoke(tokenId: number): Promise<boolean> {
    const isRevoked = await this.#with.controlWriter.revokeToken(tokenId)
    this.forgetToken(tokenId)
    return isRevoked
  }

  /**
   * Deletes the account of a person who may delete it.
   *
   * @returns whether they may; `undefined` if it is deleted already
   */
  async deleteAccount(userId: number): Promise<boolean | undefined> {
    const isDeleted = await this.#with.controlWriter.deleteAccount(userId)
    if (isDeleted !== false) this.forgetUser(userId)
    return isDeleted
  }

  /** A token was revoked: from now on it is unknown. */
  forgetToken(tokenId: number): void {
    this.#forget((principal) => principal.token.id === tokenId)
  }

  /** A user was changed or deleted: their tokens are looked up again. */
  forgetUser(userId: number): void {
    this.#forget((principal) => principal.user.id === userId)
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#flush(), FLUSH_INTERVAL_MS).unref()
  }

  /** Writes the times of last use that have not been written yet. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    await this.#flush()
  }

  #lastKeyOf(connection: object, text: string): string {
    const last = this.#lastOf.get(connection)
    if (last?.text === text) return last.key
    const key = keyOf(text)
    this.#lastOf.set(connection, { text, key })
    return key
  }

  async #load(key: string, nowMs: number): Promise<Principal | undefined> {
    const generation = this.#generation
    const principal = await this.#with.control.findPrincipal(Buffer.from(key, 'binary'))
    if (principal === undefined) return undefined
    const lastUsedAtMs = this.lastUsedAtMs(principal.token)
    const found = this.#cache.get(key) ?? { principal, lastUsedAtMs }
    const mayKeep = generation === this.#generation && this.#settings.isShared !== true
    if (mayKeep) this.#cache.set(key, found)
    if (this.#cache.size > CACHED_PRINCIPALS_MAX) this.#evictOldest()
    return this.#use(found, nowMs)
  }

  #use(cached: CachedPrincipal, nowMs: number): Principal | undefined {
    const { token } = cached.principal
    const { mobileTokenIdleMs } = this.#settings
    const state = tokenState(token, cached.lastUsedAtMs, nowMs, mobileTokenIdleMs)
    if (state !== 'live') return undefined
    // A clock that is set back for a while ends no session.
    if (nowMs > (cached.lastUsedAtMs ?? -Infinity)) {
      cached.lastUsedAtMs = nowMs
      this.#unwrittenUses.set(token.id, nowMs)
    }
    return cached.principal
  }

  #evictOldest(): void {
    for (const key of this.#cache.keys()) {
      this.#cache.delete(key)
      return
    }
  }

  #forget(isMeant: (principal: Principal) => boolean): void {
    this.#generation++
    for (const [key, { principal }] of this.#cache) {
      if (isMeant(principal)) this.#cache.delete(key)
    }
  }

  async #flush(): Promise<void> {
    const uses = this.#unwrittenUses
    if (uses.size === 0) return
    this.#unwrittenUses = new Map()
    try {
      await this.#with.controlWriter.recordTokenUses(uses)
    } catch (error) {
      // Written by the next flush, unless a newer use has arrived meanwhile.
      for (const [id, usedAtMs] of uses) {
        if (!this.#unwrittenUses.has(id)) this.#unwrittenUses.set(id, usedAtMs)
      }
      this.#with.log.warn('cannot record last uses of tokens', { error: String(error) })
    }
  }
}

function keyOf(text: string): string {
  return hash('sha256', text, 'binary')
}
