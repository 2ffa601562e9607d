// RateCounters on PostgreSQL: each process counts in memory, adds what it has counted to the shared
// sums a few times a second, and gets them back. With the database away each goes on by itself.

import { MINUTE_MS } from '../../domain/time.ts'
import type {
  RateAllowance,
  RateCounter,
  RateCounters,
  RateState,
} from '../../ports/rate-counters.ts'
import type { Clock, Log } from '../../ports/system.ts'
import type { Database } from '../server/database.ts'

/** Twice of it, and two statements, are less than the half second that is promised. */
const SHARE_EVERY_MS = 150
const SWEEP_EVERY_MS = MINUTE_MS
const SWEPT_AT_ONCE = 10_000

interface Window {
  readonly counter: string
  readonly key: string
  readonly windowMs: number
  /** By the monotonic clock. */
  untilMs: number
  /** As the database said last: those of all processes. */
  sharedPoints: number
  /** Counted here, and not there yet. */
  ownPoints: number
}

interface SharedWindow {
  readonly counter: string
  readonly key: string
  readonly points: number
  readonly leftMs: number
}

const LEFT = `(extract(epoch FROM r.until - clock_timestamp()) * 1000)::float8 AS "leftMs"`
// Always locked in the same order, so that no two transactions deadlock.
const ADD = `
  INSERT INTO rate_use AS r (counter, key, until, points)
  SELECT counter, key, clock_timestamp() + window_ms * interval '1 millisecond', points
  FROM unnest($1::text[], $2::text[], $3::float8[], $4::bigint[])
    u (counter, key, window_ms, points)
  ORDER BY counter, key
  ON CONFLICT (counter, key) DO UPDATE SET
    points = excluded.points + CASE WHEN r.until > clock_timestamp() THEN r.points ELSE 0 END,
    until = CASE WHEN r.until > clock_timestamp() THEN r.until ELSE excluded.until END
  RETURNING r.counter, r.key, r.points, ${LEFT}`
const READ = `
  SELECT r.counter, r.key, r.points, ${LEFT}
  FROM unnest($1::text[], $2::text[]) u (counter, key) JOIN rate_use r USING (counter, key)
  WHERE r.until > clock_timestamp()`
const SWEEP = `
  DELETE FROM rate_use WHERE (counter, key) IN (
    SELECT counter, key FROM rate_use WHERE until < clock_timestamp()
    ORDER BY until LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED)`

export class PostgresRateCounters implements RateCounters {
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: Log
  readonly #windows = new Map<string, Window>()
  /** Since the last exchange. */
  readonly #touched = new Set<Window>()
  #timer: NodeJS.Timeout | undefined
  #sweptAtMs: number
  #isAway = false

  constructor(of: { readonly database: Database; readonly clock: Clock; readonly log: Log }) {
    this.#database = of.database
    this.#clock = of.clock
    this.#log = of.log
    this.#sweptAtMs = of.clock.monotonicMs()
  }

  open(name: string, allowance: RateAllowance): RateCounter {
    return { count: async (key, points) => this.#count(name, allowance, String(key), points) }
  }

  /** What is counted from here on stays in this process. */
  close(): void {
    clearTimeout(this.#timer)
    this.#touched.clear()
  }

  #count(counter: string, allowance: RateAllowance, key: string, points: number): RateState {
    const nowMs = this.#clock.monotonicMs()
    const window = this.#windowOf(counter, key, allowance.windowMs, nowMs)
    window.ownPoints += points
    this.#touched.add(window)
    this.#timer ??= setTimeout(() => void this.#share(), SHARE_EVERY_MS).unref()
    const consumedPoints = window.sharedPoints + window.ownPoints
    return {
      consumedPoints,
      remainingPoints: Math.max(0, allowance.points - consumedPoints),
      msBeforeNext: Math.max(1, window.untilMs - nowMs),
    }
  }

  #windowOf(counter: string, key: string, windowMs: number, nowMs: number): Window {
    const place = `${counter} ${key}`
    const known = this.#windows.get(place)
    if (known !== undefined && known.untilMs > nowMs) return known
    const untilMs = nowMs + windowMs
    const window = { counter, key, windowMs, untilMs, sharedPoints: 0, ownPoints: 0 }
    this.#windows.set(place, window)
    return window
  }

  async #share(): Promise<void> {
    const windows = [...this.#touched]
    this.#touched.clear()
    const counted = windows.filter(({ ownPoints }) => ownPoints > 0)
    const looked = windows.filter(({ ownPoints }) => ownPoints === 0)
    const sent = new Map(counted.map((window) => [window, window.ownPoints]))
    try {
      this.#learn(await this.#add(counted), sent)
      this.#learn(await this.#read(looked), sent)
      await this.#sweep()
      this.#isAway = false
    } catch (error) {
      for (const window of counted) this.#touched.add(window)
      this.#noteAway(error)
    }
    this.#timer = undefined
    if (this.#touched.size > 0) {
      this.#timer = setTimeout(() => void this.#share(), SHARE_EVERY_MS).unref()
    }
  }

  #add(windows: readonly Window[]): Promise<readonly SharedWindow[]> {
    if (windows.length === 0) return Promise.resolve([])
    return this.#database.rows<SharedWindow>(ADD, [
      windows.map(({ counter }) => counter),
      windows.map(({ key }) => key),
      windows.map(({ windowMs }) => windowMs),
      windows.map(({ ownPoints }) => ownPoints),
    ])
  }

  #read(windows: readonly Window[]): Promise<readonly SharedWindow[]> {
    if (windows.length === 0) return Promise.resolve([])
    const counters = windows.map(({ counter }) => counter)
    return this.#database.rows<SharedWindow>(READ, [counters, windows.map(({ key }) => key)])
  }

  #learn(shared: readonly SharedWindow[], sent: ReadonlyMap<Window, number>): void {
    const nowMs = this.#clock.monotonicMs()
    for (const { counter, key, points, leftMs } of shared) {
      const window = this.#windows.get(`${counter} ${key}`)
      if (window === undefined) continue
      window.sharedPoints = points
      window.ownPoints -= sent.get(window) ?? 0
      window.untilMs = nowMs + leftMs
    }
  }

  /** Forgets windows that are over. */
  async #sweep(): Promise<void> {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#sweptAtMs < SWEEP_EVERY_MS) return
    this.#sweptAtMs = nowMs
    for (const [place, { untilMs }] of this.#windows) {
      if (untilMs <= nowMs) this.#windows.delete(place)
    }
    await this.#database.change(SWEEP)
  }

  #noteAway(error: unknown): void {
    if (this.#isAway) return
    this.#isAway = true
    this.#log.warn('rate limits are not shared: the database is out of reach', {
      error: error instanceof Error ? error.message : String(error),
    })
  }
}
