// Histories as responses, in the format that the client accepts.

import type { Context } from 'koa'
import type { ResolvedQuestion } from '../../domain/history.ts'
import type { HistoryReader } from '../../history/read-history.ts'
import { answerUnchanged, entityTag, isKnown } from '../call/call.ts'
import type { ApiCall } from '../call/call.ts'
import { HISTORY_FORMATS } from './history-text.ts'
import type { HistoryFormat } from './history-text.ts'
import { answerInPieces } from './long-answers.ts'
import type { LongAnswers } from './long-answers.ts'

export interface Histories {
  readonly history: HistoryReader
  readonly longAnswers: LongAnswers
}

interface AskedHistories {
  readonly question: ResolvedQuestion
  /** Differs whenever the response would differ. */
  readonly version: string
}

/** What a response needs from the store. */
interface HistoryAnswer {
  readonly isComplete: boolean
  /** The whole text, in order. */
  readonly pieces: AsyncIterable<Buffer>
}

/** Responds with histories, or with 304 if the client has them already. */
export async function answerHistories(
  { ctx, principal }: ApiCall,
  { longAnswers }: Histories,
  asked: AskedHistories,
  read: (format: HistoryFormat) => Promise<HistoryAnswer>,
): Promise<void> {
  const format = acceptedFormat(ctx)
  const tag = entityTag(`${format.name} ${asked.version}`)
  ctx.set('Cache-Control', 'private, no-cache')
  ctx.vary('Accept')
  if (isKnown(ctx, tag)) return answerUnchanged(ctx, tag)
  await answerInPieces(ctx, longAnswers, principal.user.id, async () => {
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
