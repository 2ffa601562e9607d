// The history of one sensor: the question that is asked, then 304 when nothing has changed, else
// its points in the format that the client accepts. A short one is answered in one piece; a long
// one is streamed chunk by chunk, as fast as the client takes it. When the store fails in the
// middle the connection is cut: a body that ends as it should is a whole one.

import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { RequestFault } from '../../domain/errors.ts'
import type { HistoryPoint, HistoryQuestion, ResolvedQuestion } from '../../domain/history.ts'
import { parseInstant } from '../../domain/time.ts'
import type { EpochMs } from '../../domain/time.ts'
import { resolveQuestion } from '../../history/buckets.ts'
import { historyVersion } from '../../history/read-history.ts'
import type { History, HistoryReader } from '../../history/read-history.ts'
import type { SensorCall } from '../answers/call.ts'
import { answerUnchanged, entityTag, isKnown } from '../answers/entity-tag.ts'
import { HISTORY_FORMATS } from '../answers/history-text.ts'
import type { HistoryFormat } from '../answers/history-text.ts'
import { allFaultsIn } from '../body/faults.ts'
import { isHistoryQuery } from '../body/validate.ts'
import { readParameters } from './parameters.ts'
import type { Input } from './routes.ts'
import { notAnInstant, throwFaults } from './values.ts'

/** Periods may be widened by a day and must still be of years with four digits. */
const FIRST_ASKED_MS = Date.parse('0001-01-03T00:00:00Z')
const LAST_ASKED_MS = Date.parse('9999-12-29T00:00:00Z')

/** What is gathered before an answer is sent as a stream. */
const WHOLE_BYTES_MAX = 128 * 1024

export const historyQuery: Input<ResolvedQuestion> = {
  place: 'query',
  schema: 'history-query',
  read: ({ query, receivedAtMs }) => readQuestion(query, receivedAtMs),
}

/**
 * The definite question that query parameters ask. What is wrong with one parameter does not hide
 * what is wrong with the others.
 *
 * @throws ServiceError as `resolveQuestion` does
 */
function readQuestion(query: string, nowMs: EpochMs): ResolvedQuestion {
  const found: RequestFault[] = []
  const parameters = readParameters(query, found)
  found.push(...allFaultsIn(isHistoryQuery, parameters))
  const { from, to, bucket, tz, fill } = parameters
  const fromMs = readInstantParameter('from', from, found)
  const toMs = readInstantParameter('to', to, found)
  const isSound = (name: string) => !found.some(({ pointer }) => pointer === `/${name}`)
  const hasBucket = bucket !== undefined && isSound('bucket')
  const question = {
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
    ...(hasBucket && { bucket: bucket as NonNullable<HistoryQuestion['bucket']> }),
    ...(tz !== undefined && isSound('tz') && { timeZone: tz }),
    isFilled: fill !== undefined && isSound('fill'),
  }
  // A period of which one end is not known cannot be judged.
  if (!isSound('from') || !isSound('to')) throwFaults(found)
  return resolveQuestion(question, nowMs, found)
}

function readInstantParameter(
  name: string,
  text: string | undefined,
  faults: RequestFault[],
): number | undefined {
  const atMs = text === undefined ? undefined : parseInstant(text)
  if (text !== undefined && atMs === undefined) faults.push(notAnInstant(`/${name}`))
  if (atMs !== undefined && !(atMs >= FIRST_ASKED_MS && atMs <= LAST_ASKED_MS)) {
    const detail = 'must lie between the years 1 and 9999'
    faults.push({ pointer: `/${name}`, code: 'format', detail })
  }
  return atMs
}

export function getHistory(reader: HistoryReader) {
  return async (call: SensorCall, question: ResolvedQuestion): Promise<void> => {
    const { ctx, sensor } = call
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
  let whole = Buffer.from(format.head(history))
  ctx.status = 200
  ctx.set('Content-Type', format.contentType)
  while (whole.length < WHOLE_BYTES_MAX) {
    const next = await chunks.next()
    if (next.done === true) {
      ctx.body = Buffer.concat([whole, Buffer.from(format.tail)])
      return
    }
    whole = Buffer.concat([whole, write(next.value)])
  }
  if (ctx.method === 'HEAD') {
    await chunks.return?.()
    ctx.res.removeHeader('Content-Length')
    return
  }
  const stream = Readable.from(bytesOf({ whole, chunks, write, tail: format.tail }), {
    // One chunk is more than enough to wait for the client with.
    highWaterMark: 1,
  })
  stream.once('close', () => void chunks.return?.())
  // Through a compressor an error would not reach the answer by itself.
  stream.once('error', () => ctx.res.destroy())
  ctx.body = stream
}

interface Unsent {
  /** What has been gathered. */
  readonly whole: Buffer
  readonly chunks: AsyncIterator<readonly HistoryPoint[]>
  readonly write: (points: readonly HistoryPoint[]) => Buffer
  readonly tail: string
}

async function* bytesOf({ whole, chunks, write, tail }: Unsent): AsyncIterable<Buffer> {
  yield whole
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
    const part = write(next.value)
    if (part.length > 0) yield part
  }
  if (tail !== '') yield Buffer.from(tail)
}
