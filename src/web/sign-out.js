// Ends tokens at the service. Without a network it puts them aside and ends them as soon as
// possible: any page that is opened, or still open, tries again.

import { NoAnswer, Refused, forgetSession, keepSession, post, session } from './api.js'

/** @import { Session } from './api.js' */

const ENDED = 'thermolog.ended'
const ENDED_MAX = 20
const RETRY_MS = 30_000

/** @type {ReturnType<typeof setTimeout> | undefined} */
let retry
let ending = Promise.resolve()

globalThis.addEventListener('online', () => void endTokens())

/** Ends a token, now or later; nothing here uses it any longer. @param {string} token */
export function endToken(token) {
  putAside([...aside(), token])
  return endTokens()
}

/** Signs somebody in here, replacing any previous session. @param {Session} signedIn */
export async function replaceSession(signedIn) {
  const old = session()
  await forgetSession()
  if (old !== undefined && old.token !== signedIn.token) void endToken(old.token)
  keepSession(signedIn)
}

/** Forgets a user's choices on this device; tokens of others may still have to end. */
export function forgetDevice() {
  for (const key of Object.keys(localStorage)) {
    if (key !== ENDED) localStorage.removeItem(key)
  }
  delete document.documentElement.dataset['theme']
}

/** Ends tokens put aside earlier, each only once at a time. */
export function endTokens() {
  ending = ending.then(() => endAll())
  return ending
}

async function endAll() {
  clearTimeout(retry)
  for (const token of aside()) {
    if (await isEnded(token)) putAside(aside().filter((other) => other !== token))
  }
  if (aside().length > 0) retry = setTimeout(() => void endTokens(), RETRY_MS)
}

/** Whether some are still to end; the event `thermolog-ended` reports a change. */
export function isEnding() {
  return aside().length > 0
}

/** @param {string} token */
async function isEnded(token) {
  try {
    await post('/logout', undefined, token)
    return true
  } catch (error) {
    if (error instanceof NoAnswer) return false
    // 401: it has already ended.
    return error instanceof Refused && error.status === 401
  }
}

/** @returns {string[]} */
function aside() {
  return /** @type {string[]} */ (JSON.parse(localStorage.getItem(ENDED) ?? '[]'))
}

/** @param {string[]} tokens */
function putAside(tokens) {
  if (tokens.length === 0) localStorage.removeItem(ENDED)
  else localStorage.setItem(ENDED, JSON.stringify(tokens.slice(-ENDED_MAX)))
  document.dispatchEvent(new Event('thermolog-ended'))
}
