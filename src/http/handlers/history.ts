// The history of one sensor: 304 when nothing has changed, else its points in the format that the
// client accepts. A short one is answered in one piece; a long one is streamed chunk by chunk, as
// fast as the client takes it. When the store fails in the middle the connection is cut: a body
// that ends as it should is a whole one.

import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { HistoryPoint, HistoryQuestion } from '../../domain/history.ts'
import { resolveQuestion } from '../../history/buckets.ts'
import { historyVersion } from '../../history/read-history.ts'
import type { History, HistoryReader } from '../../history/read-history.ts'
import type { SensorCall } from '../call.ts'
import { answerUnchanged, entityTag, isKnown } from '../entity-tag.ts'
import { HISTORY_FORMATS } from '../history-text.ts'
import type { HistoryFormat } from '../history-text.ts'

/** What is gathered before an answer is sent as a stream. */
const WHOLE_CHARACTERS_MAX = 256 * 1024

export function getHistory(reader: HistoryReader) {
  return async (call: SensorCall, asked: HistoryQuestion): Promise<void> => {
    const { ctx, sensor } = call
    const question = resolveQuestion(asked, call.receivedAtMs)
    const format = acceptedFormat(ctx)
    const version = `${format.name} ${historyVersion(sensor, question)}`
    const tag = entityTag(version)
    ctx.set('Cache-Control', 'private, no-cache')
    ctx.vary('Accept')
    if (isKnown(ctx, tag)) return answerUnchanged(ctx, tag)
    const history = await reader.read(sensor, question)
    // An incomplete answer changes without a change of the data.
    if (history.isComplete) ctx.set('ETag', tag)
    // The formats without an envelope have no other place for these two.
    ctx.set('Thermolog-Bucket', question.bucket)
    ctx.set('Thermolog-Complete', String(history.isComplete))
    await answer(ctx, history, format)
  }
}

function acceptedFormat(ctx: Context): HistoryFormat {
  const types = [...HISTORY_FORMATS.keys()]
  // What the client accepts may be none of them; it gets the first, as one does that accepts all.
  const accepted = ctx.accepts(types) || types[0]
  const format = HISTORY_FORMATS.get(accepted ?? '')
  if (format === undefined) throw new Error('BUG: no format of history')
  return format
}

async function answer(ctx: Context, history: History, format: HistoryFormat): Promise<void> {
  const chunks = history.points[Symbol.asyncIterator]()
  const write = format.pointWriter()
  let text = format.head(history)
  ctx.status = 200
  ctx.set('Content-Type', format.contentType)
  while (text.length < WHOLE_CHARACTERS_MAX) {
    const next = await chunks.next()
    if (next.done === true) {
      ctx.body = text + format.tail
      return
    }
    text += write(next.value)
  }
  if (ctx.method === 'HEAD') {
    await chunks.return?.()
    ctx.res.removeHeader('Content-Length')
    return
  }
  const stream = Readable.from(textOf({ text, chunks, write, tail: format.tail }), {
    // One string of a chunk is more than enough to wait for the client with.
    highWaterMark: 1,
  })
  stream.once('close', () => void chunks.return?.())
  // Through a compressor an error would not reach the answer by itself.
  stream.once('error', () => ctx.res.destroy())
  ctx.body = stream
}

interface Unsent {
  /** What has been gathered. */
  readonly text: string
  readonly chunks: AsyncIterator<readonly HistoryPoint[]>
  readonly write: (points: readonly HistoryPoint[]) => string
  readonly tail: string
}

async function* textOf({ text, chunks, write, tail }: Unsent): AsyncIterable<Buffer> {
  yield Buffer.from(text)
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
    const part = write(next.value)
    if (part !== '') yield Buffer.from(part)
  }
  if (tail !== '') yield Buffer.from(tail)
}
