// Responses that are ready before the body has arrived. The rest of a body must never be taken for
// the next request, by us or by a proxy that reuses the connection: HAProxy, for example, never
// forwards what it has not read when the response comes. So a small rest is read and dropped before
// the response is sent, and the connection stays open. After a larger or slower one it cannot: the
// response says so, our side ends, and what still arrives is dropped for a moment before the
// connection is closed, because a client whose data are refused never sees the response.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { SECOND_MS } from '../../domain/time.ts'

const REST_BYTES_MAX = 64 * 1024
const REST_MS_MAX = 2 * SECOND_MS
/** What a client may still send while it is being told to stop. */
const LINGER_BYTES_MAX = 4 * 1024 * 1024
const LINGER_MS_MAX = 2 * SECOND_MS

/** Whether some of the body is still to come. */
export function isUnfinished(request: IncomingMessage): boolean {
  return !request.complete && !request.destroyed && hasBody(request)
}

/** Call it when the response is ready and before anything is sent. Resolves when it may be sent. */
export async function finishBody(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (isExpected(request) && (await dropRest(request))) return
  endWithAnswer(request, response)
  request.resume()
}

/** The connection ends with the response, which says so if it has not begun. */
export function endWithAnswer(request: IncomingMessage, response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
  lingerBeforeClose(request.socket)
}

function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = headers
  return coding !== undefined || length !== '0'
}

/** Whether the rest of the body is on its way, and small as far as is known. */
function isExpected({ headers }: IncomingMessage): boolean {
  const isHeldBack = headers.expect !== undefined
  return !isHeldBack && Number(headers['content-length'] ?? 0) <= REST_BYTES_MAX
}

/** @returns whether the whole body has arrived */
function dropRest(request: IncomingMessage): Promise<boolean> {
  return new Promise((resolve) => {
    let bytes = 0
    const settle = () => {
      clearTimeout(timer)
      request.off('data', onData).off('end', settle).off('close', settle)
      resolve(request.complete)
    }
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > REST_BYTES_MAX) settle()
    }
    const timer = setTimeout(settle, REST_MS_MAX)
    request.on('data', onData).once('end', settle).once('close', settle)
    // Whoever stopped reading it may have paused it.
    request.resume()
  })
}

/** Keeps an ending connection open for what the client is still sending. */
export function lingerBeforeClose(socket: Socket): void {
  const close = socket.destroy.bind(socket)
  socket.destroySoon = () => {
    const bytesMax = socket.bytesRead + LINGER_BYTES_MAX
    const timer = setTimeout(close, LINGER_MS_MAX)
    socket.on('data', () => {
      if (socket.bytesRead > bytesMax) close()
    })
    socket.once('end', close)
    socket.once('close', () => clearTimeout(timer))
    // Whoever stopped reading it may have paused it.
    socket.resume()
    socket.end()
  }
}
