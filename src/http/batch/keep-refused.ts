// Keeps what a caller sent and the service will not store, before responding.

import type { RequestFault } from '../../domain/errors.ts'
import type { Refused, RefusedWriter } from '../../ports/refused.ts'
import type { ApiCall } from '../call/call.ts'

/** What is refused, and why. */
export type Refusal = Omit<Refused, 'userId' | 'tokenId' | 'serialNumberPrefix' | 'receivedAtMs'>

/** One transaction for each part; others commit in between. */
const KEPT_AT_ONCE = 1_000

/** Resolves when it is on disk. */
export async function keepRefused(
  writer: Pick<RefusedWriter, 'keepRefused'>,
  { principal, receivedAtMs }: ApiCall,
  refusals: readonly Refusal[],
): Promise<void> {
  const { token, user } = principal
  const { id: tokenId, serialNumberPrefix } = token
  const of = { userId: user.id, tokenId, serialNumberPrefix, receivedAtMs }
  for (let from = 0; from < refusals.length; from += KEPT_AT_ONCE) {
    const part = refusals.slice(from, from + KEPT_AT_ONCE)
    await writer.keepRefused(part.map((refusal) => ({ ...refusal, ...of })))
  }
}

/** The time that is ahead, if that is what is wrong. */
export function aheadTime({ code }: RequestFault, measuredAtMs: number | null): number | null {
  return code === 'timestamp_in_future' ? measuredAtMs : null
}
