// One-time links, for people without an identity provider. The text of the token is derived from
// the code, a verifier of the client's own and a salt of the link. So the first use binds the code
// to its verifier, and a lost answer is given again, at any process, though no text is kept.

import { createHmac, hash, randomBytes } from 'node:crypto'
import { LINK, TOKEN_PREFIX } from '../domain/access.ts'
import { ServiceError } from '../domain/errors.ts'
import { tidyName } from '../domain/names.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { SignedIn } from '../ports/sign-in-codes.ts'
import type { Clock } from '../ports/system.ts'
import type { AccessTokens } from './tokens.ts'

const CODE_BYTES = 32
const SALT_BYTES = 32
/** Ends codes of the first user, so that clients can ask who that is first. No other code does. */
const FIRST = '1'

interface LinkOrder {
  /** `null`: of whoever becomes the first user. */
  readonly userId: number | null
  readonly nowMs: number
  readonly expiresAtMs: number | null
}

/** Adds a link. @returns its code, shown once and never kept */
export async function createLink(controlWriter: ControlWriter, order: LinkOrder): Promise<string> {
  const random = randomBytes(CODE_BYTES).toString('base64url')
  const code = order.userId === null ? random + FIRST : random
  await controlWriter.createSignInLink({
    ...order,
    hash: hash('sha256', code, 'buffer'),
    salt: randomBytes(SALT_BYTES),
  })
  return code
}

/** The address of the page that redeems a code. */
export function linkUrl(publicUrl: string, code: string): string {
  return `${publicUrl.replace(/\/$/, '')}/#/link/${code}`
}

export interface LinkUse {
  readonly code: string
  readonly codeVerifier: string
  readonly appName: string
  /** Who is to be the first user; only of a link of the first start. */
  readonly firstUser: { readonly email: string; readonly name: string } | undefined
}

interface Collaborators {
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly tokens: Pick<AccessTokens, 'forgetToken'>
  readonly clock: Clock
}

export class SignInLinks {
  readonly #with: Collaborators
  readonly #settings: { readonly mobileTokenLifetimeMs: number }

  constructor(collaborators: Collaborators, settings: { readonly mobileTokenLifetimeMs: number }) {
    this.#with = collaborators
    this.#settings = settings
  }

  /** A code for whoever is to be the first user. @returns `undefined`: there is a user */
  async createFirst(): Promise<string | undefined> {
    const { control, controlWriter, clock } = this.#with
    if (await control.hasUsers()) return undefined
    const order = { userId: null, nowMs: clock.nowMs(), expiresAtMs: null }
    return createLink(controlWriter, order)
  }

  /**
   * @throws ServiceError `invalid_grant` for a code that is unknown, expired, or used with another
   *   verifier or more than two minutes ago
   * @throws ServiceError `validation_failed` if the link makes the first user and nobody is named
   */
  async redeem({ code, codeVerifier, appName, firstUser }: LinkUse): Promise<SignedIn> {
    const { control, controlWriter, tokens, clock } = this.#with
    const linkHash = hash('sha256', code, 'buffer')
    const link = await control.findSignInLink(linkHash)
    if (link === undefined) throw new ServiceError('invalid_grant')
    if (link.userId === null && firstUser === undefined) throw nobodyNamed()
    const secret = createHmac('sha256', link.salt).update(JSON.stringify([code, codeVerifier]))
    const text = TOKEN_PREFIX.mobile + secret.digest('base64url')
    const nowMs = clock.nowMs()
    const signedIn = await controlWriter.redeemSignInLink({
      linkHash,
      firstUser,
      nowMs,
      token: {
        name: LINK,
        appName: tidyName(appName),
        rights: ['sensors:read'],
        hash: hash('sha256', text, 'buffer'),
        expiresAtMs: nowMs + this.#settings.mobileTokenLifetimeMs,
      },
    })
    if (signedIn === undefined) throw new ServiceError('invalid_grant')
    for (const tokenId of signedIn.endedTokenIds) tokens.forgetToken(tokenId)
    const { user, token } = signedIn
    return { token: text, expiresAtMs: token.expiresAtMs ?? Infinity, user }
  }
}

function nobodyNamed(): ServiceError {
  const detail = 'is missing: this link creates the first user'
  return new ServiceError('validation_failed', {
    detail: 'The request has one fault.',
    faults: [{ pointer: '/email', code: 'required', detail }],
  })
}
