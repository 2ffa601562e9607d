// Turns a question as asked into a definite one: applies defaults, checks bounds, resolves `auto`,
// moves the ends to bucket edges. Pure: it depends on the question and the time of asking, never on
// data, which makes a bucket the same in every response that shows it.

import { ServiceError } from '../domain/errors.ts'
import type { RequestFault } from '../domain/errors.ts'
import { WINDOW_MS } from '../domain/history.ts'
import type { Bucket, HistoryQuestion, ResolvedQuestion } from '../domain/history.ts'
import {
  autoPointsMax,
  filledPointsMax,
  rawPeriodMsMax,
  seriesBucketsMax,
} from '../domain/limits.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, floorToWindow, formatInstant } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import { LocalDays, isTimeZone } from './local-days.ts'

type Window = Exclude<Bucket, 'raw'>

export const UTC = 'UTC'
const DEFAULT_PERIOD_MS = DAY_MS

/** `auto` shows every measurement of a period up to this. */
const AUTO_RAW_PERIOD_MS_MAX = HOUR_MS

/** Finest first. */
const WINDOWS: readonly Window[] = ['minute', '5min', '15min', 'hour', 'day']

/** Where the buckets of an answer begin and end. */
export interface BucketGrid {
  /** Start of the bucket that holds `atMs`. */
  startOf(atMs: number): number
  /** Start of the bucket after it. */
  stopOf(atMs: number): number
  /** How many buckets the range touches, at most. */
  countOf(range: TimeRange): number
}

/** The grid of windows of one length: the UTC epoch grid, or days of a zone that is not UTC. */
export function windowGrid(windowMs: number, timeZone: string): BucketGrid {
  return hasLocalDays(windowMs, timeZone) ? new LocalDays(timeZone) : epochGrid(windowMs)
}

/** Whether windows are days of a zone and not windows on the UTC epoch grid. */
export function hasLocalDays(windowMs: number, timeZone: string): boolean {
  return windowMs === DAY_MS && timeZone !== UTC
}

/**
 * Makes a question definite.
 *
 * @param found faults of form, reported together with those found here
 *
 * `auto` accepts a time zone and `fill` whatever it resolves to: below days the zone changes
 * nothing, and raw measurements have no buckets to fill.
 *
 * @throws ServiceError `validation_failed`, with every fault found: `from_not_before_to`,
 *   `unknown_time_zone`, `time_zone_not_allowed`, `fill_not_allowed`
 * @throws ServiceError `range_too_large` with `max_period` and, where one fits, `suggested_bucket`
 */
export function resolveQuestion(
  question: HistoryQuestion,
  nowMs: number,
  found: readonly RequestFault[] = [],
): ResolvedQuestion {
  const range = rangeOf(question, nowMs)
  const faults = [...found, ...rangeFaults(range), ...zoneFaults(question), ...fillFaults(question)]
  if (faults.length > 0) {
    const detail = 'The query parameters are not valid.'
    throw new ServiceError('validation_failed', { detail, faults })
  }
  const asked = question.bucket ?? 'auto'
  const bucket = asked === 'auto' ? automaticBucket(range) : asked
  const timeZone = question.timeZone ?? UTC
  if (bucket === 'raw') return resolveRaw(range, timeZone)
  return resolveWindows(range, { bucket, timeZone, isFilled: question.isFilled })
}

function rangeOf({ fromMs, toMs }: HistoryQuestion, nowMs: number): TimeRange {
  const stopMs = toMs ?? floorToWindow(nowMs, MINUTE_MS) + MINUTE_MS
  return { startMs: fromMs ?? stopMs - DEFAULT_PERIOD_MS, stopMs }
}

function resolveRaw({ startMs, stopMs }: TimeRange, timeZone: string): ResolvedQuestion {
  if (stopMs - startMs > rawPeriodMsMax) {
    throw rangeTooLarge('raw', rawPeriodMsMax, automaticBucket({ startMs, stopMs }))
  }
  return { fromMs: startMs, toMs: stopMs, bucket: 'raw', timeZone, isFilled: false }
}

interface WindowsAsked {
  readonly bucket: Window
  readonly timeZone: string
  readonly isFilled: boolean
}

function resolveWindows(range: TimeRange, asked: WindowsAsked): ResolvedQuestion {
  const { bucket, isFilled } = asked
  const grid = windowGrid(WINDOW_MS[bucket], asked.timeZone)
  if (isFilled && grid.countOf(range) > filledPointsMax) {
    const coarser = WINDOWS.slice(WINDOWS.indexOf(bucket) + 1)
    const suggested = finestThatFits(coarser, range, filledPointsMax)
    throw rangeTooLarge(bucket, filledPointsMax * WINDOW_MS[bucket], suggested)
  }
  const { startMs: fromMs, stopMs: toMs } = wholeWindows(range, grid)
  return { ...asked, fromMs, toMs }
}

