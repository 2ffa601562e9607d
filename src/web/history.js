// A sensor's history as columns for drawing: reads it, joins it with its newest part, breaks it at
// its gaps and sums it up.

import { get, getOrKept } from './api.js'
import { TIME_ZONE } from './format.js'
import { gapsOf } from './gaps.js'
import { livePeriod, periodName } from './period.js'

/**
 * @import { HistoryAnswer } from './api.js'
 * @import { Period } from './period.js'
 * @typedef {{
 *   readonly bucket: string, readonly bucketMs: number, readonly isComplete: boolean,
 *   readonly asOfMs: number | undefined, readonly startsMs: readonly number[],
 *   readonly means: readonly number[], readonly mins: readonly number[],
 *   readonly maxs: readonly number[], readonly counts: readonly number[],
 * }} History `bucketMs` is 0 for single measurements; starts are those of the buckets
 */

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
/** @type {Readonly<Record<string, number>>} */
const BUCKET_MS = {
  raw: 0,
  minute: MINUTE_MS,
  '5min': 5 * MINUTE_MS,
  '15min': 15 * MINUTE_MS,
  hour: 60 * MINUTE_MS,
  day: DAY_MS,
}
const LAST_DAY = periodName(livePeriod(DAY_MS, DAY_MS))

/**
 * @param {number} sensorId
 * @param {Period} period
 * @param {AbortSignal} signal
 * @returns {Promise<History>}
 */
export async function readHistory(sensorId, period, signal) {
  const { fromMs, toMs } = period
  const path = historyPath(sensorId, { fromMs, toMs, tz: TIME_ZONE })
  const name = periodName(period)
  const key = `history/${sensorId}/${name}`
  // The dashboard's small line is better than nothing.
  const coarser = name === LAST_DAY ? [lastDayKey(sensorId)] : []
  /** @type {{ data: HistoryAnswer, asOfMs: number | undefined }} */
  const { data, asOfMs } = await getOrKept(path, [key, ...coarser], signal)
  return columnsOf(data, asOfMs)
}

/**
 * Reads a history again from its last point on and puts the two together.
 *
 * @param {number} sensorId
 * @param {History} known
 * @param {Period & { changedFromMs: number }} period with from when on what is known may differ
 * @param {AbortSignal} signal
 */
export async function readOn(sensorId, known, { fromMs, toMs, changedFromMs }, signal) {
  const lastMs = known.startsMs.at(-1) ?? fromMs
  const tailMs = Math.max(fromMs, Math.min(lastMs, changedFromMs))
  const { bucket } = known
  const tz = bucket === 'day' ? TIME_ZONE : undefined
  const path = historyPath(sensorId, { fromMs: tailMs, toMs, bucket, tz })
  const tail = columnsOf(await get(path, signal), undefined)
  return joined(known, tail, { fromMs: fromMs - known.bucketMs, tailMs: tail.fromMs })
}

/**
 * Columns for a line that is broken at gaps: times of the middle of each bucket in milliseconds,
 * means, lowest, highest; `null` where the line ends.
 *
 * @param {History} history
 * @returns {[number[], (number | null)[], (number | null)[], (number | null)[]]}
 */
export function brokenAtGaps(history) {
  const { startsMs, bucketMs, means, mins, maxs } = history
  const gaps = gapsOf(history)
  /** @type {ReturnType<typeof brokenAtGaps>} */
  const [timesMs, middles, lows, highs] = [[], [], [], []]
  for (const [at, startMs] of startsMs.entries()) {
    if (gaps[at] === true) {
      timesMs.push((startMs + (startsMs[at - 1] ?? startMs) + bucketMs) / 2)
      middles.push(null)
      lows.push(null)
      highs.push(null)
    }
    timesMs.push(startMs + bucketMs / 2)
    middles.push(means[at] ?? null)
    lows.push(mins[at] ?? null)
    highs.push(maxs[at] ?? null)
  }
  return [timesMs, middles, lows, highs]
}

