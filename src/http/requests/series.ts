// Histories of several sensors in one response: one question, asked of each.

import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'
import type { ResolvedQuestion } from '../../domain/history.ts'
import type { Sensor } from '../../domain/sensor.ts'
import { refuseTooManyBuckets } from '../../history/buckets.ts'
import { historyVersion } from '../../history/read-history.ts'
import type { HistoryReader } from '../../history/read-history.ts'
import type { Sensors } from '../../sensors/sensors.ts'
import type { ApiCall } from '../call.ts'
import { answerHistories } from '../answers/history-answer.ts'
import type { LongAnswers } from '../answers/long-answers.ts'
import { noBody } from '../body/gate.ts'
import { allFaultsIn, isSeriesQuery } from '../body/validate.ts'
import { readQuestion } from './history.ts'
import { readParameters } from '../input.ts'
import type { Input } from '../input.ts'

interface SeriesQuestion {
  /** In the requested order. */
  readonly sensors: readonly Sensor[]
  readonly question: ResolvedQuestion
}

export function seriesQuery(sensors: Sensors): Input<SeriesQuestion> {
  return {
    bounds: noBody,
    querySchema: 'series-query',
    read: async ({ query, receivedAtMs, principal }) => {
      const found: RequestFault[] = []
      const { sensors: ids, ...parameters } = readParameters(query, found)
      const faults = allFaultsIn(isSeriesQuery, ids === undefined ? {} : { sensors: ids })
      const isSound = faults.length === 0 && ids !== undefined
      // Like a sensor in a path: a sensor that is not the caller's is reported before other faults.
      const asked = isSound ? await findAll(sensors, principal.user.id, ids) : []
      const question = readQuestion(parameters, receivedAtMs, [...found, ...faults])
      refuseTooManyBuckets(question, asked.length)
      return { sensors: asked, question }
    },
  }
}

/** @throws ServiceError `sensor_not_found`, naming each that is not the user's */
async function findAll(sensors: Sensors, userId: number, ids: string): Promise<Sensor[]> {
  const faults: RequestFault[] = []
  const found: Sensor[] = []
  for (const id of ids.split(',')) {
    const sensor = await sensors.find(userId, Number(id))
    if (sensor !== undefined) found.push(sensor)
    else
      faults.push({
        pointer: '/sensors',
        code: 'sensor_not_found',
        detail: `${id} is not one of your sensors`,
      })
  }
  if (faults.length > 0) throw new ServiceError('sensor_not_found', { faults })
  return found
}

export function getSeries(reader: HistoryReader, longAnswers: LongAnswers) {
  return ({ ctx, principal }: ApiCall, { sensors, question }: SeriesQuestion): Promise<void> => {
    const version = sensors.map((sensor) => historyVersion(sensor, question)).join(' ')
    const asked = { userId: principal.user.id, question, version: `series ${version}` }
    return answerHistories(ctx, asked, longAnswers, async (format) => {
      const histories = await reader.readSeveral(sensors, question)
      const isComplete = histories.every((history) => history.isComplete)
      return { isComplete, pieces: format.several(histories, question) }
    })
  }
}