/** The range with its ends moved out to edges of windows. */
export function wholeWindows({ startMs, stopMs }: TimeRange, grid: BucketGrid): TimeRange {
  const isOnEdge = grid.startOf(stopMs) === stopMs
  return { startMs: grid.startOf(startMs), stopMs: isOnEdge ? stopMs : grid.stopOf(stopMs) }
}

/** @throws ServiceError `range_too_large` when so many sensors have too many buckets together */
export function refuseTooManyBuckets(
  { fromMs, toMs, bucket, timeZone }: ResolvedQuestion,
  sensors: number,
): void {
  if (bucket === 'raw') return
  const range = { startMs: fromMs, stopMs: toMs }
  const bucketsMax = Math.floor(seriesBucketsMax / Math.max(1, sensors))
  if (windowGrid(WINDOW_MS[bucket], timeZone).countOf(range) <= bucketsMax) return
  const coarser = WINDOWS.slice(WINDOWS.indexOf(bucket) + 1)
  const suggested = finestThatFits(coarser, range, bucketsMax)
  throw rangeTooLarge(bucket, bucketsMax * WINDOW_MS[bucket], suggested)
}

function automaticBucket(range: TimeRange): Bucket {
  if (range.stopMs - range.startMs <= AUTO_RAW_PERIOD_MS_MAX) return 'raw'
  return finestThatFits(WINDOWS, range, autoPointsMax) ?? 'day'
}

function finestThatFits(
  windows: readonly Window[],
  range: TimeRange,
  pointsMax: number,
): Window | undefined {
  return windows.find((window) => epochGrid(WINDOW_MS[window]).countOf(range) <= pointsMax)
}

function epochGrid(windowMs: number): BucketGrid {
  return {
    startOf: (atMs) => floorToWindow(atMs, windowMs),
    stopOf: (atMs) => floorToWindow(atMs, windowMs) + windowMs,
    countOf: ({ startMs, stopMs }) => Math.ceil(stopMs / windowMs) - Math.floor(startMs / windowMs),
  }
}

function rangeFaults({ startMs, stopMs }: TimeRange): RequestFault[] {
  if (startMs < stopMs) return []
  const detail = `from (${formatInstant(startMs)}) must be before to (${formatInstant(stopMs)}).`
  return [{ pointer: '/from', code: 'from_not_before_to', detail }]
}

function zoneFaults({ timeZone, bucket = 'auto' }: HistoryQuestion): RequestFault[] {
  if (timeZone === undefined) return []
  const faults: RequestFault[] = []
  if (bucket !== 'day' && bucket !== 'auto') {
    const detail = `tz goes with bucket=day and bucket=auto, not with ${bucket}.`
    faults.push({ pointer: '/tz', code: 'time_zone_not_allowed', detail })
  }
  if (!isTimeZone(timeZone)) {
    const detail = 'tz must name a zone of the IANA time zone database, such as Europe/Berlin.'
    faults.push({ pointer: '/tz', code: 'unknown_time_zone', detail })
  }
  return faults
}

function fillFaults({ isFilled, bucket }: HistoryQuestion): RequestFault[] {
  if (!isFilled || bucket !== 'raw') return []
  const detail = 'raw has no buckets that could be empty; fill goes with the others.'
  return [{ pointer: '/fill', code: 'fill_not_allowed', detail }]
}

function rangeTooLarge(
  bucket: Bucket,
  periodMsMax: number,
  suggested: Bucket | undefined,
): ServiceError {
  const maxPeriod = formatDuration(periodMsMax)
  const remedy = suggested === undefined ? '' : ` ${suggested} would cover this one.`
  return new ServiceError('range_too_large', {
    detail: `The period is longer than ${maxPeriod}, the most for this with ${bucket}.${remedy}`,
    members: {
      max_period: maxPeriod,
      ...(suggested === undefined ? {} : { suggested_bucket: suggested }),
    },
  })
}

/** ISO 8601 in days, hours and minutes: `P7D`, `P6DT22H40M`. */
function formatDuration(durationMs: number): string {
  const days = Math.floor(durationMs / DAY_MS)
  const hours = Math.floor((durationMs % DAY_MS) / HOUR_MS)
  const minutes = Math.floor((durationMs % HOUR_MS) / MINUTE_MS)
  const time = (hours > 0 ? `${hours}H` : '') + (minutes > 0 ? `${minutes}M` : '')
  return `P${days}D${time === '' ? '' : `T${time}`}`
}
