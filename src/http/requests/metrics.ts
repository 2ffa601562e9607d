// The metrics as Prometheus text: for holders of the operator's token, or for everyone.

import { hash, timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../../domain/errors.ts'
import { readBearerToken } from '../callers/authenticate.ts'
import type { MetricsSource } from '../../ports/system.ts'
import type { Call } from '../call/call.ts'

/** @param token `undefined`: none is required */
export function showMetrics(metrics: Pick<MetricsSource, 'render'>, token: string | undefined) {
  const wanted = token === undefined ? undefined : hash('sha256', token, 'buffer')
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
  const hashed = hash('sha256', sent, 'buffer')
  if (!timingSafeEqual(hashed, wanted)) throw new ServiceError('invalid_token')
}
