// Writes hostile requests to their connections: at once, in chunks, in part, slowly, or as bytes
// that no client would send.

import { Agent, request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { HostileRequest } from './hostile-request.ts'

/** A chunk for each of these bytes in turn, and never so many chunks that they take long. */
const CHUNK_BYTES = [1, 3, 1_021, 65_537]
const CHUNKS_MAX = 200
const SLOW_BYTES = 12
const SLOW_EVERY_MS = 60
/** Bytes that are no request may be waited for, however long. */
const BYTES_ANSWERED_MS_MAX = 1_000
/** Streams of events have no end. */
const ENDLESS = /^text\/event-stream/

export class HostileSender {
  readonly #url: string
  readonly #agent: Agent

  constructor(url: string, connections: number) {
    this.#url = url
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
  }

  /**
   * @returns the status; `undefined`: the connection was closed without one
   * @throws Error when there is neither within that time
   */
  async send(hostile: HostileRequest, msMax: number): Promise<number | undefined> {
    if (hostile.manner === 'as bytes') return this.#sendBytes(hostile.body ?? Buffer.alloc(0))
    const headers: Record<string, string> = { ...hostile.headers }
    const { body, manner } = hostile
    if (manner === 'in odd chunks') headers['transfer-encoding'] = 'chunked'
    else if (body !== undefined) headers['content-length'] = String(body.length)
    const { hostname, port } = new URL(this.#url)
    const order = { hostname, port, path: hostile.path, method: hostile.method, headers }
    const outgoing = httpRequest({ ...order, agent: this.#agent })
    const status = statusOf(outgoing, msMax)
    await Promise.all([write(outgoing, hostile), status])
    return status
  }

  close(): void {
    this.#agent.destroy()
  }

  #sendBytes(bytes: Buffer): Promise<number | undefined> {
    const { hostname, port } = new URL(this.#url)
    return new Promise((resolve) => {
      const socket = connect({ host: hostname, port: Number(port) })
      let received = ''
      socket.setTimeout(BYTES_ANSWERED_MS_MAX, () => socket.destroy())
      socket.on('data', (data) => {
        received += data.toString('latin1')
        socket.end()
      })
      // The service may close it before it has read everything.
      socket.once('error', () => socket.destroy())
      socket.once('close', () => {
        const status = /^HTTP\/1\.1 (\d+)/.exec(received)?.[1]
        resolve(status === undefined ? undefined : Number(status))
      })
      socket.write(bytes)
    })
  }
}

function statusOf(outgoing: ClientRequest, msMax: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    let status: number | undefined
    const late = globalThis.setTimeout(() => {
      reject(new Error(`no whole answer in ${msMax} ms`))
      outgoing.destroy()
    }, msMax)
    outgoing.once('response', (incoming: IncomingMessage) => {
      status = incoming.statusCode
      incoming.resume()
      if (ENDLESS.test(incoming.headers['content-type'] ?? '')) outgoing.destroy()
    })
    outgoing.once('upgrade', (_incoming, socket) => socket.destroy())
    // The service may close the connection.
    outgoing.once('error', () => outgoing.destroy())
    outgoing.once('close', () => {
      clearTimeout(late)
      resolve(status)
    })
  })
}

async function write(outgoing: ClientRequest, { body, manner }: HostileRequest): Promise<void> {
  if (body === undefined) {
    outgoing.end()
  } else if (manner === 'cut off') {
    outgoing.write(body.subarray(0, Math.floor(body.length / 2)), () => outgoing.destroy())
  } else if (manner === 'in odd chunks') {
    for (let at = 0, chunk = 0; at < body.length; chunk++) {
      const bytes = Math.max(CHUNK_BYTES[chunk % CHUNK_BYTES.length] ?? 1, body.length / CHUNKS_MAX)
      outgoing.write(body.subarray(at, at + Math.ceil(bytes)))
      at += Math.ceil(bytes)
    }
    outgoing.end()
  } else if (manner === 'slowly') {
    for (let at = 0; at < SLOW_BYTES && !outgoing.destroyed; at++) {
      outgoing.write(body.subarray(at, at + 1))
      await setTimeout(SLOW_EVERY_MS)
    }
    outgoing.end(body.subarray(SLOW_BYTES))
  } else {
    outgoing.end(body)
  }
}
