// Ends tokens at the service. Without a network they are put aside, and ended as soon as there is
// one: a page that is opened then, or still open, asks again.

import { NoAnswer, Refused, forgetSession, keepSession, post, session } from './api.js'

/** @import { Session } from './api.js' */

const ENDED = 'thermolog.ended'
const ENDED_MAX = 20
const RETRY_MS = 30_000

/** @type {ReturnType<typeof setTimeout> | undefined} */
let retry
let ending = Promise.resolve()

globalThis.addEventListener('online', () => void endTokens())

/** Ends a token, now or later; nothing here uses it any more. @param {string} token */
export function endToken(token) {
  putAside([...aside(), token])
  return endTokens()
}

/** Has somebody signed in here, in place of whoever was before. @param {Session} signedIn */
export async function replaceSession(signedIn) {
  const old = session()
  await forgetSession()
  if (old !== undefined && old.token !== signedIn.token) void endToken(old.token)
  keepSession(signedIn)
}

/** Forgets what somebody chose here, once they are gone; tokens of others may still have to end. */
export function forgetDevice() {
  for (const key of Object.keys(localStorage)) {
    if (key !== ENDED) localStorage.removeItem(key)
  }
  delete document.documentElement.dataset['theme']
}

/** Ends what could not be ended before; no token twice at the same time. */
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

/** Whether some are still to be ended; `thermolog-ended` says when that changes. */
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
    // 401: it has ended already.
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
