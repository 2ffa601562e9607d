// Has a running service carry out operations, over the socket in its DATA_DIR.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { SECOND_MS } from '../domain/time.ts'
import type { Operations } from '../commands/operations.ts'
import { OperationError } from '../operations/failure.ts'
import type { Failure } from '../operations/failure.ts'
import { operationsSocketPath, SOCKET_FILE } from './path.ts'

// An import would read all properties of node:http, and so load the WebSocket client that a command
// never needs: several times as long as the rest of the module.
const { request } = process.getBuiltinModule('node:http')

/** As long as commands wait for a service that is just starting. */
const ANSWER_MS_MAX = 10 * SECOND_MS
/** Nobody listens, or the one who did has just ended. */
const NOBODY = /^(ENOENT|ECONNREFUSED|ECONNRESET)$/

export interface OperationsClient {
  readonly operations: Operations
  close(): Promise<void>
}

/**
 * The service running on DATA_DIR.
 *
 * @returns `undefined` if none runs, or none that could create a socket
 * @throws OperationError if there is a socket that cannot be opened
 */
export async function connectServiceOf(dataDir: string): Promise<OperationsClient | undefined> {
  try {
    return await connectOperations(operationsSocketPath(dataDir))
  } catch (error) {
    // The path may be too long from here although the service, started elsewhere, could use it.
    const isTooLong = error instanceof OperationError && error.failure.kind === 'usage'
    if (isTooLong && !existsSync(join(dataDir, SOCKET_FILE))) return undefined
    throw error
  }
}

/**
 * @param socketPath see `operationsSocketPath`
 * @returns `undefined` when no service is listening
 * @throws OperationError when the socket belongs to someone else, or nothing answers there
 */
export async function connectOperations(socketPath: string): Promise<OperationsClient | undefined> {
  if (!(await isAnswering(socketPath))) return undefined
  const call =
    (name: string) =>
    (...args: unknown[]) =>
      post({ socketPath, path: `/operations/${name}` }, args)
  const operations = new Proxy({} as Operations, { get: (_, name) => call(String(name)) })
  return { operations, close: async () => {} }
}

/**
 * The system accepts connections for a process that is stopped or hangs: it has to answer, if only
 * that this is no operation, before it is trusted with one, which may take as long as it needs.
 */
function isAnswering(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX)
    const sent = request({ socketPath, path: '/', agent: false, signal }, (response) => {
      response.resume()
      resolve(true)
    })
    sent.once('error', (error: NodeJS.ErrnoException) => {
      if (NOBODY.test(error.code ?? '')) resolve(false)
      else reject(signal.aborted ? silent() : unreachable(socketPath, error))
    })
    sent.end()
  })
}

function silent(): OperationError {
  const seconds = ANSWER_MS_MAX / SECOND_MS
  const message = `the service does not answer: nothing came from it within ${seconds} seconds`
  const hint = 'It is stopped (SIGSTOP), hangs, or waits for its disk: see its log, or restart it.'
  return new OperationError({ kind: 'failed', message, hint })
}

function unreachable(socketPath: string, cause: Error): OperationError {
  const message = `cannot reach the service at ${socketPath}: ${cause.message}`
  const hint = 'Run the command as the user that the service runs as.'
  return new OperationError({ kind: 'failed', message, hint }, { cause })
}

interface Target {
  readonly socketPath: string
  readonly path: string
}

async function post(target: Target, args: readonly unknown[]): Promise<unknown> {
  const answer = JSON.parse(await exchange(target, JSON.stringify(args))) as
    { readonly data: unknown; readonly failure?: undefined } | { readonly failure: Failure }
  if (answer.failure !== undefined) throw new OperationError(answer.failure)
  return answer.data
}

function exchange(target: Target, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }
    // One connection a call: the service may close an idle one just when the next call is sent.
    const sent = request({ ...target, agent: false, method: 'POST', headers }, (response) => {
      text(response).then(resolve, (error: Error) => reject(lost(error)))
    })
    sent.once('error', (error) => reject(lost(error)))
    sent.end(body)
  })
}

function lost(cause: Error): OperationError {
  const message = `the service went away: ${cause.message}`
  const hint = 'It is not known whether the operation was carried out: look, then repeat it.'
  return new OperationError({ kind: 'failed', message, hint }, { cause })
}
