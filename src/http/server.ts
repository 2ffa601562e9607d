// The HTTP server: what every request passes through, and starting and stopping.
//
// One layer around all routes assigns the request id, sets the common headers and turns errors into
// problem documents. Stopping accepts no new connections, answers one more request on each with
// `Connection: close`, and cuts off what is not done by the deadline.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import Koa from 'koa'
import type { Context, Middleware } from 'koa'
import koaCompress from 'koa-compress'
import { constants } from 'node:zlib'
import { SECOND_MS } from '../domain/time.ts'
import type { Clock, ClockWatch, Log, Metrics } from '../ports/system.ts'
import { checkForm, ClientGone, readCall } from './call/call.ts'
import type { Call, CallState } from './call/call.ts'
import { answerClientError, refusalAhead, refuseTunnel } from './client-error.ts'
import type { ClientAddresses } from './callers/client-address.ts'
import { LOOK_EVERY_MS } from './callers/connections.ts'
import type { Connections } from './callers/connections.ts'
import { isSubmission } from './dispatch.ts'
import { bytesOf, checkAnswer, isSmall } from './answers/answer-kind.ts'
import { logFault, presentError, publicError } from './answers/errors.ts'
import { answerPage, isForPeople } from './pages/html.ts'
import { finishBody, isUnfinished } from './body/rest-of-body.ts'

const HEADERS_TIMEOUT_MS = 15 * SECOND_MS
/** Longer than the idle time of common proxies, so that the proxy closes the connection. */
const KEEP_ALIVE_TIMEOUT_MS = 75 * SECOND_MS
const TIMEOUT_CHECK_INTERVAL_MS = 5 * SECOND_MS
const HEADER_BYTES_MAX = 16 * 1024
/** How long a connection is left for one more request when the server stops. */
const QUIET_MS = 300
const NOT_FOUND = 404
const COMPRESSION_BYTES_MIN = 1_024

/** Responses are compressed on the fly: speed matters more than the last percent of size. */
const compressAnswer = koaCompress({
  filter: (type) => /json|csv|text|javascript|svg/.test(type),
  threshold: COMPRESSION_BYTES_MIN,
  // Clients process a long history faster in few large pieces.
  gzip: { level: constants.Z_BEST_SPEED, chunkSize: 64 * 1024 },
  // Takes three times as long as gzip to save a tenth.
  br: false,
  deflate: false,
  zstd: false,
})

export interface HttpServerCollaborators {
  readonly addresses: ClientAddresses
  readonly connections: Connections
  readonly metrics: Metrics
  readonly clock: Clock
  readonly clockWatch: ClockWatch
  readonly log: Log
}

export interface HttpServerSettings {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** The prefix of every path; `''`: none. */
  readonly basePath: string
  /** What the operator calls the service. */
  readonly appName: string
  /** A listening socket that was handed over, instead of `host` and `port`. */
  readonly listenFd: number | undefined
  /** Time for requests under way to finish when the server stops. */
  readonly drainMsMax: number
  /** Also the length of the listen backlog. */
  readonly connectionsMax: number
}

/** Whether the server is stopping, for endless responses. */
export class Draining {
  readonly #controller = new AbortController()

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get isOn(): boolean {
    return this.#controller.signal.aborted
  }

  begin(): void {
    this.#controller.abort()
  }
}

export class HttpServer {
  readonly #server: Server
  readonly #draining: Draining
  readonly #connections: Connections
  readonly #settings: HttpServerSettings
  #stopping: Promise<void> | undefined
  #looking: NodeJS.Timeout | undefined

