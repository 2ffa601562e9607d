// Connections on which no request can be read, or none is any more: they get a problem document
// too, written by hand because there is no response object, and are closed.

import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { postponedError, ServiceError } from '../domain/errors.ts'
import type { ErrorCode } from '../domain/errors.ts'
import { presentError } from './answers/errors.ts'
import { lingerBeforeClose } from './body/rest-of-body.ts'
import type { Connections } from './callers/connections.ts'

const ALL_METHODS = 'GET, HEAD, POST, PATCH, DELETE'

/** By Node's codes; all others are `invalid_request`. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_INVALID_METHOD: 'method_not_allowed',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
}

/**
 * Handles a server's `clientError`. Where requests before it are not answered yet, their answers
 * are the last ones.
 */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  connections: Connections,
): void {
  const isBroken = error.code === 'ECONNRESET'
  // One whose last answer is under way ends by itself.
  if (!isBroken && (socket.writableEnded || connections.noteUnreadable(socket))) return
  const { _httpMessage: answer } = socket as Socket & { _httpMessage?: ServerResponse | null }
  // A response that has begun cannot be taken back; cutting the connection shows the failure.
  const canAnswer = socket.writable && !answer?.headersSent && !isBroken
  if (canAnswer) endWith(socket, CODES[error.code ?? ''] ?? 'invalid_request')
  else socket.destroy()
}

/** Refuses CONNECT: this is not a proxy. Where others before it are not answered yet, it is not. */
export function refuseTunnel(socket: Socket, connections: Connections): void {
  // Node leaves the socket to its new owner; an error that nobody listens for ends the process.
  socket.on('error', () => undefined)
  if (connections.noteUnreadable(socket)) return
  endWith(socket, 'method_not_allowed')
}

function endWith(socket: Socket, code: ErrorCode): void {
  lingerBeforeClose(socket)
  socket.write(rawAnswer(new ServiceError(code)))
  socket.destroySoon()
}

/** The answer to a request that may be on its way to a server that is stopping. */
export function refusalAhead(): string {
  return rawAnswer(postponedError('shutting_down'))
}

/** A complete HTTP/1.1 response that closes its connection. */
function rawAnswer(error: ServiceError): string {
  const requestId = randomUUID()
  const { status, headers, body } = presentError(error, requestId)
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'X-Content-Type-Options: nosniff',
    ...(error.code === 'method_not_allowed' ? [`Allow: ${ALL_METHODS}`] : []),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
