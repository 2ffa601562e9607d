// Where a line is broken: where the sensor was silent for much longer than usual around that time.
// An empty bucket alone is not a gap: a sensor that sends every ten minutes leaves nine of ten
// minutes empty. A bucket knows how long it was silent; for days, look at the counts.

/**
 * @import { History } from './history.js'
 */

const USUAL_SILENCES_OF_A_GAP = 3
const BUCKETS_AROUND = 8
const GAP_MS_MIN = 1_000
const DAY_MS = 86_400_000
/** A local day may have 23 hours. */
const WHOLE_BUCKET = 0.9

/**
 * The points preceded by a gap.
 *
 * @param {Pick<History, 'startsMs' | 'bucketMs' | 'counts'>} history
 * @returns {boolean[]}
 */
export function gapsOf({ startsMs, bucketMs, counts }) {
  const stepsMs = startsMs.map((startMs, at) => startMs - (startsMs[at - 1] ?? startMs))
  const usualMs = usualSilences(stepsMs, counts)
  const isGap = stepsMs.map((stepMs, at) => {
    const silentMs = stepMs - bucketMs
    return silentMs >= WHOLE_BUCKET * bucketMs && isLong(silentMs, usualMs[at] ?? 0)
  })
  return bucketMs === DAY_MS ? alsoWithinDays(isGap, stepsMs, usualMs, counts) : isGap
}

/** @param {number} silentMs at least, between two points @param {number} usualMs */
function isLong(silentMs, usualMs) {
  return usualMs > 0 && silentMs >= GAP_MS_MIN && silentMs > USUAL_SILENCES_OF_A_GAP * usualMs
}

/**
 * How long the sensor is usually silent around each point: the longer of before and after, because
 * sensors change how often they send.
 *
 * @param {readonly number[]} stepsMs
 * @param {readonly number[]} counts
 */
function usualSilences(stepsMs, counts) {
  const silencesMs = stepsMs.map((stepMs, at) => stepMs / (counts[at] ?? 1))
  return silencesMs.map((_, at) =>
    Math.max(
      median(silencesMs.slice(Math.max(1, at - BUCKETS_AROUND), at)),
      median(silencesMs.slice(at + 1, at + 1 + BUCKETS_AROUND)),
    ),
  )
}

/**
 * Adds gaps between two days that have measurements but together miss a day's worth. Days next to a
 * gap or at an end are already known to be short.
 *
 * @param {readonly boolean[]} isGap
 * @param {readonly number[]} stepsMs
 * @param {readonly number[]} usualMs
 * @param {readonly number[]} counts
 */
function alsoWithinDays(isGap, stepsMs, usualMs, counts) {
  const isEnd = (/** @type {number} */ at) =>
    at === 0 || at === counts.length - 1 || isGap[at] === true || isGap[at + 1] === true
  const coveredMs = counts.map((count, at) => {
    return isEnd(at) ? DAY_MS : Math.min(DAY_MS, count * (usualMs[at] ?? DAY_MS))
  })
  const silentMs = stepsMs.map((stepMs, at) => {
    return at === 0 ? 0 : stepMs + DAY_MS - (coveredMs[at - 1] ?? 0) - (coveredMs[at] ?? 0)
  })
  return isGap.map((isKnown, at) => {
    if (isKnown) return true
    const ms = silentMs[at] ?? 0
    const isLongest = ms >= (silentMs[at - 1] ?? 0) && ms > (silentMs[at + 1] ?? 0)
    return isLongest && ms >= WHOLE_BUCKET * DAY_MS && isLong(ms, usualMs[at] ?? 0)
  })
}

/** 0 for an empty array. @param {number[]} numbers */
function median(numbers) {
  return numbers.sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0
}
