// One HTTP exchange with InfluxDB, for every request of this folder.
//
// It retries nothing and buffers nothing: the caller decides what a response means and whether to
// repeat the request. An exchange that takes too long is aborted and its socket closed, so no
// socket is lost to a server that has stopped responding. No error message contains the influx
// token.

import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'

/** Where measurements are stored, with the credentials. */
export interface InfluxTarget {
  /** May have a path, which precedes InfluxDB's own paths. */
  readonly url: string
  readonly organization: string
  readonly influxBucket: string
  readonly influxToken: string
}

export interface ConnectionSettings {
  /** Concurrent exchanges; further ones wait. */
  readonly socketsMax: number
  /** For a whole exchange; for a streamed one, between two pieces. */
  readonly timeoutMs: number
}

export interface InfluxRequest {
  readonly method: 'GET' | 'POST'
  /** Including the query. */
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
  /** Read it to the end or leave by `break`, or its socket is held until the time-out. */
  readonly chunks: AsyncIterable<Buffer>
}

/** There was no response, or it was cut off. */
export class InfluxUnreachable extends Error {
  /** Whether the request was sent, so that it may still take effect, even later. */
  readonly hasBeenSent: boolean

  constructor(cause: Error, hasBeenSent: boolean) {
    super(`no answer from InfluxDB: ${cause.message}`, { cause })
    this.name = 'InfluxUnreachable'
    this.hasBeenSent = hasBeenSent
  }
}

const compress = promisify(gzip)

/** Below this, compressing costs more than the packet or two it saves. */
const COMPRESS_BYTES_MIN = 2_048

/** Limit of a response read as a whole; none of ours comes near it. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024

/** Longer than pauses between writes, shorter than the idle time-outs of servers and proxies. */
const IDLE_SOCKET_MS = 30_000

/** Between processes on one machine, sending bytes is cheaper than compressing them. */
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

export class InfluxConnection {
  readonly target: InfluxTarget
  readonly #settings: ConnectionSettings
  readonly #url: URL
  readonly #agent: HttpAgent
  readonly #request: typeof httpRequest
  /** Connected sockets: a request that gets one of these is sent at once. */
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
   * Sends a request and returns the whole response, whatever its status.
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
   * Sends a request that only reads and yields the response as it arrives.
   *
   * @throws InfluxUnreachable, also when the response is cut off
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

  /** Closes idle sockets. */
  close(): void {
    this.#agent.destroy()
  }

  // The server may close a kept-alive socket just as it is used again. Repeating a read does no
  // harm; what to do about a write that may have arrived is up to the caller.
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
      // Without this, an aborted request waiting for a socket would fail only once it gets one.
      signal.addEventListener('abort', fail)
      outgoing.once('socket', (socket) => {
        signal.removeEventListener('abort', fail)
        // `reusedSocket` will not do: it is false for a request that has waited for its socket.
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
    address.pathname = this.#url.pathname.replace(/(?<!\/)\/+$/, '') + pathname
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
    // Runs only while waiting for a piece: a slow reader on our side is not the server's fault.
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

/** InfluxDB's error message in one line; `code` only if the response is its own. */
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
  // Several addresses were tried: such an error has no message of its own.
  return new Error(codeOf(reason) ?? reason.name, { cause: reason })
}

function codeOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}
