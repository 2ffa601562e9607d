// Connections of clients that ask and never read: what the service answers fills the buffers of the
// system, and then waits in the service.

import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { headOf } from './raw-connection.ts'
import type { UnreadRequest } from './unread-requests.ts'

/** As many as the service reads of a connection before it has answered. */
const PIPELINED = 64
/** A few of these are more than the buffers of the system hold. */
const LONG_FILE = headOf(['GET', '/docs/swagger-ui-bundle.js'], {})
const LONG_FILES = 4
/** Addresses of this machine: the limit for each would not count them, but others do. */
const ADDRESSES = 200
const GZIP_EVERY = 3

export class UnreadClients {
  readonly #port: number
  readonly #sockets: Socket[] = []
  #asked = 0
  #readBefore = 0

  constructor(url: string) {
    this.#port = Number(new URL(url).port)
  }

  /** How many requests were made. */
  get asked(): number {
    return this.#asked
  }

  /** Whether none is still being connected. */
  get areConnected(): boolean {
    return this.#sockets.every((socket) => !socket.connecting)
  }

  /** Bytes that were read after all. */
  get readBytes(): number {
    return this.#sockets.reduce((sum, socket) => sum + socket.bytesRead, this.#readBefore)
  }

  /** One request on each of so many connections. */
  askOnce(connections: number, request: UnreadRequest, token: string): void {
    const [plain, packed] = [bytesOf(request, token, false), bytesOf(request, token, true)]
    for (let at = 0; at < connections; at++) this.#open(isPacked(at) ? packed : plain, at)
    this.#asked += connections
  }

  /** Many requests on each connection, behind some whose answers are long. */
  pipeline(connections: number, request: UnreadRequest, token: string): void {
    const [plain, packed] = [false, true].map((gzip) =>
      Buffer.concat([
        Buffer.from(LONG_FILE.repeat(LONG_FILES)),
        ...Array.from({ length: PIPELINED - LONG_FILES }, () => bytesOf(request, token, gzip)),
      ]),
    ) as [Buffer, Buffer]
    for (let at = 0; at < connections; at++) this.#open(isPacked(at) ? packed : plain, at)
    this.#asked += connections * PIPELINED
  }

  /** Leaves at once, with everything unread. */
  close(): void {
    for (const socket of this.#sockets) {
      this.#readBefore += socket.bytesRead
      // A mere end could be that of a client that still waits for its answer.
      socket.resetAndDestroy()
    }
    this.#sockets.length = 0
  }

  /** @param at half of them come from this machine's usual address */
  #open(bytes: Buffer, at: number): void {
    const localAddress = at % 2 === 0 ? '127.0.0.1' : `127.0.0.${2 + (at % ADDRESSES)}`
    const socket = connect({ host: '127.0.0.1', port: this.#port, localAddress })
    // Before it is connected: otherwise the first piece would be read.
    socket.pause()
    // The service may end it.
    socket.on('error', () => socket.destroy())
    socket.write(bytes)
    this.#sockets.push(socket)
  }
}

function isPacked(at: number): boolean {
  return at % GZIP_EVERY === 1
}

function bytesOf(
  { method, path, type, body, token: kind }: UnreadRequest,
  token: string,
  gzip: boolean,
): Buffer {
  const head = headOf([method, path], {
    ...(kind !== undefined && { Authorization: `Bearer ${token}` }),
    ...(gzip && { 'Accept-Encoding': 'gzip' }),
    ...(type !== undefined && { 'Content-Type': type }),
    ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }),
  })
  return Buffer.from(head + (body ?? ''))
}
