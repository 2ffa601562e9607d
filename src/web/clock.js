// The browser's time, which nearly equals the service's.

/** @returns {number} milliseconds since 1970 */
export function nowMs() {
  return Date.now()
}
