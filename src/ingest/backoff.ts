// How long to wait before the next attempt.

const FIRST_PAUSE_MS = 100
const PAUSE_MS_MAX = 15_000

/**
 * Doubles with each attempt up to 15 s, minus up to half at random so that many senders do not
 * return at the same moment.
 *
 * @param attempt 0 for the pause after the first failure
 * @param random in [0, 1)
 */
export function backoffMs(attempt: number, random: number): number {
  const fullMs = Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 16))
  return fullMs / 2 + (fullMs / 2) * random
}