/**
 * What a history says in a few numbers; `undefined` when it is empty. `mean` is over time, because
 * a sensor that sends more often while it is warm is not warmer for it; `meanOfAll` is that of all
 * measurements. `lowestAt` and `highestAt` are indexes.
 *
 * @param {History} history
 */
export function summaryOf(history) {
  const { means, mins, maxs, counts } = history
  const total = sumOf(counts)
  if (total === 0) return undefined
  const meanOfAll = sumOf(means.map((mean, at) => mean * (counts[at] ?? 0))) / total
  const spansMs = spansOf(history)
  const wholeMs = sumOf(spansMs)
  const overTime = sumOf(means.map((mean, at) => mean * (spansMs[at] ?? 0))) / wholeMs
  const lowest = mins.reduce((least, min) => Math.min(least, min))
  const highest = maxs.reduce((most, max) => Math.max(most, max))
  return {
    mean: wholeMs === 0 ? meanOfAll : overTime,
    meanOfAll,
    lowest,
    lowestAt: mins.indexOf(lowest),
    highest,
    highestAt: maxs.indexOf(highest),
    total,
  }
}

/** How long each point stands for: half of the way to its neighbours, or to the end of its bucket
 * where there is a gap.
 *
 * @param {History} history
 */
function spansOf(history) {
  const { startsMs, bucketMs } = history
  const gaps = gapsOf(history)
  /** @param {number} at of the later of two neighbours */
  const wayMs = (at) => {
    const isOpen = at === 0 || at === startsMs.length || gaps[at] === true
    return isOpen ? bucketMs : (startsMs[at] ?? 0) - (startsMs[at - 1] ?? 0)
  }
  return startsMs.map((_, at) => (wayMs(at) + wayMs(at + 1)) / 2)
}

/** @param {readonly number[]} numbers */
function sumOf(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0)
}

/** What the last day is kept as. @param {number} sensorId */
export function lastDayKey(sensorId) {
  return `last-day/${sensorId}`
}

/**
 * @param {number} sensorId
 * @param {{ fromMs: number, toMs: number, bucket?: string, tz?: string | undefined }} question
 */
function historyPath(sensorId, { fromMs, toMs, bucket, tz }) {
  const query = new URLSearchParams({
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    ...(bucket !== undefined && { bucket }),
    ...(tz !== undefined && { tz }),
  })
  return `/sensors/${sensorId}/measurements?${query.toString()}`
}

/**
 * @param {HistoryAnswer} answer
 * @param {number | undefined} asOfMs
 * @returns {History & { fromMs: number }}
 */
export function columnsOf({ from, bucket, complete, points }, asOfMs) {
  return {
    bucket,
    bucketMs: BUCKET_MS[bucket] ?? 0,
    isComplete: complete,
    asOfMs,
    fromMs: Date.parse(from),
    startsMs: points.map(({ timestamp }) => Date.parse(timestamp)),
    means: points.map(({ temp }) => temp),
    mins: points.map(({ temp, min = temp }) => min),
    maxs: points.map(({ temp, max = temp }) => max),
    counts: points.map(({ count = 1 }) => count),
  }
}

/**
 * @param {History} known
 * @param {History} tail
 * @param {{ fromMs: number, tailMs: number }} bounds what is before the first is dropped, and what
 *   is known from the second on is replaced
 * @returns {History}
 */
function joined(known, tail, { fromMs, tailMs }) {
  const first = known.startsMs.findIndex((startMs) => startMs >= fromMs)
  const end = known.startsMs.findIndex((startMs) => startMs >= tailMs)
  const start = first === -1 ? known.startsMs.length : first
  /** @param {'startsMs' | 'means' | 'mins' | 'maxs' | 'counts'} column */
  const join = (column) => [
    ...known[column].slice(start, end === -1 ? undefined : Math.max(start, end)),
    ...tail[column],
  ]
  return {
    ...tail,
    startsMs: join('startsMs'),
    means: join('means'),
    mins: join('mins'),
    maxs: join('maxs'),
    counts: join('counts'),
  }
}
