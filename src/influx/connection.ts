// One HTTP exchange with InfluxDB, for every request of this folder.
//
// It retries nothing and buffers nothing: the caller decides what a response means and whether to
// repeat the request. An exchange that takes too long is aborted and its socket closed, so no
// socket is lost to a server that has stopped responding. No error message contains the influx
// token.

import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Duplex, Readable } from 'node:stream'
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
  /** Whether it was given up after its time: others would wait as long. */
  readonly isSilence: boolean

  constructor(cause: Error, hasBeenSent: boolean) {
    // Where several addresses were tried, the error has no message of its own.
    super(`no answer from InfluxDB: ${cause.message || codeOf(cause)}`, { cause })
    this.name = 'InfluxUnreachable'
    this.hasBeenSent = hasBeenSent
    this.isSilence = cause.name === SILENCE
  }
}

/** The name of the error of an `AbortSignal.timeout`. */
const SILENCE = 'TimeoutError'

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
  readonly #timeoutMs: number
  readonly #url: URL
  readonly #agent: HttpAgent
  readonly #isSecure: boolean
  /** Connected sockets: a request that gets one of these is sent at once. */
  readonly #connected = new WeakSet<Duplex>()
  #isClosed = false

  constructor(target: InfluxTarget, { socketsMax, timeoutMs }: ConnectionSettings) {
    this.target = target
    this.#timeoutMs = timeoutMs
    this.#url = new URL(target.url)
    this.#isSecure = this.#url.protocol === 'https:'
    const Agent = this.#isSecure ? HttpsAgent : HttpAgent
    this.#agent = new Agent({ keepAlive: true, maxSockets: socketsMax, timeout: IDLE_SOCKET_MS })
  }

  /**
   * Sends a request and returns the whole response, whatever its status.
   *
   * @throws InfluxUnreachable
   */
  async exchange(order: InfluxRequest): Promise<InfluxAnswer> {
    const deadline = AbortSignal.timeout(this.#timeoutMs)
    const incoming = await this.#send(order, deadline)
    const { statusCode: status = 0, headers } = incoming
    try {
      return { status, headers, body: await readWhole(incoming) }
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
    const timer = setTimeout(() => silence.abort(silentFor(this.#timeoutMs)), this.#timeoutMs)
    try {
      const incoming = await this.#sendReading(order, silence.signal)
      return { status: incoming.statusCode ?? 0, chunks: chunksOf(incoming, this.#timeoutMs) }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Closes all sockets, those in use too; from then on, every request fails. */
  close(): void {
    this.#isClosed = true
    this.#agent.destroy()
  }

  // The server may close a kept-alive socket just as it is used again. Repeating a read does no
  // harm; what to do about a write that may have arrived is up to the caller.
  async #sendReading(order: InfluxRequest, signal: AbortSignal): Promise<IncomingMessage> {
    try {
      return await this.#send(order, signal)
    } catch (error) {
      const isReset =
        error instanceof InfluxUnreachable && codeOf(error.cause as Error) === 'ECONNRESET'
      if (!isReset) throw error
      return await this.#send(order, signal)
    }
  }

  async #send(order: InfluxRequest, signal: AbortSignal): Promise<IncomingMessage> {
    if (this.#isClosed) throw new InfluxUnreachable(new Error('the connection is closed'), false)
    const { method, path, contentType, body: plain = '' } = order
    const isCompressed = plain.length >= COMPRESS_BYTES_MIN && !LOOPBACK.test(this.#url.hostname)
    const body = isCompressed ? await compress(plain, { level: constants.Z_BEST_SPEED }) : plain
    const options = {
      agent: this.#agent,
      method,
      path: this.#url.pathname.replace(/(?<!\/)\/+$/, '') + path,
      signal,
      headers: {
        authorization: `Token ${this.target.influxToken}`,
        'user-agent': 'thermolog',
        ...(contentType !== undefined && { 'content-type': contentType }),
        ...(isCompressed && { 'content-encoding': 'gzip' }),
      },
    }
    return await new Promise((resolve, reject) => {
      let hasBeenSent = false
      const fail = (error: unknown) => {
        reject(new InfluxUnreachable(reasonOf(error, signal), hasBeenSent))
      }
      // Without this, an aborted request waiting for a socket would fail only once it gets one.
      signal.addEventListener('abort', fail)
      const outgoing = (this.#isSecure ? httpsRequest : httpRequest)(this.#url, options, resolve)
      outgoing.once('socket', (socket) => {
        signal.removeEventListener('abort', fail)
        // `reusedSocket` will not do: it is false for a request that has waited for its socket.
        hasBeenSent = this.#connected.has(socket)
        if (hasBeenSent) return
        socket.once(this.#isSecure ? 'secureConnect' : 'connect', () => {
          hasBeenSent = true
          this.#connected.add(socket)
        })
      })
      outgoing.on('error', fail)
      outgoing.end(body)
    })
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

async function readWhole(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) throw new Error('the answer is far too long')
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function* chunksOf(body: Readable, timeoutMs: number): AsyncGenerator<Buffer> {
  const hangUp = () => body.destroy(silentFor(timeoutMs))
  // Runs only while waiting for a piece: a slow reader on our side is not the server's fault.
  let timer = setTimeout(hangUp, timeoutMs)
  try {
    for await (const chunk of body) {
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

function silentFor(timeoutMs: number): Error {
  return new DOMException(`silent for ${timeoutMs} ms`, SILENCE)
}

function reasonOf(error: unknown, signal: AbortSignal): Error {
  return (signal.aborted ? signal.reason : error) as Error
}

function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? error.name
}
