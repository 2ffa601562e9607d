// The time of the browser, which is nearly that of the service.

/** @returns {number} milliseconds since 1970 */
export function nowMs() {
  return Date.now()
}
