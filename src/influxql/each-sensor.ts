// Reads the sensors of a series a few at a time: a store in another process answers several queries
// as fast as one. Between the sensors of an embedded store other work runs.

import { setImmediate } from 'node:timers/promises'

const READ_AT_ONCE = 4

export async function eachAtOnce<T>(
  items: readonly T[],
  read: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values()
  const readOn = async () => {
    for (const item of left) {
      await read(item)
      await setImmediate()
    }
  }
  await Promise.all(Array.from({ length: Math.min(READ_AT_ONCE, items.length) }, readOn))
}
