// Waiting that ends: a bound only decides how soon a failure is told, so it is a long one.

import { setTimeout } from 'node:timers/promises'

const WAIT_MS_MAX = 60_000
const LOOK_EVERY_MS = 20

const waits = new Set<{ readonly what: string }>()

/** What is being waited for now, since it was last forgotten. */
export function awaited(): string[] {
  return [...waits].map(({ what }) => what)
}

/** A test that was ended may have left some. */
export function forgetAwaited(): void {
  waits.clear()
}

/**
 * Looks again and again until it is so.
 *
 * @param what as a sentence, for the message
 * @throws Error that says what it waited for
 */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  msMax = WAIT_MS_MAX,
): Promise<void> {
  const wait = { what }
  waits.add(wait)
  const deadlineMs = performance.now() + msMax
  try {
    while (!(await isSo())) {
      if (performance.now() > deadlineMs) throw new Error(`not within ${msMax} ms: ${what}`)
      await setTimeout(LOOK_EVERY_MS)
    }
  } finally {
    waits.delete(wait)
  }
}

/**
 * Waits for something that comes by itself.
 *
 * @param what as a sentence, for the message
 * @throws Error that says what it waited for, or what the promise rejects with
 */
export async function within<Result>(
  what: string,
  promise: Promise<Result>,
  msMax = WAIT_MS_MAX,
): Promise<Result> {
  const wait = { what }
  waits.add(wait)
  const settled = new AbortController()
  const late = setTimeout(msMax, undefined, { signal: settled.signal }).then(() => {
    throw new Error(`not within ${msMax} ms: ${what}`)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    waits.delete(wait)
    settled.abort()
    await Promise.allSettled([late])
  }
}
