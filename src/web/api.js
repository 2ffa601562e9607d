// How the page uses the mobile API: the access token, requests, and histories kept for offline use.
// The page calls nothing else of the service.
//
// The token is in localStorage because the page can be installed as an app and must stay signed in
// when closed. Only the page's own scripts run here (Content-Security-Policy), so no other can read
// the token; signing out revokes it (sign-out.js) and deletes everything kept.

import { monotonicMs, nowMs, takeTime } from './clock.js'
import { findHistory, forgetAll, keepHistories } from './kept.js'
import { APP_NAME } from './names.js'

const BASE = 'api/mobile/v1'
const ANSWER_MS_MAX = 20_000
const SESSION = 'thermolog.session'

/**
 * @typedef {{ id: number, email: string, name: string }} User
 * @typedef {{ timestamp: string, temp: number, raw: number }} Latest
 * @typedef {{
 *   id: number, sn: string, alias: string, compensation: number, online: boolean,
 *   last_seen_at: string | null, latest: Latest | null, created_at: string,
 * }} Sensor
 * @typedef {{
 *   cursor: string, reset: boolean, sensors: Sensor[], deleted: number[],
 *   histories: { sensor_id: number, from: string | null }[],
 * }} Changes
 * @typedef {{
 *   timestamp: string, temp: number, min?: number, max?: number, count?: number,
 * }} Point
 * @typedef {{
 *   sensor: Pick<Sensor, 'id' | 'sn' | 'alias' | 'compensation'>, from: string, to: string,
 *   bucket: string, tz: string, complete: boolean, points: Point[],
 * }} HistoryAnswer
 * @typedef {Pick<HistoryAnswer, 'from' | 'to' | 'bucket' | 'tz'> & {
 *   series: Pick<HistoryAnswer, 'sensor' | 'complete' | 'points'>[],
 * }} SeriesAnswer
 * @typedef {{
 *   id: string, name: string, issuer: string, client_id: string,
 *   authorization_endpoint: string | null, redirect_uri: string, scopes: string[],
 * }} SignInProvider
 * @typedef {{
 *   app: { name: string, version: string }, links: Record<string, string>,
 *   account_deletion: boolean, daemon_tokens: boolean, sign_in_providers: SignInProvider[],
 *   callback_url: string | null,
 * }} Bootstrap
 * @typedef {{ token: string, expires_at: string, user: User }} Session
 * @typedef {{ pointer: string, code: string, detail: string }} Fault
 */

/** The service responded with an error. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {{ code?: string, detail?: string, title?: string, errors?: Fault[] }} problem
   */
  constructor(status, { code = 'unknown', detail, title, errors = [] }) {
    super(detail ?? title ?? `The service responded with status ${status}.`)
    this.status = status
    this.code = code
    this.faults = errors
  }
}

/** No response: no network, no service, or not in time. */
export class NoAnswer extends Error {
  /**
   * @param {boolean} isUnsent the network was down, so the service did not receive the request
   * @param {ErrorOptions} [options]
   */
  constructor(isUnsent, options) {
    super(isLate(options?.cause) ? `${APP_NAME} does not answer.` : whyUnheard(), options)
    this.isUnsent = isUnsent
  }
}

/** Why nothing is heard from the service, as a sentence. */
export function whyUnheard() {
  return navigator.onLine ? `${APP_NAME} cannot be reached.` : 'You are offline.'
}

/** @param {unknown} cause */
function isLate(cause) {
  return cause instanceof DOMException && cause.name === 'TimeoutError'
}

/** @returns {Session | undefined} */
export function session() {
  const text = localStorage.getItem(SESSION)
  return text === null ? undefined : /** @type {Session} */ (JSON.parse(text))
}

/** @param {Session} signedIn */
export function keepSession(signedIn) {
  localStorage.setItem(SESSION, JSON.stringify(signedIn))
}

/** Forgets the token and everything read with it. */
export async function forgetSession() {
  localStorage.removeItem(SESSION)
  await forgetAll()
}

/** Whether another tab has signed in or out. @param {StorageEvent} event */
export function isSessionChange({ key }) {
  return key === null || key === SESSION
}

/**
 * Makes a request and returns the raw response, however long that takes without a signal.
 *
 * @param {string} path
 * @param {RequestInit & { headers?: Record<string, string> }} [order]
 * @returns {Promise<Response>}
 * @throws Refused, NoAnswer
 */
