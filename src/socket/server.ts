// The operations over a unix socket in DATA_DIR: POST /operations/<name>, a list of arguments and
// the answer as JSON. Who may open the socket may do everything, so it is made with mode 0600,
// before anyone can connect. After a crash its file is left behind; whoever holds the lock of
// DATA_DIR, as the caller of `start` must, may take it away.

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import type { Operations } from '../commands/operations.ts'
import { failureOf } from '../operations/failure.ts'
import type { Failure } from '../operations/failure.ts'
import type { Log } from '../ports/system.ts'

const BODY_BYTES_MAX = 16 * 1024 * 1024
const ROUTE = /^\/operations\/(\w+)$/
const OWNER_ALONE = 0o177

interface Answer {
  readonly status: number
  readonly body: { readonly data: unknown } | { readonly failure: Failure }
}

export class OperationsSocket {
  readonly #operations: Operations
  readonly #log: Log
  readonly #server: Server

  constructor(collaborators: { readonly operations: Operations; readonly log: Log }) {
    this.#operations = collaborators.operations
    this.#log = collaborators.log
    this.#server = createServer((request, response) => void this.#respond(request, response))
  }

  /** @param path see `operationsSocketPath`; a file that is there is replaced */
  async start(path: string): Promise<void> {
    await rm(path, { force: true })
    // The file is made while `listen` runs, so it never has another mode.
    const umask = process.umask(OWNER_ALONE)
    try {
      this.#server.listen(path)
    } finally {
      process.umask(umask)
    }
    await once(this.#server, 'listening')
  }

  /** Operations that have begun are finished and answered. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeIdleConnections()
    await closed
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body } = await this.#answer(request)
    const text = JSON.stringify(body)
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      ...(this.#server.listening ? {} : { connection: 'close' }),
    })
    response.end(text)
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const name = ROUTE.exec(request.url ?? '')?.[1] ?? ''
    if (request.method !== 'POST' || !this.#isOperation(name)) {
      const hint = 'The running service is of another version: restart it.'
      return failed(404, { kind: 'failed', message: `no operation ${name}`, hint })
    }
    let what: string = name
    try {
      const args: unknown = JSON.parse(await readText(request))
      what = describe(name, args)
      return { status: 200, body: { data: await this.#carryOut(name, args) } }
    } catch (error) {
      const failure = failureOf(error)
      if (failure !== undefined) return failed(422, failure)
      const stack = error instanceof Error ? error.stack : String(error)
      this.#log.error('operation failed', { operation: what, error: stack })
      const message = `${what} failed inside the service`
      return failed(500, { kind: 'failed', message, hint: 'Its log says why.' })
    }
  }

  #isOperation(name: string): name is keyof Operations {
    return Object.hasOwn(this.#operations, name)
  }

  #carryOut(name: keyof Operations, args: unknown): Promise<unknown> {
    // Operations check what they are given; here it only has to be a list.
    const operation = this.#operations[name] as (...args: unknown[]) => Promise<unknown>
    return operation(...(Array.isArray(args) ? (args as unknown[]) : []))
  }
}

/** `run token create` */
function describe(name: string, args: unknown): string {
  const path: unknown = Array.isArray(args) ? args[0] : undefined
  const isOfCommand = ['run', 'preview'].includes(name) && typeof path === 'string'
  return isOfCommand ? `${name} ${path}` : name
}

function failed(status: number, failure: Failure): Answer {
  return { status, body: { failure } }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw new Error(`operation longer than ${BODY_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
