// What went wrong, in words for the page's user.

import { NoAnswer, Refused } from './api.js'

const UNSENT = 'Nothing has been changed.'
const UNKNOWN = 'Reload the page to see what has changed.'
const BUSY = 'The service is busy or being restarted. Please try again in a moment.'

/** @type {Readonly<Record<string, string>>} */
const BY_CODE = {
  insufficient_scope: 'The operator of this service does not allow changes here.',
  invalid_token: 'You have been signed out. Please sign in again.',
  not_found: 'It was already gone.',
  sensor_not_found: 'The sensor has been deleted.',
  outcome_unknown: `The service did not respond. ${UNKNOWN}`,
  rate_limited: 'That was too much in a short time. Please try again in a minute.',
  internal_error: 'Something went wrong in the service. Please tell its operator.',
}

/** Why data are not shown. @param {unknown} error */
export function explainUnread(error) {
  return error instanceof NoAnswer ? error.message : explain(error)
}

/**
 * @param {unknown} error
 * @param {Readonly<Record<string, string>>} [byMember] what to enter, by the member of the body
 *   that was refused
 * @returns {string}
 * @throws anything that is not a failed request
 */
export function explain(error, byMember = {}) {
  if (error instanceof NoAnswer) return `${error.message} ${error.isUnsent ? UNSENT : UNKNOWN}`
  if (!(error instanceof Refused)) throw error
  const { code, status, faults, message } = error
  const asked = faults.flatMap(({ pointer }) => byMember[pointer.split('/')[1] ?? ''] ?? [])
  if (asked.length > 0) return [...new Set(asked)].join(' ')
  return BY_CODE[code] ?? (status >= 500 ? BUSY : message)
}
