// A sensor's history as columns: made from a response, joined with a newer part, broken at its
// gaps, summed up, and looked up by time.

import { gapsOf } from './gaps.js'

/**
 * @import { HistoryAnswer } from './api.js'
 * @typedef {{
 *   readonly compensation: number, readonly bucket: string, readonly bucketMs: number,
 *   readonly isComplete: boolean, readonly asOfMs: number | undefined,
 *   readonly startsMs: readonly number[], readonly means: readonly number[],
 *   readonly mins: readonly number[], readonly maxs: readonly number[],
 *   readonly counts: readonly number[],
 * }} History `bucketMs` is 0 for single measurements; `startsMs` are the buckets' starts
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
 * The point at a time: the nearest one, unless the time is in a gap or before or after everything.
 *
 * @param {History} history
 * @param {readonly boolean[]} gaps of the history
 * @param {number} atMs
 * @param {number} nearMs a point within this distance always counts
 * @returns {number | undefined} its index
 */
export function pointAt({ startsMs, bucketMs }, gaps, atMs, nearMs) {
  const startMs = atMs - bucketMs / 2
  let [low, high] = [0, startsMs.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((startsMs[middle] ?? 0) < startMs) low = middle + 1
    else high = middle
  }
  const awayMs = (/** @type {number} */ at) => Math.abs((startsMs[at] ?? Infinity) - startMs)
  const nearest = awayMs(low - 1) < awayMs(low) ? low - 1 : low
  const isBetween = low > 0 && low < startsMs.length && gaps[low] !== true
  return isBetween || awayMs(nearest) <= Math.max(nearMs, bucketMs / 2) ? nearest : undefined
}

/**
 * A history in a few numbers; `undefined` if it is empty. `mean` is over time, because a sensor
 * that sends more often while warm is not warmer for it; `meanOfAll` is over all measurements.
 * `lowestAt` and `highestAt` are indexes.
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

/**
 * How long each point stands for: half the distance to its neighbours, or to the end of its bucket
 * at a gap.
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

/** The key under which the last day is kept. @param {number} sensorId */
export function lastDayKey(sensorId) {
  return `last-day/${sensorId}`
}

/**
 * @typedef {{ fromMs: number, toMs: number, bucket?: string, tz?: string | undefined }} Question
 * @param {number} sensorId
 * @param {Question} question
 */
export function historyPath(sensorId, question) {
  return `/sensors/${sensorId}/measurements?${historyQuery(question).toString()}`
}

/** @param {Question} question */
export function historyQuery({ fromMs, toMs, bucket, tz }) {
  return new URLSearchParams({
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    ...(bucket !== undefined && { bucket }),
    ...(tz !== undefined && { tz }),
  })
}

/**
 * @param {HistoryAnswer} answer
 * @param {number | undefined} asOfMs
 * @returns {History & { fromMs: number }}
 */
export function columnsOf({ sensor, from, bucket, complete, points }, asOfMs) {
  return {
    compensation: sensor.compensation,
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
 * A history with another compensation applied.
 *
 * @param {History} history
 * @param {number} compensation
 * @returns {History}
 */
export function compensated(history, compensation) {
  const by = compensation - history.compensation
  const moved = (/** @type {readonly number[]} */ column) => column.map((celsius) => celsius + by)
  const { means, mins, maxs } = history
  return { ...history, compensation, means: moved(means), mins: moved(mins), maxs: moved(maxs) }
}

/**
 * A history with its end replaced by a newer part.
 *
 * @param {History} known
 * @param {History} tail
 * @param {{ fromMs: number, tailMs: number }} bounds data before the first are dropped, and known
 *   data from the second on are replaced
 * @returns {History}
 */
export function joined(known, tail, { fromMs, tailMs }) {
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
