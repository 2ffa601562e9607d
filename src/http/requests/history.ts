// The history of one sensor: reads the question, then responds 304 if nothing has changed, else
// with the points in the format that the client accepts.

import type { RequestFault } from '../../domain/errors.ts'
import type { HistoryQuestion, ResolvedQuestion } from '../../domain/history.ts'
import { resolveQuestion } from '../../history/buckets.ts'
import { historyVersion } from '../../history/read-history.ts'
import type { HistoryReader } from '../../history/read-history.ts'
import type { SensorCall } from '../call.ts'
import { answerHistories } from '../answers/history-answer.ts'
import type { LongAnswers } from '../answers/long-answers.ts'
import { noBody } from '../body/gate.ts'
import { allFaultsIn, isHistoryQuery } from '../body/validate.ts'
import { readInstant, readParameters } from '../input.ts'
import type { Input } from '../input.ts'

export const historyQuery: Input<ResolvedQuestion> = {
  bounds: noBody,
  querySchema: 'history-query',
  read: ({ query, receivedAtMs }) => {
    const found: RequestFault[] = []
    return readQuestion(readParameters(query, found), receivedAtMs, found)
  },
}

/**
 * The definite question in the query parameters. A fault in one parameter does not hide faults in
 * the others.
 *
 * @param found faults that are known already
 * @throws ServiceError as `resolveQuestion` does
 */
export function readQuestion(
  parameters: Readonly<Record<string, string>>,
  nowMs: number,
  found: RequestFault[],
): ResolvedQuestion {
  found.push(...allFaultsIn(isHistoryQuery, parameters))
  const { from, to, bucket, tz, fill } = parameters
  const fromMs = readInstant('from', from, found)
  const toMs = readInstant('to', to, found)
  const isSound = (name: string) => !found.some(({ pointer }) => pointer === `/${name}`)
  const hasBucket = bucket !== undefined && isSound('bucket')
  // A period with an invalid end cannot be checked.
  const hasPeriod = isSound('from') && isSound('to')
  const question = {
    ...(hasPeriod && fromMs !== undefined && { fromMs }),
    ...(hasPeriod && toMs !== undefined && { toMs }),
    ...(hasBucket && { bucket: bucket as NonNullable<HistoryQuestion['bucket']> }),
    ...(tz !== undefined && isSound('tz') && { timeZone: tz }),
    isFilled: fill !== undefined && isSound('fill'),
  }
  return resolveQuestion(question, nowMs, found)
}

export function getHistory(reader: HistoryReader, longAnswers: LongAnswers) {
  return ({ ctx, principal, sensor }: SensorCall, question: ResolvedQuestion): Promise<void> => {
    const version = historyVersion(sensor, question)
    const asked = { userId: principal.user.id, question, version }
    return answerHistories(ctx, asked, longAnswers, async (format) => {
      const history = await reader.read(sensor, question)
      return { isComplete: history.isComplete, pieces: format.one(history) }
    })
  }
}
