// Whether an ID token is what it claims to be: signed by the provider's published keys with an
// algorithm of the list, made by this issuer, for this client, lately, and still good.
//
// A provider changes its keys whenever it likes, and may sign with one before it publishes it. A
// token of an unknown key waits for it. Nobody but the provider can have us wait, as the token
// comes straight from there; whoever waits shares one request a second.

import { setTimeout } from 'node:timers/promises'
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose'
import type { JWTPayload, JWTVerifyGetKey } from 'jose'
import { SECOND_MS } from '../domain/time.ts'
import type { DurationMs, EpochMs } from '../domain/time.ts'
import { fetchText, ProviderFault } from './provider-exchange.ts'

/** Asymmetric ones alone: with a shared secret the client could have signed it itself. */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')

/** Keys are not fetched again sooner, whoever asks. */
const KEYS_EVERY_MS: DurationMs = SECOND_MS
/** So often in all, a token of an unknown key has them fetched again. */
const KEY_LOOKS_MAX = 5

const CLOCK_TOLERANCE_SECONDS = 60
/** It comes straight from the provider, so it was made for this exchange. */
const AGE_SECONDS_MAX = 60 * 60
const SUBJECT_CHARACTERS_MAX = 255

export type IdTokenClaims = JWTPayload & { readonly sub: string }

export interface IdTokenExpectation {
  readonly issuer: string
  readonly clientId: string
  readonly nowMs: EpochMs
}

/**
 * The keys that a provider publishes, fetched when they are needed and kept for ten minutes. One
 * that is unknown is waited for, for some seconds.
 */
export function providerKeys(jwksUri: string, timeoutMs: DurationMs): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(new URL(jwksUri), {
    timeoutDuration: timeoutMs,
    cooldownDuration: KEYS_EVERY_MS,
    [customFetch]: async (url, { signal }) => {
      const { status, text } = await fetchText(url, {}, signal)
      return new Response(text, { status })
    },
  })
  return async (header, token) => {
    for (let look = 1; ; look++) {
      try {
        return await keys(header, token)
      } catch (error) {
        const isUnknown = error instanceof errors.JWKSNoMatchingKey
        if (!isUnknown || look === KEY_LOOKS_MAX) throw error
      }
      await setTimeout(KEYS_EVERY_MS, undefined, { ref: false })
    }
  }
}

/**
 * The claims of an ID token.
 *
 * @throws ProviderFault when anything about it is wrong, or its key cannot be had
 */
export async function verifyIdToken(
  idToken: string,
  keys: JWTVerifyGetKey,
  { issuer, clientId, nowMs }: IdTokenExpectation,
): Promise<IdTokenClaims> {
  const claims = await verifiedClaims(idToken, keys, {
    issuer: [...issuersOf(issuer)],
    audience: clientId,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    maxTokenAge: AGE_SECONDS_MAX,
    requiredClaims: ['sub', 'exp', 'iat'],
    currentDate: new Date(Math.floor(nowMs / SECOND_MS) * SECOND_MS),
  })
  const { sub, azp, aud } = claims
  if (typeof sub !== 'string' || sub === '' || sub.length > SUBJECT_CHARACTERS_MAX) {
    throw new ProviderFault('the ID token has no usable subject')
  }
  const isForSeveral = Array.isArray(aud) && aud.length > 1
  if (azp === undefined ? isForSeveral : azp !== clientId) {
    throw new ProviderFault('the ID token was made for another party')
  }
  return { ...claims, sub }
}

async function verifiedClaims(
  idToken: string,
  keys: JWTVerifyGetKey,
  options: Parameters<typeof jwtVerify>[2],
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(idToken, keys, options)).payload
  } catch (error) {
    if (error instanceof errors.JWTClaimValidationFailed) {
      throw new ProviderFault(`the ID token does not verify: ${error.claim} ${error.reason}`)
    }
    if (error instanceof ProviderFault) throw error
    // Also what the keys are to blame for: they are the provider's as well.
    const { code = 'unreadable' } = error as { readonly code?: unknown }
    throw new ProviderFault(`the ID token does not verify: ${String(code)}`, { cause: error })
  }
}

/** Google's tokens may name their issuer without its scheme, as its documents say. */
function issuersOf(issuer: string): readonly string[] {
  const google = 'https://accounts.google.com'
  return issuer === google ? [google, 'accounts.google.com'] : [issuer]
}
