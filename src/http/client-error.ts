// Connections on which no request can be read: they get a problem document as well, written by hand
// because there is no answer object, and are closed.

import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { ServiceError } from '../domain/errors.ts'
import type { ErrorCode } from '../domain/errors.ts'
import { presentError } from './answers/errors.ts'

const ALL_METHODS = 'GET, HEAD, POST, PATCH, DELETE'

/** Answers `clientError` of a server: 408 for what came too slowly, 405, else 400. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { _httpMessage: answer } = socket as Duplex & { _httpMessage?: ServerResponse | null }
  // An answer that has begun cannot be taken back; the cut connection tells.
  const canAnswer = socket.writable && !answer?.headersSent && error.code !== 'ECONNRESET'
  if (canAnswer) socket.end(rawAnswer(codeOf(error)), () => socket.destroy())
  else socket.destroy()
}

/** Answers CONNECT: this is no proxy. */
export function refuseTunnel(socket: Duplex): void {
  socket.end(rawAnswer('method_not_allowed'), () => socket.destroy())
}

function codeOf(error: NodeJS.ErrnoException): ErrorCode {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  return error.code === 'HPE_INVALID_METHOD' ? 'method_not_allowed' : 'invalid_request'
}

/** A whole HTTP/1.1 answer that closes its connection. */
function rawAnswer(code: ErrorCode): string {
  const requestId = randomUUID()
  const { status, headers, body } = presentError(new ServiceError(code), requestId)
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'X-Content-Type-Options: nosniff',
    ...(code === 'method_not_allowed' ? [`Allow: ${ALL_METHODS}`] : []),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
