// The history of one sensor, or of several in one response: reads the question, then responds 304
// if nothing has changed, else with the points in the format that the client accepts.

import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'
import type { ResolvedQuestion } from '../../domain/history.ts'
import type { Sensor } from '../../domain/sensor.ts'
import { refuseTooManyBuckets, resolveQuestion } from '../../history/buckets.ts'
import { historyVersion } from '../../history/read-history.ts'
import type { Sensors } from '../../sensors/sensors.ts'
import type { ApiCall, SensorCall } from '../call/call.ts'
import { answerHistories } from '../answers/history-answer.ts'
import type { Histories } from '../answers/history-answer.ts'
import { checkParameters, none, readInstant, readParameters } from '../routes/input.ts'
import type { Input } from '../routes/input.ts'

export const historyQuery: Input<ResolvedQuestion> = {
  ...none,
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
function readQuestion(
  parameters: Readonly<Record<string, string>>,
  nowMs: number,
  found: RequestFault[],
): ResolvedQuestion {
  const { from, to, bucket, tz, fill } = checkParameters(parameters, 'history-query', found)
  const fromMs = readInstant('from', from, found)
  const toMs = readInstant('to', to, found)
  const isSound = (name: string) => !found.some(({ pointer }) => pointer === `/${name}`)
  // A period with an invalid end cannot be checked.
  const hasPeriod = isSound('from') && isSound('to')
  const question = {
    ...(hasPeriod && fromMs !== undefined && { fromMs }),
    ...(hasPeriod && toMs !== undefined && { toMs }),
    ...(bucket !== undefined && isSound('bucket') && { bucket }),
    ...(tz !== undefined && isSound('tz') && { timeZone: tz }),
    isFilled: fill !== undefined && isSound('fill'),
  }
  return resolveQuestion(question, nowMs, found)
}

export function getHistory(histories: Histories) {
  return (call: SensorCall, question: ResolvedQuestion): Promise<void> => {
    const { sensor } = call
    const asked = { question, version: historyVersion(sensor, question) }
    return answerHistories(call, histories, asked, async (format) => {
      const history = await histories.history.read(sensor, question)
      return { isComplete: history.isComplete, pieces: format.one(history) }
    })
  }
}

interface SeriesQuestion {
  /** In the requested order. */
  readonly sensors: readonly Sensor[]
  readonly question: ResolvedQuestion
}

/** One question, asked of several sensors. */
export function seriesQuery(sensors: Sensors): Input<SeriesQuestion> {
  return {
    ...none,
    querySchema: 'series-query',
    read: async ({ query, receivedAtMs, principal }) => {
      const found: RequestFault[] = []
      const faults: RequestFault[] = []
      const { sensors: given, ...parameters } = readParameters(query, found)
      const named = given === undefined ? {} : { sensors: given }
      const { sensors: ids = '' } = checkParameters(named, 'series-query', faults)
      // Like a sensor in a path: a sensor that is not the caller's is reported before other faults.
      const asked = faults.length === 0 ? await findAll(sensors, principal.user.id, ids) : []
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

export function getSeries(histories: Histories) {
  return (call: ApiCall, { sensors, question }: SeriesQuestion): Promise<void> => {
    const version = sensors.map((sensor) => historyVersion(sensor, question)).join(' ')
    const asked = { question, version: `series ${version}` }
    return answerHistories(call, histories, asked, async (format) => {
      const read = await histories.history.readSeveral(sensors, question)
      const isComplete = read.every((history) => history.isComplete)
      return { isComplete, pieces: format.several(read, question) }
    })
  }
}
