// Another user, who has to be served whatever someone else does.

import { setTimeout } from 'node:timers/promises'
import { within } from './until.ts'

const SERVED_MS_MAX = 10_000

/**
 * Acts on time, whether or not the last act has ended.
 *
 * @returns how many have succeeded
 * @throws Error when one fails or takes too long
 */
export async function steadily(
  ended: AbortSignal,
  everyMs: number,
  act: (at: number) => Promise<void>,
): Promise<number> {
  const underWay: Promise<void>[] = []
  let failure: Error | undefined
  for (let at = 0; !ended.aborted && failure === undefined; at++) {
    const served = within('another user is served', act(at), SERVED_MS_MAX)
    underWay.push(
      served.catch((cause: unknown) => {
        failure ??= new Error(`another user is not served: ${String(cause)}`, { cause })
      }),
    )
    await setTimeout(everyMs)
  }
  await Promise.all(underWay)
  if (failure !== undefined) throw failure
  return underWay.length
}
