// Requests of tests. Every answer is held against its schema of schemas/response/, so that the
// documentation cannot say anything that the service does not do.

import { request } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { readFileSync, readdirSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expectDescribed } from './described.ts'

const SCHEMAS = new URL('../../schemas/', import.meta.url)

/** What a success of each address looks like. */
const SUCCESSES: readonly (readonly [RegExp, string])[] = [
  [/^\w+ \/api\/v1\/me$/, 'daemon-me'],
  [/^\w+ \/api\/v1\/sensors$/, 'sensor-list'],
  [/^\w+ \/api\/v1\/sensors\/[^/]+$/, 'sensor'],
  [/^\w+ \/api\/v1\/sensors\/[^/]+\/measurements$/, 'history'],
  [/^\w+ \/api\/v1\/measurements$/, 'measurement'],
  [/^\w+ \/api\/v1\/measurements\/batch$/, 'batch-receipt'],
  [/^\w+ \/api\/mobile\/v1\/bootstrap$/, 'bootstrap'],
  [/^\w+ \/api\/mobile\/v1\/auth\/[^/]+$/, 'sign-in'],
  [/^\w+ \/api\/mobile\/v1\/me$/, 'user'],
  [/^\w+ \/api\/mobile\/v1\/dashboard$/, 'dashboard'],
  [/^\w+ \/api\/mobile\/v1\/sensors$/, 'sensor-list'],
  [/^\w+ \/api\/mobile\/v1\/sensors\/[^/]+\/measurements$/, 'history'],
  [/^\w+ \/healthz$/, 'health'],
  [/^\w+ \/readyz$/, 'readiness'],
  [/^\w+ \/problems\/\w+$/, 'problem-explanation'],
]

const ajv = new Ajv2020({
  allErrors: true,
  allowUnionTypes: true,
  strictRequired: false,
  formats: { 'date-time': true },
})
for (const path of ['common.json', ...readdirSync(new URL('response/', SCHEMAS)).map(inFolder)]) {
  ajv.addSchema(JSON.parse(readFileSync(new URL(path, SCHEMAS), 'utf8')) as object, `/${path}`)
}

function inFolder(file: string): string {
  return `response/${file}`
}

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

/** Makes a request and checks its answer against its schema and the description of the API. */
export async function send(url: string, order: TestRequest): Promise<TestAnswer> {
  const answer = await sendUnchecked(url, order)
  await expectDescribed(url, order, answer)
  const contentType = answer.headers['content-type'] ?? ''
  if (answer.status >= 400 && order.method !== 'HEAD') {
    expectSchema('problem', answer)
    if (!contentType.startsWith('application/problem+json')) {
      throw new Error(`a failure has the type ${contentType}`)
    }
    const { status, request_id: requestId } = answer.body as { status: number; request_id: string }
    if (status !== answer.status) throw new Error(`status ${answer.status} says ${status}`)
    if (requestId !== answer.headers['x-request-id']) throw new Error('two request ids')
  } else if (contentType.startsWith('application/json') && order.method !== 'HEAD') {
    expectSchema(schemaOf(order), answer)
  }
  return answer
}

/** Makes a request. */
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

function schemaOf({ method = 'GET', path }: TestRequest): string {
  const address = `${method} ${path.split('?')[0]}`
  const schema = SUCCESSES.find(([pattern]) => pattern.test(address))?.[1]
  if (schema === undefined) throw new Error(`no schema is known for the answer of ${address}`)
  return schema
}

function expectSchema(name: string, answer: TestAnswer): void {
  const validate = ajv.getSchema(`/response/${name}.json`)
  if (validate?.(answer.body) === true) return
  throw new Error(`${answer.text}\nis no ${name}: ${JSON.stringify(validate?.errors)}`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
