// Histories as responses, in the format that the client accepts: a short one in one piece, a long
// one streamed as fast as the client reads it. If the store fails half way, the connection is cut:
// a body that ends normally is complete.

import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { ResolvedQuestion } from '../../domain/history.ts'
import { answerUnchanged, ClientGone, entityTag, isKnown } from '../call.ts'
import { HISTORY_FORMATS } from './history-text.ts'
import type { HistoryFormat } from './history-text.ts'
import type { LongAnswer, LongAnswers } from './long-answers.ts'

/** Bytes gathered before a response is streamed. */
const WHOLE_BYTES_MAX = 128 * 1024

export interface AskedHistories {
  readonly userId: number
  readonly question: ResolvedQuestion
  /** Differs whenever the response would differ. */
  readonly version: string
}

/** What a response needs from the store. */
export interface HistoryAnswer {
  readonly isComplete: boolean
  /** The whole text, in order. */
  readonly pieces: AsyncIterable<Buffer>
}

/** Responds with histories, or with 304 if the client has them already. */
export async function answerHistories(
  ctx: Context,
  asked: AskedHistories,
  longAnswers: LongAnswers,
  read: (format: HistoryFormat) => Promise<HistoryAnswer>,
): Promise<void> {
  const format = acceptedFormat(ctx)
  const tag = entityTag(`${format.name} ${asked.version}`)
  ctx.set('Cache-Control', 'private, no-cache')
  ctx.vary('Accept')
  if (isKnown(ctx, tag)) return answerUnchanged(ctx, tag)
  await answerInPieces(ctx, longAnswers, asked.userId, async () => {
    const { isComplete, pieces } = await read(format)
    // An incomplete response changes even if the data do not.
    if (isComplete) ctx.set('ETag', tag)
    // The formats without an envelope have no other place for these two.
    ctx.set('Thermolog-Bucket', asked.question.bucket)
    ctx.set('Thermolog-Complete', String(isComplete))
    ctx.set('Content-Type', format.contentType)
    return pieces
  })
}

function acceptedFormat(ctx: Context): HistoryFormat {
  const types = [...HISTORY_FORMATS.keys()]
  // A client that accepts none of the formats gets the first, as does one that accepts all.
  const accepted = ctx.accepts(types) || types[0]
  const format = HISTORY_FORMATS.get(accepted ?? '')
  if (format === undefined) throw new Error('BUG: no format of history')
  return format
}

/**
 * Responds with a text, streamed if it is long.
 *
 * @param read sets the headers. @returns the whole text, in order
 * @throws ClientGone
 */
export async function answerInPieces(
  ctx: Context,
  longAnswers: LongAnswers,
  userId: number,
  read: () => Promise<AsyncIterable<Buffer>>,
): Promise<void> {
  const answer = await longAnswers.begin(userId)
  try {
    if (ctx.req.socket.destroyed) throw new ClientGone()
    const pieces = await read()
    const body = await bodyOf(ctx, answer, pieces[Symbol.asyncIterator]())
    ctx.status = 200
    if (body !== undefined) ctx.body = body
  } finally {
    if (ctx.body instanceof Readable && !ctx.res.closed) ctx.res.once('close', () => answer.end())
    else answer.end()
  }
}

async function bodyOf(
  ctx: Context,
  answer: LongAnswer,
  unread: AsyncIterator<Buffer>,
): Promise<Buffer | Readable | undefined> {
  const { start, isWhole } = await gather(unread)
  if (isWhole) return start
  if (ctx.method === 'HEAD') {
    await unread.return?.()
    ctx.res.removeHeader('Content-Length')
    return undefined
  }
  const cut = () => ctx.res.destroy()
  // One piece is enough to buffer while waiting for the client.
  const stream = Readable.from(answer.piecesOf(resume(start, unread), cut), { highWaterMark: 1 })
  stream.once('close', () => void unread.return?.())
  // Errors do not pass through a compressor by themselves.
  stream.once('error', cut)
  return stream
}

async function gather(unread: AsyncIterator<Buffer>): Promise<{ start: Buffer; isWhole: boolean }> {
  const gathered: Buffer[] = []
  let bytes = 0
  while (bytes < WHOLE_BYTES_MAX) {
    const next = await unread.next()
    if (next.done === true) return { start: Buffer.concat(gathered), isWhole: true }
    gathered.push(next.value)
    bytes += next.value.length
  }
  return { start: Buffer.concat(gathered), isWhole: false }
}

async function* resume(start: Buffer, unread: AsyncIterator<Buffer>): AsyncIterable<Buffer> {
  yield start
  for (let next = await unread.next(); next.done !== true; next = await unread.next()) {
    if (next.value.length > 0) yield next.value
  }
}
