// One HTTP exchange with InfluxDB, for everything that this folder asks of it.
//
// It retries nothing and buffers nothing: what an answer means, and whether to ask again, is
// decided by who asks. An exchange that takes too long is aborted and its socket closed, so no
// socket is lost to a server that has stopped answering. The influx token is in no error's words.

import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { DurationMs } from '../domain/time.ts'

/** Where measurements are kept, and the right to use it. */
export interface InfluxTarget {
  /** May have a path, before which InfluxDB's own begin. */
  readonly url: string
  readonly organization: string
  readonly influxBucket: string
  readonly influxToken: string
}

export interface ConnectionSettings {
  /** Exchanges at once; more wait for their turn. */
  readonly socketsMax: number
  /** For a whole exchange; of one that is streamed, between two pieces of it. */
  readonly timeoutMs: DurationMs
}

export interface InfluxRequest {
  readonly method: 'GET' | 'POST'
  /** With its query. */
  readonly path: string
  readonly contentType?: string
  readonly body?: Buffer | string
}

export interface InfluxAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface InfluxStream {
  readonly status: number
  /** Has to be read to its end or left by `break`, else its socket is held until the time-out. */
  readonly chunks: AsyncIterable<Buffer>
}

/** There was no answer, or it broke off. */
export class InfluxUnreachable extends Error {
  /** Whether the request was under way, so that it may still have its effect, even later. */
  readonly hasBeenSent: boolean

  constructor(cause: Error, hasBeenSent: boolean) {
    super(`no answer from InfluxDB: ${cause.message}`, { cause })
    this.name = 'InfluxUnreachable'
    this.hasBeenSent = hasBeenSent
  }
}

const compress = promisify(gzip)

/** Below it a packet or two are saved, which is less than compressing costs. */
const COMPRESS_BYTES_MIN = 2_048

/** An answer that is kept whole; nothing that is asked for comes near it. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024

/** Longer than pauses between writes, shorter than after what servers and proxies hang up. */
const IDLE_SOCKET_MS = 30_000

/** Between processes of one machine bytes are cheaper than compressing them. */
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

export class InfluxConnection {
  readonly target: InfluxTarget
  readonly #settings: ConnectionSettings
  readonly #url: URL
  readonly #agent: HttpAgent
  readonly #request: typeof httpRequest
  /** Sockets that are connected: a request goes out on one of these as soon as it has it. */
  readonly #connected = new WeakSet<Duplex>()

  constructor(target: InfluxTarget, settings: ConnectionSettings) {
    this.target = target
    this.#settings = settings
    this.#url = new URL(target.url)
    const isSecure = this.#url.protocol === 'https:'
    const Agent = isSecure ? HttpsAgent : HttpAgent
    const { socketsMax } = settings
    this.#agent = new Agent({ keepAlive: true, maxSockets: socketsMax, timeout: IDLE_SOCKET_MS })
    this.#request = isSecure ? httpsRequest : httpRequest
  }

