// The tokens of the user's devices, through the mobile API.

import { dataOf, get, post, remove } from './api.js'

/**
 * @typedef {{
 *   id: number, name: string, scopes: string[], sn_prefix: string, created_at: string,
 *   expires_at: string | null, last_used_at: string | null, made_by: 'owner' | 'operator',
 *   session_id: number | null,
 * }} DeviceToken `session_id`: the session that made it; may have ended
 * @typedef {DeviceToken & { token: string }} MadeToken
 * @typedef {{
 *   name: string, scopes: string[], sn_prefix?: string, expires_in_days?: number,
 * }} TokenOrder
 */

/** The scope that a device needs: a token that is lost can neither read nor delete. */
export const SEND_ONLY = 'measurements:write'

/** Why a session cannot make tokens. */
export const NEEDS_NEW_SESSION =
  'Making tokens needs a sign-in within the last day. Sign in again here, or use a device where ' +
  'you just have.'

/** @returns {Promise<DeviceToken[]>} */
export function listTokens() {
  return get('/tokens')
}

/** @param {TokenOrder} order */
export function makeToken(order) {
  return make('/tokens', order)
}

/** @param {number} id @param {number} overlapDays how long the old one stays valid */
export function rotateToken(id, overlapDays) {
  return make(`/tokens/${id}/rotation`, { overlap_days: overlapDays })
}

/** @param {number} id */
export async function revokeToken(id) {
  await remove(`/tokens/${id}`)
}

/** @param {string} path @param {object} order @returns {Promise<MadeToken>} */
async function make(path, order) {
  const { dataset } = document.body
  // The answer is the only copy: the page is not loaded again meanwhile.
  dataset['held'] = ''
  try {
    return await dataOf(await post(path, order))
  } finally {
    delete dataset['held']
  }
}
