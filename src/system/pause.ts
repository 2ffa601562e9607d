// Waiting that can be cut short.

import { setTimeout } from 'node:timers/promises'

/** Resolves after that time, or as soon as the signal aborts. */
export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(durationMs, undefined, { signal })
  } catch (error) {
    const isAborted = error instanceof Error && error.name === 'AbortError'
    if (!isAborted) throw error
  }
}
