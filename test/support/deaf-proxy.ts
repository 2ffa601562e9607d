// A proxy before PostgreSQL that does not pass goodbyes on while it is deaf: neither the server
// nor the proxy then closes the connection, as if the server were lost.

import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** The message of PostgreSQL's protocol before a client closes. */
const TERMINATE = Buffer.from('X\0\0\0\x04')

export class DeafProxy {
  isDeaf = false
  /** How many goodbyes were not passed on. */
  unheard = 0
  readonly #target: URL
  readonly #server = createServer({ allowHalfOpen: true }, (client) => this.#pass(client))
  readonly #sockets: Socket[] = []

  private constructor(target: string) {
    this.#target = new URL(target)
  }

  static async start(target: string): Promise<DeafProxy> {
    const proxy = new DeafProxy(target)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  /** That of the target, through the proxy. */
  get url(): string {
    const url = new URL(this.#target)
    url.port = String((this.#server.address() as AddressInfo).port)
    return url.href
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #pass(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname)
    this.#sockets.push(client, server)
    for (const socket of [client, server]) socket.on('error', () => undefined)
    server.pipe(client)
    let isUnheard = false
    client.on('data', (bytes) => {
      isUnheard = this.isDeaf && bytes.subarray(-TERMINATE.length).equals(TERMINATE)
      if (isUnheard) this.unheard++
      else server.write(bytes)
    })
    client.on('end', () => {
      if (!isUnheard) server.end()
    })
  }
}
