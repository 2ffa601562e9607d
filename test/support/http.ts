// Requests of tests. Every answer is held against the description of the API, so that it cannot say
// anything that the service does not do.

import { globalAgent, request } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expectDescribed } from './described.ts'

export interface TestRequest {
  readonly method?: string
  /** With its query. */
  readonly path: string
  readonly token?: string
  /** Sent as JSON, unless it is text or bytes already. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface TestAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as what its JSON says; `undefined` when it is none. */
  // Tests look into bodies of every shape; their schemas are checked here.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

/** Makes a request and checks its answer against the description of the API. */
export async function send(url: string, order: TestRequest): Promise<TestAnswer> {
  const answer = await sendUnchecked(url, order)
  await expectDescribed(url, order, answer)
  if (answer.status < 400 || order.method === 'HEAD') return answer
  const contentType = answer.headers['content-type'] ?? ''
  // The calls of senders to InfluxDB fail in its form, as they are described.
  if (contentType.startsWith('application/json')) return answer
  if (!contentType.startsWith('application/problem+json')) {
    throw new Error(`a failure has the type ${contentType}`)
  }
  const { status, request_id: requestId } = answer.body as { status: number; request_id: string }
  if (status !== answer.status) throw new Error(`status ${answer.status} says ${status}`)
  if (requestId !== answer.headers['x-request-id']) throw new Error('two request ids')
  return answer
}

/** Submits measurements as one batch. */
export function sendBatch(
  url: string,
  token: string,
  measurements: readonly unknown[],
): Promise<TestAnswer> {
  const path = '/api/v1/measurements/batch'
  return send(url, { method: 'POST', path, token, body: { measurements } })
}

/** Submits any number of measurements, none of them known; each batch has to be taken. */
export async function sendBatches(
  url: string,
  token: string,
  measurements: readonly unknown[],
): Promise<void> {
  for (let from = 0; from < measurements.length; from += 500) {
    const { status, text } = await sendBatch(url, token, measurements.slice(from, from + 500))
    if (status !== 201) throw new Error(`${status}: ${text}`)
  }
}

/** Makes a request of what is not, or not only, our service. */
export async function sendUnchecked(url: string, order: TestRequest): Promise<TestAnswer> {
  const { method = 'GET', token, body, headers = {} } = order
  const sent = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const outgoing = request(url + order.path, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(sent !== undefined && {
        'content-type': 'application/json',
        ...(headers['transfer-encoding'] === undefined && {
          'content-length': Buffer.byteLength(sent),
        }),
      }),
      ...headers,
    },
  })
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve)
    outgoing.once('error', reject)
    outgoing.end(sent)
  })
  const text = (await buffer(incoming)).toString('utf8')
  const { statusCode = 0 } = incoming
  return { status: statusCode, headers: incoming.headers, text, body: parse(text) }
}

/** Closes the connections that are kept for more requests: a service that stops waits for these. */
export function closeKept(): void {
  for (const sockets of Object.values(globalAgent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy()
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