  /**
   * Makes a request and takes the whole answer, whatever its status.
   *
   * @throws InfluxUnreachable
   */
  async exchange(order: InfluxRequest): Promise<InfluxAnswer> {
    const deadline = AbortSignal.timeout(this.#settings.timeoutMs)
    const incoming = await this.#send(order, deadline)
    try {
      const body = await readWhole(incoming)
      return { status: incoming.statusCode ?? 0, headers: incoming.headers, body }
    } catch (error) {
      throw new InfluxUnreachable(reasonOf(error, deadline), true)
    }
  }

  /**
   * Makes a request that only reads and hands out the answer as it comes.
   *
   * @throws InfluxUnreachable, also when the answer breaks off
   */
  async stream(order: InfluxRequest): Promise<InfluxStream> {
    const silence = new AbortController()
    const overdue = new Error(`silent for ${this.#settings.timeoutMs} ms`)
    const timer = setTimeout(() => silence.abort(overdue), this.#settings.timeoutMs)
    try {
      const incoming = await this.#sendReading(order, silence.signal)
      return { status: incoming.statusCode ?? 0, chunks: this.#chunksOf(incoming) }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the sockets that are not in use. */
  close(): void {
    this.#agent.destroy()
  }

  // A socket that was kept open may be closed by the server at the moment of its next use. Reading
  // twice does no harm; a write that may have arrived is left to who knows what that means.
  async #sendReading(order: InfluxRequest, signal: AbortSignal): Promise<IncomingMessage> {
    try {
      return await this.#send(order, signal)
    } catch (error) {
      const isReset = error instanceof InfluxUnreachable && codeOf(error.cause) === 'ECONNRESET'
      if (!isReset || signal.aborted) throw error
      return await this.#send(order, signal)
    }
  }

  async #send(order: InfluxRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { body, isCompressed } = await this.#prepareBody(order.body)
    const options: RequestOptions = {
      agent: this.#agent,
      method: order.method,
      signal,
      headers: {
        authorization: `Token ${this.target.influxToken}`,
        'user-agent': 'thermolog',
        ...(order.contentType !== undefined && { 'content-type': order.contentType }),
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
        ...(isCompressed && { 'content-encoding': 'gzip' }),
      },
    }
    return await new Promise((resolve, reject) => {
      let hasBeenSent = false
      const outgoing = this.#request(this.#addressOf(order.path), options, resolve)
      const connected = this.#url.protocol === 'https:' ? 'secureConnect' : 'connect'
      const fail = (error: unknown) => {
        reject(new InfluxUnreachable(reasonOf(error, signal), hasBeenSent))
      }
      // An aborted request that waits for a socket would fail only when one is free.
      signal.addEventListener('abort', fail)
      outgoing.once('socket', (socket) => {
        signal.removeEventListener('abort', fail)
        // Not by `reusedSocket`: that is false for a request that has waited for the socket.
        hasBeenSent = this.#connected.has(socket)
        if (hasBeenSent) return
        socket.once(connected, () => {
          hasBeenSent = true
          this.#connected.add(socket)
        })
      })
      outgoing.on('error', fail)
      outgoing.end(body)
    })
  }

  #addressOf(path: string): URL {
    const address = new URL(this.#url)
    const [pathname = '', search = ''] = path.split('?')
    address.pathname = this.#url.pathname.replace(/\/+$/, '') + pathname
    address.search = search
    return address
  }

  async #prepareBody(
    body: Buffer | string | undefined,
  ): Promise<{ body: Buffer | string | undefined; isCompressed: boolean }> {
    const isSmall = body === undefined || body.length < COMPRESS_BYTES_MIN
    if (isSmall || LOOPBACK.test(this.#url.hostname)) return { body, isCompressed: false }
    const compressed = await compress(body, { level: constants.Z_BEST_SPEED })
    return { body: compressed, isCompressed: true }
  }

  async *#chunksOf(incoming: IncomingMessage): AsyncGenerator<Buffer> {
    const { timeoutMs } = this.#settings
    const hangUp = () => incoming.destroy(new Error(`silent for ${timeoutMs} ms`))
    // Counts only while a piece is waited for: a slow reader of ours is no fault of the server.
    let timer = setTimeout(hangUp, timeoutMs)
    try {
      for await (const chunk of incoming) {
        clearTimeout(timer)
        yield chunk as Buffer
        timer = setTimeout(hangUp, timeoutMs)
      }
    } catch (error) {
      throw new InfluxUnreachable(error as Error, true)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** What InfluxDB says about a failure, in one line; `code` only of its own answers. */
export function readFailure(body: string): { readonly code?: string; readonly message: string } {
  try {
    const parsed = JSON.parse(body) as { code?: unknown; message?: unknown } | null
    if (typeof parsed?.code === 'string' && typeof parsed.message === 'string') {
      return { code: parsed.code, message: parsed.message }
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  return { message: body.slice(0, 200).replaceAll(/\s+/g, ' ').trim() }
}

async function readWhole(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming) {
    chunks.push(chunk as Buffer)
    bytes += (chunk as Buffer).length
    if (bytes > ANSWER_BYTES_MAX) throw new Error('the answer is far too long')
  }
  return Buffer.concat(chunks).toString('utf8')
}

function reasonOf(error: unknown, signal: AbortSignal): Error {
  const reason: unknown = signal.aborted ? signal.reason : error
  if (!(reason instanceof Error)) return new Error(String(reason))
  if (reason.message !== '') return reason
  // Several addresses were tried: such an error has no words of its own.
  return new Error(codeOf(reason) ?? reason.name, { cause: reason })
}

function codeOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}
