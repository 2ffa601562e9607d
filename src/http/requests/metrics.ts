// The metrics as Prometheus text: for holders of the operator's token, or for everyone.

import { createHash, timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../../domain/errors.ts'
import { readBearerToken } from '../callers/authenticate.ts'
import type { MetricsSource } from '../../ports/system.ts'
import type { Call } from '../call.ts'

/** @param token `undefined`: none is required */
export function showMetrics(metrics: Pick<MetricsSource, 'render'>, token: string | undefined) {
  const wanted = token === undefined ? undefined : sha256(token)
  return async ({ ctx }: Call): Promise<void> => {
    if (wanted !== undefined) checkToken(ctx.req.headers.authorization, wanted)
    const { type, text } = await metrics.render()
    ctx.set('Content-Type', type)
    ctx.body = text
  }
}

/** Constant-time: hashes have one length and are compared whole. */
function checkToken(header: string | undefined, wanted: Buffer): void {
  const sent = readBearerToken(header)
  if (sent === undefined) throw new ServiceError('missing_token')
  if (!timingSafeEqual(sha256(sent), wanted)) throw new ServiceError('invalid_token')
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
