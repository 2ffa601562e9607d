// One request on its way through the service: what is known on arrival, and what is known once its
// token has been checked; and responding to it, with 304 if the client is up to date.

import type { Context } from 'koa'
import { hash, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Principal } from '../../domain/access.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { ErrorCode } from '../../domain/errors.ts'
import type { Sensor } from '../../domain/sensor.ts'
import type { Clock } from '../../ports/system.ts'

export interface Call {
  readonly ctx: Context
  /** As sent, without the query; never decoded. Only of `APPENDED` slashes may be left out. */
  readonly path: string
  /** The part after the question mark, `''` if there is none. */
  readonly query: string
  readonly requestId: string
  /** When the head of the request was read. */
  readonly receivedAtMs: number
  /** The path's parameters by name, decoded. */
  readonly parameters: Readonly<Record<string, string>>
}

/** What an answer may be: answers/answer-kind.ts says what each means. */
export type AnswerKind = 'small' | 'receipt' | 'file' | 'long'

/** State shared by middleware: set when the request is read, and when its token is checked. */
export interface CallState {
  call: Call
  /** Method and pattern of the URL, such as `GET /problems/{code}`, as soon as it is known. */
  route?: string
  principal?: Principal
  /** What the route takes for a body: `BodyBounds`. */
  bounds?: object
  /** What the route may answer. */
  answer?: AnswerKind
  /** The body, which is counted until it is answered, or its answer is taken. */
  body?: { close(): void; keepAnswer(bytes: number): void }
  /** What is held until the request is answered, beside the body. */
  place?: { end(): void }
  /** Of the problem that the request was answered with. */
  code?: ErrorCode
  /** What only the log is told of it. */
  hint?: string | undefined
  /** The refusal for submissions when the token's measurement allowance is used up. */
  spent?: ServiceError
}

export interface ApiCall extends Call {
  readonly principal: Principal
}

export interface SensorCall extends ApiCall {
  /** The sensor that the path names; it belongs to the caller. */
  readonly sensor: Sensor
}

/** A request that has waited for the answers before it on its connection. */
export interface WaitingRequest extends IncomingMessage {
  /** When its head was read. */
  arrivedAtMs?: number
}

/**
 * Parses the request's path once, for tokens and routes alike.
 *
 * @param basePath is taken off once; a path that does not begin with it is `''`, see `checkForm`
 */
export function readCall(ctx: Context, clock: Clock, basePath: string): Call {
  const url = belowBase(originForm(ctx.req.url ?? '/'), basePath)
  const { arrivedAtMs }: WaitingRequest = ctx.req
  const questionMark = url.indexOf('?')
  const sent = questionMark === -1 ? url : url.slice(0, questionMark)
  const path = withoutSlips(sent)
  ctx.req.url = path + url.slice(sent.length)
  return {
    ctx,
    path,
    query: questionMark === -1 ? '' : url.slice(questionMark + 1),
    requestId: requestIdFrom(ctx.req.headers['x-request-id']),
    receivedAtMs: arrivedAtMs ?? clock.nowMs(),
    parameters: {},
  }
}

/** A request to a proxy has an absolute URL; only the part after the host counts. */
function originForm(url: string): string {
  if (url.charCodeAt(0) === 47 /* / */) return url
  return url.replace(/^https?:\/\/[^/?]*/i, '') || '/'
}

/** For the machine itself, and where a standard wants them: with or without the prefix. */
const WITHOUT_BASE = /^\/(healthz|readyz|metrics|\.well-known\/[^?]*)(\?|$)/

function belowBase(url: string, basePath: string): string {
  if (basePath === '' || WITHOUT_BASE.test(url)) return url
  return url.startsWith(`${basePath}/`) ? url.slice(basePath.length) : ''
}

/** What senders to InfluxDB, and Grafana, append to a URL that people type. */
const APPENDED = new Set(['/api/v2/write', '/write', '/ping', '/health', '/query'])

/** One of these addresses without doubled and final slashes: many senders drop data on a 404. */
function withoutSlips(path: string): string {
  if (!path.endsWith('/') && !path.includes('//')) return path
  const segments = path.split('/').filter((segment) => segment !== '')
  const plain = `/${segments.join('/')}`
  return APPENDED.has(plain) ? plain : path
}

/** @throws ServiceError `invalid_request` for violations of HTTP, `not_found` outside the prefix */
export function checkForm({ ctx, path, query }: Call): void {
  if (path === '') throw new ServiceError('not_found')
  const detail = violationIn(ctx.req)
  if (detail !== undefined) {
    // Its end may not be where we take it to be.
    ctx.res.setHeader('Connection', 'close')
    throw new ServiceError('invalid_request', { detail })
  }
  const hasFragment = path.includes('#') || query.includes('#')
  const isAddress = (path.startsWith('/') || path === '*') && !hasFragment
  if (!isAddress) throw new ServiceError('invalid_request', { detail: 'The URL is not valid.' })
}

const HOST = 'host'

/** What HTTP forbids and Node takes. */
function violationIn(request: IncomingMessage): string | undefined {
  const { headers, rawHeaders, httpVersion, httpVersionMajor } = request
  if (httpVersionMajor !== 1) return 'This is neither HTTP/1.1 nor HTTP/1.0.'
  const hasCoding = headers['transfer-encoding'] !== undefined
  if (httpVersion === '1.0' && hasCoding) return 'HTTP/1.0 has no Transfer-Encoding.'
  if (headers.host === undefined) {
    return httpVersion === '1.1' ? 'The Host header is missing.' : undefined
  }
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === HOST.length && name.toLowerCase() === HOST) hosts++
  }
  return hosts === 1 ? undefined : 'The Host header is repeated.'
}

const WELL_FORMED = /^[A-Za-z0-9._-]{1,128}$/

/** The client's own request id if it is well-formed, else a random one. */
function requestIdFrom(header: string | string[] | undefined): string {
  return typeof header === 'string' && WELL_FORMED.test(header) ? header : randomUUID()
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Responds with a JSON text. */
export function answerJson({ ctx }: Call, status: number, text: string | Buffer): void {
  ctx.status = status
  ctx.res.setHeader('Content-Type', JSON_TYPE)
  ctx.body = text
}

const TAG_CHARACTERS = 22

/**
 * A weak tag, which compressed and plain bodies share, for a text that changes with the response.
 */
export function entityTag(version: string): string {
  return `W/"${hash('sha256', version, 'base64url').slice(0, TAG_CHARACTERS)}"`
}

/** Whether `If-None-Match` names the tag; compared weakly, as in RFC 9110. */
export function isKnown({ req }: Context, tag: string): boolean {
  const header = req.headers['if-none-match']
  if (header === undefined) return false
  const opaque = tag.slice(2)
  return header.split(',').some((item) => {
    const known = item.trim()
    return known === '*' || known === tag || known === opaque
  })
}

/** Responds that nothing has changed. */
export function answerUnchanged(ctx: Context, tag: string): void {
  ctx.set('ETag', tag)
  ctx.status = 304
}

/** The client disconnected during its request: nobody is left to respond to. */
export class ClientGone extends Error {
  constructor() {
    super('the client disconnected')
    this.name = 'ClientGone'
  }
}
