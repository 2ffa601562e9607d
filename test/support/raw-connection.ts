// An HTTP/1.1 connection written and read by hand, for requests that no HTTP client would send:
// bodies that come late or never, requests in place of bodies, clients that do not read.

import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

export interface RawAnswer {
  readonly status: number
  /** By name, in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

const HEAD_END = '\r\n\r\n'
const PIECE_BYTES = 64 * 1_024

export class RawConnection {
  readonly #socket: Socket
  #received = ''
  #isEnded = false
  #error: Error | undefined
  #onChange = () => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.#received += text
      this.#onChange()
    })
    socket.once('error', (error) => {
      this.#error = error
    })
    socket.once('end', () => this.#end())
    socket.once('close', () => this.#end())
  }

  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    await once(socket, 'connect')
    return new RawConnection(socket)
  }

  /** Whether anything has come since the last answer. */
  get hasReceived(): boolean {
    return this.#received !== ''
  }

  write(bytes: string | Buffer): void {
    this.#socket.write(bytes)
  }

  /**
   * Writes without reading, like a client that looks for an answer only after its whole request.
   *
   * @returns how many bytes were written before the connection broke
   */
  async writeBlindly(bytes: Buffer): Promise<number> {
    this.#socket.pause()
    let written = 0
    while (written < bytes.length && !this.#socket.destroyed) {
      const piece = bytes.subarray(written, written + PIECE_BYTES)
      await new Promise<void>((resolve) => {
        this.#socket.write(piece, () => resolve())
      })
      written += piece.length
    }
    this.#socket.resume()
    return written
  }

  /** The next whole answer. @throws Error when the connection ends before that */
  async answer(): Promise<RawAnswer> {
    for (;;) {
      const answer = this.#takeAnswer()
      if (answer !== undefined) return answer
      if (this.#isEnded) {
        const received = JSON.stringify(this.#received)
        throw new Error(`no whole answer, but ${received}`, { cause: this.#error })
      }
      await this.#change()
    }
  }

  /** Resolves when the service has closed its side. @returns what came after the last answer */
  async end(): Promise<string> {
    while (!this.#isEnded) await this.#change()
    return this.#received
  }

  /** The error that broke the connection, if any. */
  get error(): Error | undefined {
    return this.#error
  }

  close(): void {
    this.#socket.destroy()
  }

  #takeAnswer(): RawAnswer | undefined {
    const headEnd = this.#received.indexOf(HEAD_END)
    if (headEnd === -1) return undefined
    const [statusLine = '', ...lines] = this.#received.slice(0, headEnd).split('\r\n')
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    const bodyAt = headEnd + HEAD_END.length
    const bodyEnd = bodyAt + Number(headers.get('content-length') ?? 0)
    if (this.#received.length < bodyEnd) return undefined
    const body = this.#received.slice(bodyAt, bodyEnd)
    this.#received = this.#received.slice(bodyEnd)
    return { status: Number(statusLine.split(' ')[1]), headers, body }
  }

  #end(): void {
    this.#isEnded = true
    this.#onChange()
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange = resolve
    })
  }
}

/** A request's head, with the empty line that ends it. */
export function headOf(
  [method, path]: readonly [method: string, path: string],
  headers: Readonly<Record<string, string | number>>,
): string {
  const lines = Object.entries({ Host: 'x', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  return `${[`${method} ${path} HTTP/1.1`, ...lines].join('\r\n')}${HEAD_END}`
}
