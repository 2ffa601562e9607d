// From a request to its router: token and rate limit first. Under the base path of an API the token
// is checked before everything else, so that nobody without one learns which paths exist; routes
// that need no token are looked up before that.

import type { Middleware } from 'koa'
import type { AccessTokens } from '../access/tokens.ts'
import type { TokenKind } from '../domain/access.ts'
import { ServiceError } from '../domain/errors.ts'
import type { DataIdentity } from '../ports/control-reader.ts'
import { authenticate, readBearerToken } from './callers/authenticate.ts'
import type { CallState } from './call/call.ts'
import type { AddressLimit, RateLimits } from './callers/rate-limit.ts'
import { DAEMON_API_BASE, MOBILE_API_BASE } from './routes/routes.ts'
import type { CallContext, RouteTable } from './routes/routes.ts'

/** The route label of a request whose path is unknown, or not looked up for lack of a token. */
const OTHER_ROUTES = {
  daemon: `other ${DAEMON_API_BASE}`,
  mobile: `other ${MOBILE_API_BASE}`,
  open: 'other /',
}

const SUBMISSIONS = new Set([
  `${DAEMON_API_BASE}/measurements`,
  `${DAEMON_API_BASE}/measurements/batch`,
  '/api/v2/write',
  '/write',
])

const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']

interface Collaborators {
  readonly tokens: AccessTokens
  readonly rateLimits: RateLimits
  readonly failedTokens: AddressLimit
  readonly dataIdentity: DataIdentity
}

export interface Tables {
  readonly daemon: RouteTable
  readonly mobile: RouteTable
  /** The mobile API's routes without a token. */
  readonly signIn: RouteTable
  /** The calls that senders to InfluxDB make; they look at tokens themselves. */
  readonly lines: RouteTable
  readonly relay: RouteTable
  readonly appLinks: RouteTable
  readonly operations: RouteTable
  readonly documents: RouteTable
  readonly webPage: RouteTable
}

type Run = (ctx: CallContext) => Promise<unknown>

/** Handles a request, or throws its error. */
export function createDispatch(
  tables: Tables,
  collaborators: Collaborators,
): Middleware<CallState> {
  const daemon = withToken('daemon', routed(tables.daemon, refusePath), collaborators)
  const mobile = withToken('mobile', routed(tables.mobile, refusePath), collaborators)
  // A path that needs no token needs none to refuse a method either.
  const signIn = routed(tables.signIn, (ctx) => (isFound(ctx) ? refusePath(ctx) : mobile(ctx)))
  const pages = routed(tables.documents, routed(tables.webPage, refusePath))
  const beside = routed(tables.relay, routed(tables.appLinks, pages))
  const lines = routed(tables.lines, beside)
  const open = routed(tables.operations, lines)
  return (context) => {
    // Routers add what this type has more than theirs.
    const ctx = context as CallContext
    const { path } = ctx.state.call
    const isDaemon = isBelow(path, DAEMON_API_BASE)
    const isMobile = !isDaemon && isBelow(path, MOBILE_API_BASE)
    ctx.state.route = OTHER_ROUTES[isDaemon ? 'daemon' : isMobile ? 'mobile' : 'open']
    if (!isDaemon && !isMobile) return open(ctx)
    return isDaemon ? daemon(ctx) : signIn(ctx)
  }
}

/** Whether a request submits measurements, whatever its outcome. */
export function isSubmission(method: string, path: string): boolean {
  return method === 'POST' && SUBMISSIONS.has(path)
}

/** Runs a router, and `next` if none of its routes matches. */
function routed({ router }: RouteTable, otherwise: Run): Run {
  const routes = router.routes()
  return (ctx) => routes(ctx, () => otherwise(ctx)) as Promise<unknown>
}

function withToken(kind: TokenKind, run: Run, collaborators: Collaborators): Run {
  const { rateLimits, dataIdentity } = collaborators
  return async (ctx) => {
    const text = readBearerToken(ctx.req.headers.authorization)
    const known = authenticate(ctx.req, text, collaborators, {
      kind,
      nowMs: ctx.state.call.receivedAtMs,
    })
    const principal = known instanceof Promise ? await known : known
    ctx.res.setHeader('Thermolog-Store', dataIdentity.id)
    const spent = await rateLimits.countRequest(principal.token, ctx.res)
    if (spent !== undefined) ctx.state.spent = spent
    ctx.state.principal = principal
    return run(ctx)
  }
}

/** Whether a router has the path, for any method. */
function isFound({ matched }: CallContext): boolean {
  return matched !== undefined && matched.length > 0
}

/** Reports that there is no such path, or which methods it has. */
async function refusePath(ctx: CallContext): Promise<never> {
  const found = new Set(ctx.matched?.flatMap(({ methods }) => methods))
  if (found.size === 0) throw new ServiceError('not_found')
  ctx.set('Allow', METHODS.filter((method) => found.has(method)).join(', '))
  throw new ServiceError('method_not_allowed')
}

function isBelow(path: string, base: string): boolean {
  return path.startsWith(base) && (path.length === base.length || path[base.length] === '/')
}
