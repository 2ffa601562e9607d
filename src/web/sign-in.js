// Signing in with an identity provider: authorization code with PKCE (RFC 7636), entirely in the
// browser. The verifier and the state stay in this tab's sessionStorage until the browser returns.

import { Refused, dataOf, post } from './api.js'
import { replaceSession } from './sign-out.js'

/**
 * @import { Bootstrap, Session, SignInProvider } from './api.js'
 * @typedef {{
 *   providerId: string, issuer: string, state: string, verifier: string, redirectUri: string,
 *   backTo: string,
 * }} Attempt
 */

const ATTEMPT = 'thermolog.sign-in'

/** Where providers send the browser back to. */
export const OWN_ADDRESS = new URL('.', location.href).href

/** Signing in needs a page that nobody can modify in transit. */
export const isSecure = globalThis.isSecureContext

/**
 * The redirect URI that leads back to this page: the service's, if it leads here (it may be its
 * relay), else the page's own.
 *
 * @param {Bootstrap} bootstrap
 * @param {SignInProvider} provider
 */
function redirectUriOf({ callback_url: callbackUrl }, { redirect_uri: redirectUri }) {
  const leadsHere = redirectUri === OWN_ADDRESS || callbackUrl === OWN_ADDRESS
  return leadsHere ? redirectUri : OWN_ADDRESS
}

/**
 * Whether the service accepts a redirect URI. A grant that cannot succeed shows this without asking
 * the provider.
 *
 * @param {SignInProvider} provider
 * @param {string} redirectUri
 */
async function isRedirectUriTaken(provider, redirectUri) {
  const impossible = { code: '-', code_verifier: '-', redirect_uri: redirectUri }
  try {
    await post(`/auth/${provider.id}`, impossible)
    return true
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 422) return true
    return !error.faults.some(({ code }) => code === 'unknown_redirect_uri')
  }
}

/**
 * Goes to the provider.
 *
 * @param {Bootstrap} bootstrap
 * @param {SignInProvider} provider
 * @param {string} backTo the URL's fragment, with `#`, to return to afterwards
 * @returns whether it goes: `false` if the page cannot be called back
 */
export async function leaveFor(bootstrap, provider, backTo) {
  const redirectUri = redirectUriOf(bootstrap, provider)
  const isCertain = redirectUri === provider.redirect_uri
  if (!isCertain && !(await isRedirectUriTaken(provider, redirectUri))) return false
  const verifier = randomText()
  const state = randomText()
  const { id: providerId, issuer, client_id: clientId, scopes } = provider
  /** @type {Attempt} */
  const attempt = { providerId, issuer, state, verifier, redirectUri, backTo }
  sessionStorage.setItem(ATTEMPT, JSON.stringify(attempt))
  const address = new URL(provider.authorization_endpoint ?? '')
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: scopes.join(' '),
    state,
    code_challenge: await challengeOf(verifier),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  location.assign(address)
  return true
}

/**
 * What the provider sent the browser back with; removed from the URL at once.
 *
 * @returns {{ attempt: Attempt, code: string } | { failure: string } | undefined} `undefined`: the
 *   page was not called back
 */
export function takeCallback() {
  const answer = new URLSearchParams(location.search)
  if (!answer.has('code') && !answer.has('error')) return undefined
  const text = sessionStorage.getItem(ATTEMPT)
  sessionStorage.removeItem(ATTEMPT)
  const attempt = /** @type {Attempt | undefined} */ (text === null ? undefined : JSON.parse(text))
  history.replaceState(null, '', `./${attempt?.backTo ?? ''}`)
  if (attempt === undefined || answer.get('state') !== attempt.state) {
    return { failure: 'This sign-in did not start here. Please try again.' }
  }
  if ((answer.get('iss') ?? attempt.issuer) !== attempt.issuer) {
    return { failure: 'The response came from another provider than the one you chose.' }
  }
  const code = answer.get('code')
  if (code !== null) return { attempt, code }
  const why = answer.get('error_description') ?? answer.get('error') ?? ''
  return { failure: `The provider did not sign you in: ${why}` }
}

/**
 * Exchanges the code for a token and keeps it. It may be retried: for two minutes the same code
 * gets the same token.
 *
 * @param {{ attempt: Attempt, code: string }} callback
 * @throws Refused, NoAnswer
 */
export async function finish({ attempt, code }) {
  const { providerId, verifier, redirectUri } = attempt
  const grant = { code, code_verifier: verifier, redirect_uri: redirectUri }
  await replaceSession(await dataOf(await post(`/auth/${providerId}`, grant)))
}

/**
 * The code of a sign-in link; removed from the URL at once.
 *
 * @returns {string | undefined} `undefined`: the URL is not a link
 */
export function takeLink() {
  const code = /^#\/link\/(.+)$/.exec(location.hash)?.[1]
  if (code !== undefined) history.replaceState(null, '', '.')
  return code
}

/**
 * Exchanges a link's code for a token, which is not kept yet.
 *
 * @param {{ code: string, verifier: string, email?: string, name?: string }} use
 * @returns {Promise<Session>}
 * @throws Refused, NoAnswer
 */
export async function redeem({ verifier, ...use }) {
  return dataOf(await post('/auth/link', { ...use, code_verifier: verifier }))
}

/** 256 random bits as 43 characters that need no escaping. */
export function randomText() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

/** @param {string} verifier */
async function challengeOf(verifier) {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return base64url(new Uint8Array(digest))
}

/** @param {Uint8Array} bytes */
function base64url(bytes) {
  const text = btoa(String.fromCharCode(...bytes))
  return text
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/={1,2}$/, '')
}
