// Reads a chart's histories: one sensor's, or several in one request.

import { get, getOrKept } from './api.js'
import { TIME_ZONE } from './format.js'
import { columnsOf, historyPath, historyQuery, joined, lastDayKey } from './history.js'
import { livePeriod, periodName } from './period.js'

/**
 * @import { HistoryAnswer, SeriesAnswer } from './api.js'
 * @import { History, Question } from './history.js'
 * @import { Period } from './period.js'
 */

const DAY_MS = 86_400_000
const LAST_DAY = periodName(livePeriod(DAY_MS, DAY_MS))

/**
 * @param {readonly number[]} sensorIds
 * @param {Period} period
 * @param {AbortSignal} signal
 * @returns {Promise<History[]>} in the order of the ids
 */
export async function readHistories(sensorIds, period, signal) {
  const { fromMs, toMs } = period
  const path = pathOf(sensorIds, { fromMs, toMs, tz: TIME_ZONE })
  /** @type {{ data: HistoryAnswer | SeriesAnswer, asOfMs: number | undefined }} */
  const { data, asOfMs } = await getOrKept(path, keysOf(sensorIds, periodName(period)), signal)
  return historiesOf(data, asOfMs)
}

/**
 * Reads histories again from where they have changed, or from their last points on, and joins both
 * parts.
 *
 * @param {readonly number[]} sensorIds
 * @param {readonly History[]} known
 * @param {Period & { changedFromMs: number }} period and from when known data may differ
 * @param {AbortSignal} signal
 * @returns {Promise<History[]>}
 */
export async function readOn(sensorIds, known, { fromMs, toMs, changedFromMs }, signal) {
  const { bucket = '', bucketMs = 0 } = known[0] ?? {}
  const lastMs = Math.min(...known.map(({ startsMs }) => startsMs.at(-1) ?? fromMs))
  const tailMs = Math.max(fromMs, Math.min(lastMs, changedFromMs))
  const tz = bucket === 'day' ? TIME_ZONE : undefined
  const path = pathOf(sensorIds, { fromMs: tailMs, toMs, bucket, tz })
  const tails = historiesOf(await get(path, signal), undefined)
  return tails.map((tail, at) => {
    const before = known[at] ?? tail
    return joined(before, tail, { fromMs: fromMs - bucketMs, tailMs: tail.fromMs })
  })
}

/** @param {readonly number[]} sensorIds @param {Question} question */
function pathOf(sensorIds, question) {
  const [id = 0] = sensorIds
  if (sensorIds.length === 1) return historyPath(id, question)
  return `/measurements?sensors=${sensorIds.join()}&${historyQuery(question).toString()}`
}

/**
 * The key to keep the response under, then keys to fall back to: for one sensor, the dashboard's
 * small line is better than nothing.
 *
 * @param {readonly number[]} sensorIds
 * @param {string} name of the period
 * @returns {[string, ...string[]]}
 */
function keysOf(sensorIds, name) {
  const [id = 0] = sensorIds
  const coarser = sensorIds.length === 1 && name === LAST_DAY ? [lastDayKey(id)] : []
  return [`history/${sensorIds.join()}/${name}`, ...coarser]
}

/** @param {HistoryAnswer | SeriesAnswer} answer @param {number | undefined} asOfMs */
function historiesOf(answer, asOfMs) {
  if (!('series' in answer)) return [columnsOf(answer, asOfMs)]
  return answer.series.map((series) => columnsOf({ ...answer, ...series }, asOfMs))
}
