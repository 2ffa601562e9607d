// Recognizes local time that was sent as UTC: all that a series has among refused entries is ahead
// of its receipt by the same multiple of a quarter of an hour, as time zones are.

import { HOUR_MS, MINUTE_MS } from '../domain/time.ts'
import type { RefusedEntry } from '../ports/refused.ts'

const STEP_MS = 15 * MINUTE_MS
/** UTC+14 is the time zone farthest ahead. */
const AHEAD_MS_MAX = 14 * HOUR_MS
/** What a reading takes to arrive, and what a clock may be off. */
const OFF_MS_MAX = 2 * MINUTE_MS
/** Fewer may be so by chance. */
const ENTRIES_MIN = 3

/** Measurement and tags, up to a space that is not escaped. */
const SERIES = /^(?:\\.|[^\\ ])*/s

type Refused = Pick<RefusedEntry, 'kind' | 'userId' | 'content' | 'receivedAtMs' | 'aheadAtMs'>

/** The entries of such series, each with how far it is ahead in milliseconds. */
export function findLocalTimes<Entry extends Refused>(
  entries: readonly Entry[],
): ReadonlyMap<Entry, number> {
  const found = new Map<Entry, number>()
  const ahead = entries.filter(({ aheadAtMs }) => aheadAtMs !== null)
  for (const ofSeries of Map.groupBy(ahead, seriesOf).values()) {
    const [aheadMs = 0, ...others] = new Set(ofSeries.map(zoneOf))
    if (ofSeries.length < ENTRIES_MIN || others.length > 0 || aheadMs === 0) continue
    for (const entry of ofSeries) found.set(entry, aheadMs)
  }
  return found
}

/** 0: it is ahead by no time zone's difference. */
function zoneOf({ receivedAtMs, aheadAtMs }: Refused): number {
  const aheadMs = (aheadAtMs ?? 0) - receivedAtMs
  const zoneMs = Math.round(aheadMs / STEP_MS) * STEP_MS
  return Math.abs(aheadMs - zoneMs) <= OFF_MS_MAX && zoneMs <= AHEAD_MS_MAX ? zoneMs : 0
}

function seriesOf({ kind, userId, content }: Refused): string {
  const series = kind === 'element' ? serialNumberOf(content) : SERIES.exec(content)?.[0]
  return JSON.stringify([userId, kind, series])
}

function serialNumberOf(element: string): unknown {
  return (JSON.parse(element) as { readonly sn?: unknown } | null)?.sn
}
