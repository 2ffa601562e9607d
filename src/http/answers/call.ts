// One request on its way through the service: what is known of it at the door, and what is known
// once its token has been read; and answering it, where an entity tag says what the client has.

import type { Context } from 'koa'
import { hash, randomUUID } from 'node:crypto'
import type { Principal } from '../../domain/access.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { Sensor } from '../../domain/sensor.ts'
import type { Clock } from '../../ports/system.ts'

export interface Call {
  readonly ctx: Context
  /** As sent, without the query; never decoded. */
  readonly path: string
  /** What follows the question mark, `''` without one. */
  readonly query: string
  readonly requestId: string
  /** When the head of the request was read. */
  readonly receivedAtMs: number
  /** The variable segments of the path by name, decoded. */
  readonly parameters: Readonly<Record<string, string>>
}

/** What middleware hands on: set when the request is read, and when its token is. */
export interface CallState {
  call: Call
  /** Method and pattern of the address, such as `GET /problems/{code}`, as soon as it is known. */
  route?: string
  principal?: Principal
  /** What a submission is refused with: the token's allowance of measurements is used up. */
  spent?: ServiceError
}

export interface ApiCall extends Call {
  readonly principal: Principal
}

export interface SensorCall extends ApiCall {
  /** The sensor that the path names; it belongs to the caller. */
  readonly sensor: Sensor
}

/** Reads the request's path; from here on there is one, for tokens and routes alike. */
export function readCall(ctx: Context, clock: Clock): Call {
  const url = originForm(ctx.req.url ?? '/')
  ctx.req.url = url
  const questionMark = url.indexOf('?')
  return {
    ctx,
    path: questionMark === -1 ? url : url.slice(0, questionMark),
    query: questionMark === -1 ? '' : url.slice(questionMark + 1),
    requestId: requestIdFrom(ctx.req.headers['x-request-id']),
    receivedAtMs: clock.nowMs(),
    parameters: {},
  }
}

/** A request to a proxy has an absolute URL; only the part after the host counts. */
function originForm(url: string): string {
  if (url.charCodeAt(0) === 47 /* / */) return url
  return url.replace(/^https?:\/\/[^/?]*/i, '') || '/'
}

/** @throws ServiceError `invalid_request` for violations of HTTP */
export function checkForm({ ctx, path, query }: Call): void {
  const { headers, httpVersion } = ctx.req
  const hasHost = headers.host !== undefined || httpVersion !== '1.1'
  if (!hasHost) throw new ServiceError('invalid_request', { detail: 'The Host header is missing.' })
  const hasFragment = path.includes('#') || query.includes('#')
  const isAddress = (path.startsWith('/') || path === '*') && !hasFragment
  if (!isAddress) throw new ServiceError('invalid_request', { detail: 'This is no address.' })
}

const WELL_FORMED = /^[A-Za-z0-9._-]{1,128}$/

/** The client's own request id when it is well-formed, else a random one. */
function requestIdFrom(header: string | string[] | undefined): string {
  return typeof header === 'string' && WELL_FORMED.test(header) ? header : randomUUID()
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** Answers with a JSON text. */
export function answerJson({ ctx }: Call, status: number, text: string | Buffer): void {
  ctx.status = status
  ctx.res.setHeader('Content-Type', JSON_TYPE)
  ctx.body = text
}

const TAG_CHARACTERS = 22

/** A weak tag, as compressed and plain bodies share it, of a text that changes with the answer. */
export function entityTag(version: string): string {
  return `W/"${hash('sha256', version, 'base64url').slice(0, TAG_CHARACTERS)}"`
}

/** Whether `If-None-Match` names the tag; compared weakly, as RFC 9110 has it. */
export function isKnown({ req }: Context, tag: string): boolean {
  const header = req.headers['if-none-match']
  if (header === undefined) return false
  const opaque = tag.slice(2)
  return header.split(',').some((item) => {
    const known = item.trim()
    return known === '*' || known === tag || known === opaque
  })
}

/** Answers that nothing has changed. */
export function answerUnchanged(ctx: Context, tag: string): void {
  ctx.set('ETag', tag)
  ctx.status = 304
}

/** The client went away in the middle of its request: nobody is left to be answered. */
export class ClientGone extends Error {
  constructor() {
    super('the client went away')
    this.name = 'ClientGone'
  }
}
