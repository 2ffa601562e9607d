// Changes to the caller's sensors, as server-sent events. The response is endless: it ends when the
// token does, when the service stops, or when the client disconnects or stops reading.
//
// The text is produced as fast as the client reads it. A slow client has no queue, only a position
// among the events, so it takes no memory and gets the newest state of each sensor.

import { ClientGone } from '../call/call.ts'
import { Readable } from 'node:stream'
import type { AccessTokens } from '../../access/tokens.ts'
import { SECOND_MS } from '../../domain/time.ts'
import type { Clock } from '../../ports/system.ts'
import type { LiveSensors } from '../../sensors/live-sensors.ts'
import type { Subscription } from '../../sensors/subscription.ts'
import { readBearerToken } from '../callers/authenticate.ts'
import type { ApiCall } from '../call/call.ts'
import { presentEvent } from '../answers/present.ts'

/** How long a client should wait before it reconnects. */
const RETRY_MS = 3 * SECOND_MS
/** A quiet response gets a comment this often: some HTTP clients give up after ten seconds. */
const HEARTBEAT_MS = 8 * SECOND_MS
/** A client that has not read the end of its response by then is cut off. */
const END_MS_MAX = SECOND_MS / 2

interface Collaborators {
  readonly live: LiveSensors
  readonly tokens: AccessTokens
  readonly clock: Clock
}

export function streamEvents({ live, tokens, clock }: Collaborators) {
  return async ({ ctx, principal }: ApiCall): Promise<void> => {
    const token = readBearerToken(ctx.req.headers.authorization) ?? ''
    const isAllowed = async () =>
      (await tokens.find(token, clock.nowMs(), ctx.req.socket)) !== undefined
    if (ctx.method === 'HEAD') {
      setHeaders()
      return
    }
    const subscription = await live.open({
      userId: principal.user.id,
      tokenId: principal.token.id,
      lastEventId: ctx.get('Last-Event-ID') || undefined,
      isAllowed,
      onEnded: () => void setTimeout(cutOff, END_MS_MAX).unref(),
    })
    ctx.res.once('close', () => subscription.close())
    if (ctx.res.destroyed) {
      subscription.close()
      throw new ClientGone()
    }
    setHeaders()
    // Each text is passed on before the next one is produced.
    ctx.body = Readable.from(eventTexts(subscription, isAllowed, clock), { highWaterMark: 1 })

    function cutOff(): void {
      if (!ctx.res.writableFinished) ctx.res.destroy()
    }
    function setHeaders(): void {
      ctx.status = 200
      ctx.set('Content-Type', 'text/event-stream')
      // Neither we nor a proxy may compress it: a compressor would wait for more.
      ctx.set('Cache-Control', 'no-store, no-transform')
      ctx.set('X-Accel-Buffering', 'no')
    }
  }
}

/**
 * The text of a subscription, piece by piece.
 *
 * @param isAllowed whether the token is still valid; checked before anything is sent
 */
export async function* eventTexts(
  subscription: Subscription,
  isAllowed: () => Promise<boolean>,
  clock: Clock,
): AsyncGenerator<string> {
  try {
    yield openingOf(subscription)
    let toldAtMs = clock.monotonicMs()
    for (
      let events = await subscription.next();
      events !== undefined;
      events = await subscription.next()
    ) {
      const isSilent = clock.monotonicMs() - toldAtMs < HEARTBEAT_MS
      if (events.length === 0 && isSilent) continue
      if (!(await isAllowed())) return
      const texts = events.map((event) => {
        const data = JSON.stringify(presentEvent(event))
        return `id: ${event.id}\nevent: ${event.kind}\ndata: ${data}\n\n`
      })
      yield texts.join('') || ':\n\n'
      toldAtMs = clock.monotonicMs()
    }
  } finally {
    subscription.close()
  }
}

/** With this id, sent without an event, a client can resume before anything has happened. */
function openingOf({ lastEventId }: Subscription): string {
  const id = lastEventId === undefined ? '' : `id: ${lastEventId}\n`
  return `retry: ${RETRY_MS}\n${id}\n`
}
