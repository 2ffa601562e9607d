// A load program that costs little: keep-alive connections on bare sockets, bodies made once and
// stamped with fresh event ids and times for each request.

import { randomFillSync } from 'node:crypto'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

export interface LoadResult {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers by status. */
  readonly statuses: ReadonlyMap<number, number>
}

export interface LoadOrder {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /**
   * The whole next request of a connection, `undefined` to end it; the buffer is its own until the
   * answer is there.
   */
  readonly nextRequest: (connection: number) => Buffer | undefined
}

const HEX = Buffer.from('0123456789abcdef')
const RANDOM = Buffer.alloc(64 * 1024)
let randomAt = RANDOM.length

/** Writes a random UUID (version 4) as text. */
export function writeUuid(target: Buffer, at: number): void {
  if (randomAt + 16 > RANDOM.length) {
    randomFillSync(RANDOM)
    randomAt = 0
  }
  let out = at
  for (let byte = 0; byte < 16; byte++) {
    let value = RANDOM[randomAt++] ?? 0
    if (byte === 6) value = (value & 0x0f) | 0x40
    if (byte === 8) value = (value & 0x3f) | 0x80
    target[out++] = HEX[value >> 4] ?? 0
    target[out++] = HEX[value & 15] ?? 0
    if (byte === 3 || byte === 5 || byte === 7 || byte === 9) target[out++] = 45
  }
}

/** Sends as fast as answers come, on every connection one request at a time. */
export async function runLoad(order: LoadOrder): Promise<LoadResult> {
  const latenciesMs: number[] = []
  const statuses = new Map<number, number>()
  const startedAtMs = performance.now()
  const endAtMs = startedAtMs + order.seconds * 1000
  await Promise.all(
    Array.from({ length: order.connections }, (_, connection) =>
      runConnection(order, connection, endAtMs, (status, latencyMs) => {
        latenciesMs.push(latencyMs)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }),
    ),
  )
  const seconds = (performance.now() - startedAtMs) / 1000
  const sorted = Float64Array.from(latenciesMs).sort()
  const quantile = (q: number) => sorted[Math.floor((sorted.length - 1) * q)] ?? NaN
  const requestsPerSecond = latenciesMs.length / seconds
  return { requestsPerSecond, p50Ms: quantile(0.5), p99Ms: quantile(0.99), statuses }
}

function runConnection(
  order: LoadOrder,
  connection: number,
  endAtMs: number,
  onAnswer: (status: number, latencyMs: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: order.port, host: '127.0.0.1', noDelay: true })
    let sentAtMs = 0
    let isEnded = false
    const send = () => {
      sentAtMs = performance.now()
      const request = sentAtMs < endAtMs ? order.nextRequest(connection) : undefined
      isEnded = request === undefined
      if (request === undefined) socket.end()
      else socket.write(request)
    }
    readAnswers(socket, (status) => {
      onAnswer(status, performance.now() - sentAtMs)
      send()
    })
    socket.once('connect', send)
    // Some refusals end their connection: a sender makes the next one.
    socket.once('close', () => {
      const isOver = performance.now() >= endAtMs || isEnded
      resolve(isOver ? undefined : runConnection(order, connection, endAtMs, onAnswer))
    })
    socket.once('error', reject)
  })
}

const HEAD_END = Buffer.from('\r\n\r\n')

/** Calls back for each whole answer; all of them have a Content-Length or chunks. */
function readAnswers(socket: Socket, onAnswer: (status: number) => void): void {
  let pending: Buffer = Buffer.alloc(0)
  let missing = 0
  let status = 0
  socket.on('data', (data: Buffer) => {
    if (missing > 0) {
      missing -= data.length
      if (missing <= 0) onAnswer(status)
      return
    }
    pending = pending.length === 0 ? data : Buffer.concat([pending, data])
    const headEnd = pending.indexOf(HEAD_END)
    if (headEnd === -1) return
    const head = pending.toString('latin1', 0, headEnd)
    status = Number(head.slice(9, 12))
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    missing = length - (pending.length - headEnd - HEAD_END.length)
    pending = Buffer.alloc(0)
    if (missing <= 0) onAnswer(status)
  })
}

/** A request with a body, as bytes; a body of bytes is compressed already. */
export function postRequest(path: string, token: string, body: string | Buffer): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    ...(typeof body === 'string' ? [] : ['Content-Encoding: gzip']),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), Buffer.from(body)])
}
