// The service's time. A device's own clock may be wrong by hours, and may be set while the page is
// open. So it is read once; from then on time is counted, and corrected by every answer from the
// network that contradicts it. Nothing is counted while the device sleeps.

/** Smaller corrections change nothing that people see. */
const SEEN_MS = 2_000

const times = new EventTarget()
/** The service's time when the page began to count. */
let begunMs = Date.now() - monotonicMs()

/** By how much the device's clock is ahead of what is counted since the page was loaded. */
let apartMs = begunMs

/** @returns {number} milliseconds since 1970, at the service */
export function nowMs() {
  const jumpMs = Date.now() - monotonicMs() - apartMs
  if (Math.abs(jumpMs) > SEEN_MS) {
    apartMs += jumpMs
    // The device has slept, or its clock was set. Until that is known, older is the safer error.
    begunMs += Math.max(0, jumpMs)
    times.dispatchEvent(new Event('doubt'))
  }
  return Math.round(begunMs + monotonicMs())
}

/** @returns {number} milliseconds since the page was loaded, whatever clock is set */
export function monotonicMs() {
  return performance.now()
}

/** How far the device's clock is ahead of the service's, as far as that is known. */
export function deviceAheadMs() {
  return Date.now() - nowMs()
}

/**
 * @param {() => void} listener called when the time was found to be another
 * @param {AbortSignal} [signal]
 */
export function onCorrection(listener, signal) {
  times.addEventListener('correction', listener, signal && { signal })
}

/** @param {() => void} listener called when an answer is needed @param {AbortSignal} signal */
export function onDoubt(listener, signal) {
  times.addEventListener('doubt', listener, { signal })
}

/**
 * Corrects the time where an answer contradicts it.
 *
 * @param {Response} answer
 * @param {number} askedAtMs of `monotonicMs`
 */
export function takeTime({ headers }, askedAtMs) {
  // Any other may have been kept since.
  const isFresh = headers.get('Cache-Control')?.includes('no-store')
  const dateMs = Date.parse(headers.get('Date') ?? '')
  if (!isFresh || Number.isNaN(dateMs)) return
  const before = begunMs
  // It was written between question and answer, and has no part of a second.
  const earliest = dateMs - monotonicMs()
  begunMs = Math.min(Math.max(begunMs, earliest), dateMs + 1_000 - askedAtMs)
  if (Math.abs(begunMs - before) > SEEN_MS) times.dispatchEvent(new Event('correction'))
}