export async function request(path, order = {}) {
  const token = session()?.token
  const headers = { ...(token && { Authorization: `Bearer ${token}` }), ...order.headers }
  const isUnsent = !navigator.onLine
  const askedAtMs = monotonicMs()
  const response = await fetch(BASE + path, { ...order, headers }).catch(
    (/** @type {Error} */ cause) => {
      throw cause.name === 'AbortError' ? cause : new NoAnswer(isUnsent, { cause })
    },
  )
  // An error may be a proxy's, whose clock is another.
  if (response.ok) {
    takeTime(response, askedAtMs)
    return response
  }
  const problem = /** @type {object} */ (await response.json().catch(() => ({})))
  throw new Refused(response.status, problem)
}

/**
 * @template Data
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<Data>}
 * @throws Refused, NoAnswer
 */
export async function get(path, signal) {
  return dataOf(await requestInTime(path, {}, signal))
}

/**
 * @param {string} path
 * @param {Parameters<typeof request>[1]} order
 * @param {AbortSignal} [signal]
 */
function requestInTime(path, order, signal) {
  const late = inTime()
  return request(path, { ...order, signal: signal ? AbortSignal.any([signal, late]) : late })
}

/** @returns {AbortSignal} what ends a request that is not answered in time */
export function inTime() {
  return AbortSignal.timeout(ANSWER_MS_MAX)
}

/**
 * @template Data
 * @param {Response} response
 * @returns {Promise<Data>}
 * @throws NoAnswer if the connection breaks
 */
export async function dataOf(response) {
  try {
    return /** @type {{ data: Data }} */ (await response.json()).data
  } catch (error) {
    const cause = /** @type {Error} */ (error)
    throw cause.name === 'AbortError' ? cause : new NoAnswer(false, { cause })
  }
}

/** Deletes what may already be gone. @param {string} path @throws Refused, NoAnswer */
export async function remove(path) {
  try {
    await requestInTime(path, { method: 'DELETE' })
  } catch (error) {
    if (!(error instanceof Refused && error.status === 404)) throw error
  }
}

/**
 * @param {string} path
 * @param {object} [body]
 * @param {string} [token] default: the session's
 * @returns {Promise<Response>}
 * @throws Refused, NoAnswer
 */
export function post(path, body, token) {
  const headers = {
    ...(body && { 'Content-Type': 'application/json' }),
    ...(token && { Authorization: `Bearer ${token}` }),
  }
  const order = { method: 'POST', headers, ...(body && { body: JSON.stringify(body) }) }
  return requestInTime(path, order)
}

/**
 * @param {number} id
 * @param {object} changes
 * @returns {Promise<Sensor>} after the change
 * @throws Refused, NoAnswer
 */
export async function patchSensor(id, changes) {
  const headers = { 'Content-Type': 'application/json' }
  const order = { method: 'PATCH', headers, body: JSON.stringify(changes) }
  return dataOf(await requestInTime(`/sensors/${id}`, order))
}

/**
 * Reads a history. Falls back to the last response kept if the service does not respond or is in
 * trouble.
 *
 * @param {string} path
 * @param {readonly [string, ...string[]]} keys the key to keep the response under, replacing an
 *   earlier one; then other keys to fall back to
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ data: HistoryAnswer, asOfMs: number | undefined }>} `undefined`: current
 * @throws Refused, NoAnswer
 */
export async function getOrKept(path, keys, signal) {
  const token = session()?.token
  try {
    const data = /** @type {HistoryAnswer} */ (await get(path, signal))
    // A response that arrives after signing out is not kept.
    if (data.complete && token === session()?.token) {
      void keepHistories([[keys[0], { data, asOfMs: nowMs() }]])
    }
    return { data, asOfMs: undefined }
  } catch (error) {
    const kept = isTrouble(error) ? await findFirst(keys) : undefined
    if (kept === undefined) throw error
    return kept
  }
}

/** Whether the service is unreachable or in trouble. @param {unknown} error */
function isTrouble(error) {
  return error instanceof NoAnswer || (error instanceof Refused && error.status >= 500)
}

/** @param {readonly string[]} keys */
async function findFirst(keys) {
  for (const key of keys) {
    const found = await findHistory(key)
    if (found !== undefined) return found
  }
  return undefined
}
