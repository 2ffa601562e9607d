// The service's time. A device's own clock may be wrong by hours; every answer from the network
// says what time it is at the service, and where the device's clock contradicts that, it is
// corrected.

/** Smaller corrections change nothing that people see. */
const SEEN_MS = 2_000

const corrections = new EventTarget()
/** How far the device's clock is ahead of the service's. */
let aheadMs = 0

/** @returns {number} milliseconds since 1970, at the service */
export function nowMs() {
  return Date.now() - aheadMs
}

/** How far the device's clock is ahead of the service's, as far as that is known. */
export function deviceAheadMs() {
  return aheadMs
}

/**
 * @param {() => void} listener called when the time was found to be another
 * @param {AbortSignal} [signal]
 */
export function onCorrection(listener, signal) {
  corrections.addEventListener('correction', listener, signal && { signal })
}

/**
 * Corrects the time where an answer contradicts it.
 *
 * @param {Response} answer
 * @param {number} askedAtMs by the device's clock
 */
export function takeTime({ headers }, askedAtMs) {
  // Any other may have been kept since.
  const isFresh = headers.get('Cache-Control')?.includes('no-store')
  const dateMs = Date.parse(headers.get('Date') ?? '')
  if (!isFresh || Number.isNaN(dateMs)) return
  const before = aheadMs
  // It was written between question and answer, and has no part of a second.
  aheadMs = Math.min(Math.max(aheadMs, askedAtMs - dateMs - 1_000), Date.now() - dateMs)
  if (Math.abs(aheadMs - before) > SEEN_MS) corrections.dispatchEvent(new Event('correction'))
}
