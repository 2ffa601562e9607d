// Daemon tokens that people make for themselves: listing, making, rotating and ending them. What an
// operator made is listed, too, and only an operator changes it.

import type { AccessToken, Principal, Right } from '../domain/access.ts'
import { tokenState } from '../domain/access.ts'
import { ServiceError } from '../domain/errors.ts'
import { ownTokensPerUserMax } from '../domain/limits.ts'
import { DAY_MS } from '../domain/time.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ControlWriter, OwnTokenRefusal } from '../ports/control-writer.ts'
import type { Clock } from '../ports/system.ts'
import { mintToken } from './tokens.ts'
import type { AccessTokens } from './tokens.ts'

const BY_OPERATOR = 'An operator made this token: only an operator changes it.'
const TOO_MANY = `There are already ${ownTokensPerUserMax} tokens that you made: end one first.`

export interface OwnTokenOrder {
  readonly name: string
  readonly rights: readonly Right[]
  readonly serialNumberPrefix: string
  /** `undefined`: it does not expire. */
  readonly lifetimeDays: number | undefined
}

/** A token with its text, which is shown once and never kept. */
export interface MadeToken {
  readonly token: AccessToken
  readonly text: string
}

interface Collaborators {
  readonly tokens: AccessTokens
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly clock: Clock
}

export class OwnTokens {
  readonly #with: Collaborators

  constructor(collaborators: Collaborators) {
    this.#with = collaborators
  }

  /** The user's daemon tokens that work, whoever made them, by id. */
  async list(userId: number): Promise<readonly AccessToken[]> {
    const { tokens, control, clock } = this.#with
    const nowMs = clock.nowMs()
    return (await control.listTokens(userId)).flatMap((token) => {
      const isListed =
        token.kind === 'daemon' && tokenState(token, null, nowMs, Infinity) === 'live'
      return isListed ? [{ ...token, lastUsedAtMs: tokens.lastUsedAtMs(token) }] : []
    })
  }

  /** @throws ServiceError `not_found`; `insufficient_scope`: an operator made it */
  async find(userId: number, tokenId: number | undefined): Promise<AccessToken> {
    const found = (await this.list(userId)).find(({ id }) => id === tokenId)
    if (found === undefined) throw new ServiceError('not_found')
    if (found.madeInSessionId !== null) return found
    throw new ServiceError('insufficient_scope', { detail: BY_OPERATOR })
  }

  /**
   * @param principal the owner, in a session
   * @throws ServiceError `validation_failed`: there are too many; `invalid_token`
   */
  async create({ user, token: session }: Principal, order: OwnTokenOrder): Promise<MadeToken> {
    const { controlWriter, clock } = this.#with
    const { lifetimeDays, ...what } = order
    const { text, hash } = mintToken('daemon')
    const nowMs = clock.nowMs()
    const expiresAtMs = lifetimeDays === undefined ? null : nowMs + lifetimeDays * DAY_MS
    const made = { userId: user.id, kind: 'daemon', madeInSessionId: session.id, nowMs } as const
    const token = await controlWriter.createOwnToken({ ...what, ...made, hash, expiresAtMs })
    return typeof token === 'string' ? refuse(token) : { token, text }
  }

  /** @throws ServiceError as `create`; `not_found` if the token has just ended */
  async rotate(
    { user, token: session }: Principal,
    tokenId: number,
    overlapDays: number,
  ): Promise<MadeToken> {
    const { tokens, controlWriter, clock } = this.#with
    const { text, hash } = mintToken('daemon')
    const rotated = await controlWriter.rotateOwnToken(tokenId, {
      userId: user.id,
      madeInSessionId: session.id,
      hash,
      nowMs: clock.nowMs(),
      overlapMs: overlapDays * DAY_MS,
    })
    if (rotated === undefined) throw new ServiceError('not_found')
    if (typeof rotated === 'string') return refuse(rotated)
    tokens.forgetToken(tokenId)
    return { token: rotated.token, text }
  }

  /** @throws ServiceError `not_found` if the token has just ended */
  async end({ id }: AccessToken): Promise<void> {
    if (!(await this.#with.tokens.revoke(id))) throw new ServiceError('not_found')
  }
}

function refuse(refusal: OwnTokenRefusal): never {
  if (refusal === 'session-ended') throw new ServiceError('invalid_token')
  throw new ServiceError('validation_failed', {
    detail: TOO_MANY,
    faults: [{ pointer: '', code: 'too_many_tokens', detail: TOO_MANY }],
  })
}
