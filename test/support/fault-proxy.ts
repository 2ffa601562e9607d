// A proxy that stands between the service and InfluxDB, or a daemon and the service, and does to
// their exchanges what networks, proxies and servers in trouble do. What happens to a request is
// decided when it has come in.

import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'

/** A request, read whole. */
export interface ProxiedRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type Fault =
  /** Nothing: it goes through. */
  | { readonly kind: 'pass' }
  /** It never arrives; this is the answer. */
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    }
  /** It never arrives, and the connection is cut. */
  | { readonly kind: 'cut' }
  /** It has its effect, but the connection is cut instead of an answer. */
  | { readonly kind: 'lose_reply' }
  /** It has its effect; the connection is cut after so much of the answer's body. */
  | { readonly kind: 'cut_reply'; readonly afterBytes: number }
  /** The connection is cut at once, and it has its effect later. */
  | { readonly kind: 'arrive_late'; readonly afterMs: number }
  /** It has its effect; the answer's body comes byte by byte, each after so long. */
  | { readonly kind: 'drip_reply'; readonly everyMs: number }
  /** It goes through later. */
  | { readonly kind: 'delay'; readonly byMs: number }
  /** It goes through when `resume` is called. */
  | { readonly kind: 'pause' }

const PASS: Fault = { kind: 'pass' }

export class FaultProxy {
  /** What befalls the next request. */
  decide: (request: ProxiedRequest) => Fault = () => PASS
  /** What came in, in order. */
  readonly requests: ProxiedRequest[] = []
  readonly #target: URL
  readonly #server: Server
  readonly #late: Promise<void>[] = []
  #resume: (() => void)[] = []

  private constructor(target: string) {
    this.#target = new URL(target)
    this.#server = createServer((incoming, outgoing) => {
      this.#handle(incoming, outgoing).catch(() => outgoing.destroy())
    })
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Everything gets this fault from now on. */
  use(fault: Fault): void {
    this.decide = () => fault
  }

  /** So many requests get this fault, then all pass. */
  useFor(count: number, fault: Fault): void {
    let left = count
    this.decide = () => (left-- > 0 ? fault : PASS)
  }

  /** Lets go what is paused, and everything after it. */
  resume(): void {
    this.decide = () => PASS
    for (const go of this.#resume.splice(0)) go()
  }

  /** Resolves when what arrives late has arrived. */
  async settleLate(): Promise<void> {
    await Promise.all(this.#late.splice(0))
  }

  async close(): Promise<void> {
    this.resume()
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
    await this.settleLate()
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/', headers } = incoming
    const proxied: ProxiedRequest = { method, path, headers, body: await buffer(incoming) }
    this.requests.push(proxied)
    const fault = this.decide(proxied)
    switch (fault.kind) {
      case 'answer':
        outgoing.writeHead(fault.status, fault.headers).end(fault.body)
        return
      case 'cut':
        outgoing.destroy()
        return
      case 'arrive_late':
        outgoing.destroy()
        this.#sendLate(proxied, fault.afterMs)
        return
      case 'lose_reply':
        await this.#haveEffect(proxied)
        outgoing.destroy()
        return
      case 'delay':
        await setTimeout(fault.byMs)
        break
      case 'pause':
        await new Promise<void>((resolve) => this.#resume.push(resolve))
        break
      case 'drip_reply':
        return dripReply(await this.#send(proxied), outgoing, fault.everyMs)
      case 'cut_reply':
      case 'pass':
        break
    }
    await passReply(await this.#send(proxied), outgoing, cutAfter(fault))
  }

  /** Who sent it may be gone before it has arrived: then `close` waits for it. */
  async #haveEffect(proxied: ProxiedRequest): Promise<void> {
    const replied = this.#send(proxied).then(buffer)
    this.#late.push(replied.then(noReply, noReply))
    await replied
  }

  #sendLate(proxied: ProxiedRequest, afterMs: number): void {
    const sendLate = async () => {
      await setTimeout(afterMs)
      await buffer(await this.#send(proxied))
    }
    this.#late.push(sendLate())
  }

  async #send({ method, path, headers, body }: ProxiedRequest): Promise<IncomingMessage> {
    const outgoing = request(new URL(path, this.#target), {
      method,
      headers: { ...headers, host: this.#target.host },
    })
    outgoing.end(body)
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    return incoming
  }
}

function noReply(): void {}

function cutAfter(fault: Fault): number {
  return fault.kind === 'cut_reply' ? fault.afterBytes : Infinity
}

async function passReply(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  bytesMax: number,
): Promise<void> {
  outgoing.writeHead(incoming.statusCode ?? 0, incoming.headers)
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    const part = chunk.subarray(0, bytesMax - bytes)
    bytes += part.length
    await new Promise((resolve) => outgoing.write(part, resolve))
    if (bytes >= bytesMax) {
      outgoing.destroy()
      return
    }
  }
  outgoing.end()
}

async function dripReply(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  everyMs: number,
): Promise<void> {
  outgoing.writeHead(incoming.statusCode ?? 0, incoming.headers)
  for (const byte of await buffer(incoming)) {
    if (outgoing.destroyed) return
    outgoing.write(Buffer.of(byte))
    await setTimeout(everyMs)
  }
  outgoing.end()
}
