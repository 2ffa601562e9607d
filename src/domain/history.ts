// Histories: their resolutions, and the shapes of their points.

import { DAY_MS, HOUR_MS, MINUTE_MS } from './time.ts'
import type { TimeRange } from './time.ts'

/** The resolution of a history: every measurement, or one point per window. */
export type Bucket = 'raw' | 'minute' | '5min' | '15min' | 'hour' | 'day'

/** The windows of each bucket; `day` with a time zone has local days instead. */
export const WINDOW_MS: Readonly<Record<Exclude<Bucket, 'raw'>, number>> = {
  minute: MINUTE_MS,
  '5min': 5 * MINUTE_MS,
  '15min': 15 * MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
}

/** A question as asked: omitted values get their defaults when the question is resolved. */
export interface HistoryQuestion {
  readonly fromMs?: number
  readonly toMs?: number
  readonly bucket?: Bucket | 'auto'
  /** An IANA time zone; only with `day` and `auto`. */
  readonly timeZone?: string
  readonly isFilled: boolean
}

/**
 * A resolved question: all defaults applied, the ends on bucket edges. It depends only on the
 * question and the time of asking, never on data.
 */
export interface ResolvedQuestion {
  readonly fromMs: number
  readonly toMs: number
  readonly bucket: Bucket
  /**
   * The requested zone, else `UTC`. Days are in this zone; finer buckets are the same in all zones.
   */
  readonly timeZone: string
  /** Whether buckets without measurements are listed; never with `raw`. */
  readonly isFilled: boolean
}

/** One measurement of a history; `temp` is compensated. */
export interface MeasurementPoint {
  readonly measuredAtMs: number
  readonly temp: number
}

/** One bucket of a history, all of it compensated; `temp` is the mean. */
export interface BucketPoint {
  readonly startMs: number
  /** `null`, as `min` and `max`, when `count` is 0. */
  readonly temp: number | null
  readonly min: number | null
  readonly max: number | null
  readonly count: number
}

export type HistoryPoint = MeasurementPoint | BucketPoint

/** A measurement as submitted. */
export interface RawPoint {
  readonly measuredAtMs: number
  readonly rawCelsius: number
}

/** A stored measurement, as histories read it. */
export interface StoredPoint extends RawPoint {
  readonly sensorId: number
}

/** The summary of one window's measurements [startMs, startMs + length); count ≥ 1. */
export interface WindowSummary {
  readonly sensorId: number
  readonly startMs: number
  readonly count: number
  readonly sum: number
  readonly min: number
  readonly max: number
}

/** What a summary consists of. */
export const SUMMARY_VALUES = ['count', 'max', 'min', 'sum'] as const

export type SummaryValue = (typeof SUMMARY_VALUES)[number]

/** Which measurement of a range; of equal ones the first. */
export type Selector = 'first' | 'last' | 'min' | 'max'

/** A range of the stored measurements of some sensors. */
export interface SeriesRange extends TimeRange {
  /** Each once. */
  readonly sensorIds: readonly number[]
  /** What is needed of summaries besides the count, all by default; the rest may be NaN. */
  readonly needed?: ReadonlySet<SummaryValue>
  /** Whether a summary may be of several of the sensors; it has the id of any of them. */
  readonly areOne?: boolean
}

/** How many measurements the summaries are of. */
export async function countMeasurements(
  summaries: AsyncIterable<readonly WindowSummary[]>,
): Promise<number> {
  let measurements = 0
  for await (const chunk of summaries) {
    for (const { count } of chunk) measurements += count
  }
  return measurements
}

/** Two summaries combined; the result starts where the first does. */
function mergeSummaries(first: WindowSummary, second: WindowSummary): WindowSummary {
  return {
    sensorId: first.sensorId,
    startMs: first.startMs,
    count: first.count + second.count,
    sum: first.sum + second.sum,
    min: Math.min(first.min, second.min),
    max: Math.max(first.max, second.max),
  }
}

/**
 * Folds windows into coarser ones.
 *
 * @param chunks those of each sensor in ascending order, as are the folded ones
 * @param startOf start of the coarse window that contains a fine one
 */
export async function* foldWindows(
  chunks: AsyncIterable<readonly WindowSummary[]>,
  startOf: (startMs: number) => number,
): AsyncIterable<readonly WindowSummary[]> {
  const open = new Map<number, WindowSummary>()
  for await (const chunk of chunks) {
    const folded: WindowSummary[] = []
    for (const fine of chunk) {
      const startMs = startOf(fine.startMs)
      const last = open.get(fine.sensorId)
      const isInLast = last?.startMs === startMs
      if (last !== undefined && !isInLast) folded.push(last)
      open.set(fine.sensorId, isInLast ? mergeSummaries(last, fine) : { ...fine, startMs })
    }
    if (folded.length > 0) yield folded
  }
  if (open.size > 0) yield [...open.values()]
}
