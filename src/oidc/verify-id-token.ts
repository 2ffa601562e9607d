// Verifies an ID token: signed with the provider's published keys and an algorithm of the list,
// by this issuer, for this client, recently, and not expired.
//
// A provider may rotate its keys at any time, and may sign with a key before publishing it. A token
// with an unknown key therefore waits for that key. Only the provider can cause such a wait, since
// the token comes straight from it; all who wait share one request a second.

import { setTimeout } from 'node:timers/promises'
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose'
import type { JWTPayload, JWTVerifyGetKey } from 'jose'
import { SECOND_MS } from '../domain/time.ts'
import { fetchText, ProviderFault } from './provider-exchange.ts'

/** Only asymmetric ones: with a shared secret, the client could have signed the token itself. */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')

/** Minimum time between two fetches of the keys. */
const KEYS_EVERY_MS: number = SECOND_MS
/** How often a token with an unknown key may cause another fetch. */
const KEY_LOOKS_MAX = 5

const CLOCK_TOLERANCE_SECONDS = 60
/** It comes straight from the provider, so it was issued for this exchange. */
const AGE_SECONDS_MAX = 60 * 60
const SUBJECT_CHARACTERS_MAX = 255

export type IdTokenClaims = JWTPayload & { readonly sub: string }

export interface IdTokenExpectation {
  readonly issuer: string
  readonly clientId: string
  readonly nowMs: number
}

/**
 * A provider's published keys, fetched on demand and cached for ten minutes. An unknown key is
 * awaited for a few seconds.
 */
export function providerKeys(jwksUri: string, timeoutMs: number): JWTVerifyGetKey {
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
 * @throws ProviderFault when anything about it is wrong, or its key is unavailable
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
    throw new ProviderFault('the ID token was issued for another party')
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
    // Errors in the keys count too: they are the provider's as well.
    const { code = 'unreadable' } = error as { readonly code?: unknown }
    throw new ProviderFault(`the ID token does not verify: ${String(code)}`, { cause: error })
  }
}

/** Google's tokens may name their issuer without its scheme, as documented. */
function issuersOf(issuer: string): readonly string[] {
  const google = 'https://accounts.google.com'
  return issuer === google ? [google, 'accounts.google.com'] : [issuer]
}
