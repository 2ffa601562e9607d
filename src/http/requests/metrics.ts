// The metrics as Prometheus text: for holders of the operator's token, or for everyone.

import { hash, timingSafeEqual } from 'node:crypto'
import { Readable } from 'node:stream'
import { ServiceError } from '../../domain/errors.ts'
import { readBearerToken } from '../callers/authenticate.ts'
import type { MetricsSource } from '../../ports/system.ts'
import type { Call } from '../call/call.ts'
import { answerInPieces } from '../answers/long-answers.ts'
import type { LongAnswers } from '../answers/long-answers.ts'

/** All who ask without a user share what one has. */
const NOBODY = 0

/** @param token `undefined`: none is required */
export function showMetrics(
  { metrics, lists }: { readonly metrics: MetricsSource; readonly lists: LongAnswers },
  token: string | undefined,
) {
  const wanted = token === undefined ? undefined : hash('sha256', token, 'buffer')
  return async ({ ctx }: Call): Promise<void> => {
    if (wanted !== undefined) checkToken(ctx.req.headers.authorization, wanted)
    // With years of answers of all kinds it may be more than a small one.
    await answerInPieces(ctx, lists, NOBODY, async () => {
      const { type, text } = await metrics.render()
      ctx.set('Content-Type', type)
      return Readable.from([Buffer.from(text)])
    })
  }
}

/** Constant-time: hashes have one length and are compared whole. */
function checkToken(header: string | undefined, wanted: Buffer): void {
  const sent = readBearerToken(header)
  if (sent === undefined) throw new ServiceError('missing_token')
  const hashed = hash('sha256', sent, 'buffer')
  if (!timingSafeEqual(hashed, wanted)) throw new ServiceError('invalid_token')
}