  constructor(
    dispatch: Middleware<CallState>,
    draining: Draining,
    collaborators: HttpServerCollaborators,
    settings: HttpServerSettings,
  ) {
    const { connections } = collaborators
    this.#draining = draining
    this.#connections = connections
    this.#settings = settings
    const handle = createApp(dispatch, draining, collaborators, settings).callback()
    const onRequest = (request: IncomingMessage, response: ServerResponse) =>
      connections.take(request, response, handle)
    this.#server = createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        // Bodies have no deadline but a minimum rate (upload-budget.ts): some networks are slow.
        requestTimeout: 0,
        keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
        connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
        maxHeaderSize: HEADER_BYTES_MAX,
        // Node would refuse it without a problem document.
        requireHostHeader: false,
      },
      onRequest,
    )
    this.#server.on('connection', (socket: Socket) => connections.admit(socket))
    // `Expect: 100-continue` is answered when the body is read; other expectations are ignored.
    this.#server.on('checkContinue', onRequest)
    this.#server.on('checkExpectation', onRequest)
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
      answerClientError(error, socket, connections),
    )
    this.#server.on('connect', (_request, socket: Socket) => refuseTunnel(socket, connections))
  }

  /** Resolves when the server accepts requests. @throws when the address is not available */
  async start(): Promise<{ url: string }> {
    const { host, port, listenFd, connectionsMax: backlog } = this.#settings
    const place = listenFd === undefined ? { host, port } : { fd: listenFd }
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ ...place, backlog }, () => {
        this.#server.removeListener('error', reject)
        resolve()
      })
    })
    this.#looking = setInterval(() => this.#connections.closeUntaken(), LOOK_EVERY_MS).unref()
    const address = this.#server.address() as AddressInfo | string
    if (typeof address === 'string') throw new Error(`${address} is not a TCP socket`)
    const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
    return { url: `http://${name}:${address.port}` }
  }

  /** Resolves when the last connection is closed, at the latest after the drain time. */
  stop(): Promise<void> {
    this.#stopping ??= this.#drain()
    return this.#stopping
  }

  async #drain(): Promise<void> {
    this.#draining.begin()
    if (!this.#server.listening) return
    // Node would close idle connections at once.
    this.#server.closeIdleConnections = () => undefined
    const closed = once(this.#server, 'close').then(() => true)
    this.#server.close()
    const deadline = setTimeout(() => this.#server.closeAllConnections(), this.#settings.drainMsMax)
    // One look after the other: the second closes what the first has ended.
    do await this.#connections.endQuiet(refusalAhead)
    while (!(await Promise.race([closed, pause(QUIET_MS, false, { ref: false })])))
    clearTimeout(deadline)
    clearInterval(this.#looking)
  }
}

function createApp(
  dispatch: Middleware<CallState>,
  draining: Draining,
  { addresses, metrics, clock, clockWatch, log }: HttpServerCollaborators,
  { appName, basePath }: HttpServerSettings,
) {
  const app = new TextKoa()
  app.use(async (ctx) => {
    const startedMs = clock.monotonicMs()
    const call = readCall(ctx, clock, basePath)
    ctx.state.call = call
    setCommonHeaders(ctx.res, call.requestId)
    // Senders without a clock set theirs by it.
    ctx.res.sendDate = clockWatch.doubt === undefined
    try {
      checkForm(call)
      await dispatch(ctx, nothingMore)
      checkAnswer(ctx.state.answer ?? 'small', ctx.body)
    } catch (error) {
      const code = answerError(call, error, { appName, log })
      const isRefusal = code !== undefined && isSubmission(ctx.method, call.path)
      if (isRefusal) metrics.noteRefusedSubmission(code)
    }
    ctx.state.place?.end()
    settleBody(ctx)
    if (isUnfinished(ctx.req)) await finishBody(ctx.req, ctx.res)
    if (draining.isOn) ctx.res.setHeader('Connection', 'close')
    if (mayBeCompressed(ctx)) await compress(ctx)
    if (ctx.respond === false) return
    metrics.noteAnswer(ctx.state.route ?? 'other /', ctx.res.statusCode)
    if (isLogged(call)) {
      const durationMs = clock.monotonicMs() - startedMs
      logRequest(call, { client: addresses.of(ctx.req), durationMs }, log)
    }
  })
  // Errors while a response is being sent; a client that disconnects is not an error.
  app.on('error', (error: NodeJS.ErrnoException) => {
    const isClientGone = /^(ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/.test(error.code ?? '')
    if (!isClientGone) log.error('cannot finish an answer', { error: String(error.stack) })
  })
  return app
}

interface KoaInside {
  handleRequest(ctx: Context, run: (ctx: Context) => Promise<void>): Promise<void>
}

/**
 * Koa, except that it does not watch the socket of each request for its end: with texts, there is
 * nothing to clean up, and watching takes a tenth of a single submission's time.
 */
class TextKoa extends Koa<CallState> {
  readonly #koa = Koa.prototype as unknown as KoaInside

  protected async handleRequest(ctx: Context, run: (ctx: Context) => Promise<void>): Promise<void> {
    const { req, res } = ctx
    res.statusCode = NOT_FOUND
    try {
      await run(ctx)
    } catch (error) {
      ctx.onerror(error as Error)
      return
    }
    if (typeof ctx.body === 'string' && req.method !== 'HEAD') {
      res.end(ctx.body)
      return
    }
    const { statusCode } = res
    await this.#koa.handleRequest.call(this, ctx, async () => {
      res.statusCode = statusCode
    })
  }
}

function setCommonHeaders(response: ServerResponse, requestId: string): void {
  response.setHeader('X-Request-Id', requestId)
  response.setHeader('Cache-Control', 'no-store')
  response.setHeader('X-Content-Type-Options', 'nosniff')
  response.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
  response.setHeader('Referrer-Policy', 'no-referrer')
}

/** Counts a body no longer, but a long receipt in its place until its client has taken it. */
function settleBody({ state, body, res }: Context): void {
  const { answer, body: sent } = state as CallState
  if (sent === undefined) return
  if (answer !== 'receipt' || isSmall(body) || res.closed) return sent.close()
  sent.keepAnswer(bytesOf(body))
  res.once('close', () => sent.close())
}

/** @returns what the client is told, `undefined` if it has disconnected */
function answerError(
  call: Call,
  error: unknown,
  { appName, log }: { readonly appName: string; readonly log: Log },
) {
  const { ctx, requestId } = call
  if (error instanceof ClientGone) {
    ctx.respond = false
    return undefined
  }
  const failure = publicError(error)
  const { status, headers, body } = presentError(failure, requestId)
  logFault(log, call, error)
  ctx.status = status
  ctx.state['code'] = failure.code
  ctx.state['hint'] = failure.hint
  ctx.set(headers)
  if (failure.code === 'not_found' && isOutsideApis(call) && isForPeople(call)) {
    const title = 'Page not found'
    answerPage(call, { title, appName }, '<p>Try one of the links above.</p>')
    ctx.status = status
  } else ctx.body = body
  return failure.code
}

function isOutsideApis({ path, ctx: { method } }: Call): boolean {
  return (method === 'GET' || method === 'HEAD') && !path.startsWith('/api/')
}

/** A compressor takes more memory than a small answer: it is gone before the client takes that. */
async function compress(ctx: Context): Promise<void> {
  const isWhole = !(ctx.body instanceof Readable)
  await compressAnswer(ctx, nothingMore)
  if (isWhole && ctx.body instanceof Readable) ctx.body = await buffer(ctx.body)
}

/**
 * Most responses are tiny and not worth parsing what the client accepts. Whoever refuses every
 * encoding gets plain text: the compressor would fail.
 */
function mayBeCompressed(ctx: Context): boolean {
  const { body } = ctx
  if (body === undefined || body === null) return false
  if (typeof body === 'string' && body.length < COMPRESSION_BYTES_MIN) return false
  return ctx.acceptsEncodings('gzip', 'identity') !== false
}

/** Not accepted submissions, nor those rejected because of overload, to which logging would add. */
function isLogged({ ctx }: Call): boolean {
  const { statusCode: status } = ctx.res
  return !((ctx.req.method === 'POST' && status < 300) || status === 429 || status === 503)
}

/**
 * A line of one request. The query is left out because it may contain secrets.
 *
 * @param caller its address, and how long it waited for the response to begin
 */
function logRequest(
  { ctx, path, requestId }: Call,
  { client, durationMs }: { readonly client: string; readonly durationMs: number },
  log: Log,
): void {
  const { method = '' } = ctx.req
  const { code, hint, principal } = ctx.state as CallState
  const fields = {
    request_id: requestId,
    method,
    path,
    status: ctx.res.statusCode,
    code,
    ...(hint !== undefined && { hint }),
    client,
    token_id: principal?.token.id,
    duration_ms: Math.round(durationMs),
  }
  const isOfApis = path.startsWith('/api/') || isSubmission(method, path)
  if (isOfApis) log.info('request', fields)
  else log.debug('request', fields)
}

async function nothingMore(): Promise<void> {}
