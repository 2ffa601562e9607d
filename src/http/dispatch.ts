// From a request to the router that answers it: token and allowance first. Below the base of an API
// the token comes before everything else, so that nobody without one learns which addresses there
// are; what needs no token there is looked for before.

import type { Middleware } from 'koa'
import type { AccessTokens } from '../access/tokens.ts'
import type { TokenKind } from '../domain/access.ts'
import { ServiceError } from '../domain/errors.ts'
import { refusalError } from '../ingest/accept.ts'
import { authenticate } from './authenticate.ts'
import type { CallState } from './call.ts'
import type { RateLimits } from './rate-limit.ts'
import type { CallContext, CallRouter } from './routes.ts'

export const DAEMON_API_BASE = '/api/v1'
export const MOBILE_API_BASE = '/api/mobile/v1'

const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']

interface Collaborators {
  readonly tokens: AccessTokens
  readonly rateLimits: RateLimits
  /** Whether the server is stopping. */
  readonly isDraining: () => boolean
}

export interface Routers {
  readonly daemon: CallRouter
  readonly mobile: CallRouter
  /** What needs no token of the mobile API. */
  readonly signIn: CallRouter
  readonly relay: CallRouter
  readonly operations: CallRouter
}

type Run = (ctx: CallContext) => Promise<unknown>

/** Answers a request or throws what failed. */
export function createDispatch(
  routers: Routers,
  collaborators: Collaborators,
): Middleware<CallState> {
  const daemon = withToken('daemon', routed(routers.daemon, refusePath), collaborators)
  const mobile = withToken('mobile', routed(routers.mobile, refusePath), collaborators)
  const signIn = routed(routers.signIn, mobile)
  const open = routed(routers.operations, routed(routers.relay, refusePath))
  const { isDraining } = collaborators
  return (context) => {
    // Routers add what this type has more than theirs.
    const ctx = context as CallContext
    const { path } = ctx.state.call
    const isDaemon = isBelow(path, DAEMON_API_BASE)
    if (!isDaemon && !isBelow(path, MOBILE_API_BASE)) return open(ctx)
    if (isDraining()) throw refusalError('shutting_down')
    return isDaemon ? daemon(ctx) : signIn(ctx)
  }
}

/** Runs a router, and what comes after it when no route of it is meant. */
function routed(router: CallRouter, otherwise: Run): Run {
  const routes = router.routes()
  return (ctx) => routes(ctx, () => otherwise(ctx)) as Promise<unknown>
}

function withToken(kind: TokenKind, run: Run, { tokens, rateLimits }: Collaborators): Run {
  return async (ctx) => {
    const { receivedAtMs } = ctx.state.call
    const known = authenticate(tokens, ctx.req.headers.authorization, kind, receivedAtMs)
    const principal = known instanceof Promise ? await known : known
    await rateLimits.countRequest(principal.token.id, ctx.res)
    ctx.state.principal = principal
    return run(ctx)
  }
}

/** Tells that there is no such address, or which methods it has. */
async function refusePath(ctx: CallContext): Promise<never> {
  const found = new Set(ctx.matched?.flatMap(({ methods }) => methods))
  if (found.size === 0) throw new ServiceError('not_found')
  ctx.set('Allow', METHODS.filter((method) => found.has(method)).join(', '))
  throw new ServiceError('method_not_allowed')
}

function isBelow(path: string, base: string): boolean {
  return path.startsWith(base) && (path.length === base.length || path[base.length] === '/')
}
