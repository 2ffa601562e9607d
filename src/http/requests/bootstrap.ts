// What an app needs before sign-in: its name and how people sign in.

import type { IdentityProvider } from '../../ports/identity.ts'
import { answerJson, answerUnchanged, entityTag, isKnown } from '../call/call.ts'
import type { Call } from '../call/call.ts'
import { presentBootstrap } from '../answers/present.ts'
import type { MobileSettings } from '../answers/sign-in-settings.ts'

const CACHE_SECONDS = 300

export function showBootstrap(
  providers: ReadonlyMap<string, IdentityProvider>,
  settings: MobileSettings,
) {
  return (call: Call): void => {
    const { ctx } = call
    const endpoints = new Map(
      Array.from(providers, ([id, provider]) => [id, provider.authorizationEndpoint()]),
    )
    const text = JSON.stringify(presentBootstrap(settings, endpoints))
    const tag = entityTag(text)
    // A provider that is not ready yet may be in a second.
    const isWhole = endpoints.values().every((endpoint) => endpoint !== undefined)
    ctx.set('Cache-Control', isWhole ? `public, max-age=${CACHE_SECONDS}` : 'no-cache')
    if (isKnown(ctx, tag)) return answerUnchanged(ctx, tag)
    ctx.set('ETag', tag)
    answerJson(call, 200, text)
  }
}
