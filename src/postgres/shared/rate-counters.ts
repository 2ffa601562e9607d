// RateCounters on PostgreSQL: each process counts in memory; a few times a second it adds its
// counts to the shared sums and reads them. While the database is away, each process counts alone.

import { MINUTE_MS } from '../../domain/time.ts'
import type {
  RateAllowance,
  RateCounter,
  RateCounters,
  RateState,
} from '../../ports/rate-counters.ts'
import type { Clock, Log } from '../../ports/system.ts'
import type { Database } from '../server/database.ts'

/** Twice this, and two statements, take less than the promised half second. */
const SHARE_EVERY_MS = 150
const SWEEP_EVERY_MS = MINUTE_MS
const SWEPT_AT_ONCE = 10_000

interface Period {
  readonly counter: string
  readonly key: string
  readonly periodMs: number
  /** By the monotonic clock. */
  untilMs: number
  /** The sum of all processes, as of the last exchange. */
  sharedPoints: number
  /** Counted here, not yet added to the shared sum. */
  ownPoints: number
}

interface SharedPeriod {
  readonly counter: string
  readonly key: string
  readonly points: number
  readonly leftMs: number
}

const LEFT = `(extract(epoch FROM r.until - statement_timestamp()) * 1000)::float8 AS "leftMs"`
// Always locked in the same order, so that no two transactions deadlock.
const ADD = `
  INSERT INTO rate_use AS r (counter, key, until, points)
  SELECT counter, key, statement_timestamp() + period_ms * interval '1 millisecond', points
  FROM unnest($1::text[], $2::text[], $3::float8[], $4::bigint[])
    u (counter, key, period_ms, points)
  ORDER BY counter, key
  ON CONFLICT (counter, key) DO UPDATE SET
    points = excluded.points + CASE WHEN r.until > statement_timestamp() THEN r.points ELSE 0 END,
    until = CASE WHEN r.until > statement_timestamp() THEN r.until ELSE excluded.until END
  RETURNING r.counter, r.key, r.points, ${LEFT}`
const READ = `
  SELECT r.counter, r.key, r.points, ${LEFT}
  FROM unnest($1::text[], $2::text[]) u (counter, key) JOIN rate_use r USING (counter, key)
  WHERE r.until > statement_timestamp()`
const SWEEP = `
  DELETE FROM rate_use WHERE (counter, key) IN (
    SELECT counter, key FROM rate_use WHERE until < statement_timestamp()
    ORDER BY until LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED)`

export class PostgresRateCounters implements RateCounters {
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: Log
  readonly #periods = new Map<string, Period>()
  /** The periods counted since the last exchange. */
  readonly #touched = new Set<Period>()
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

  /** Later counts stay in this process. */
  close(): void {
    clearTimeout(this.#timer)
    this.#touched.clear()
  }

  #count(counter: string, allowance: RateAllowance, key: string, points: number): RateState {
    const nowMs = this.#clock.monotonicMs()
    const period = this.#periodOf(counter, key, allowance.periodMs, nowMs)
    period.ownPoints += points
    this.#touched.add(period)
    this.#timer ??= setTimeout(() => void this.#share(), SHARE_EVERY_MS).unref()
    const consumedPoints = period.sharedPoints + period.ownPoints
    return {
      consumedPoints,
      remainingPoints: Math.max(0, allowance.points - consumedPoints),
      msBeforeNext: Math.max(1, period.untilMs - nowMs),
    }
  }

  #periodOf(counter: string, key: string, periodMs: number, nowMs: number): Period {
    const place = placeOf({ counter, key })
    const known = this.#periods.get(place)
    if (known !== undefined && known.untilMs > nowMs) return known
    const untilMs = nowMs + periodMs
    const period = { counter, key, periodMs, untilMs, sharedPoints: 0, ownPoints: 0 }
    this.#periods.set(place, period)
    return period
  }

  #isLast(period: Period): boolean {
    return this.#periods.get(placeOf(period)) === period
  }

  async #share(): Promise<void> {
    // Of one key there may be two, of which the first is over: one statement cannot add to both.
    const periods = [...this.#touched].filter((period) => this.#isLast(period))
    this.#touched.clear()
    const counted = periods.filter(({ ownPoints }) => ownPoints > 0)
    const looked = periods.filter(({ ownPoints }) => ownPoints === 0)
    const sent = new Map(counted.map((period) => [period, period.ownPoints]))
    try {
      this.#learn(await this.#add(counted), sent)
      this.#learn(await this.#read(looked), sent)
      await this.#sweep()
      this.#isAway = false
    } catch (error) {
      for (const period of counted) this.#touched.add(period)
      this.#noteAway(error)
    }
    this.#timer = undefined
    if (this.#touched.size > 0) {
      this.#timer = setTimeout(() => void this.#share(), SHARE_EVERY_MS).unref()
    }
  }

  #add(periods: readonly Period[]): Promise<readonly SharedPeriod[]> {
    if (periods.length === 0) return Promise.resolve([])
    return this.#database.rows<SharedPeriod>(ADD, [
      periods.map(({ counter }) => counter),
      periods.map(({ key }) => key),
      periods.map(({ periodMs }) => periodMs),
      periods.map(({ ownPoints }) => ownPoints),
    ])
  }

  #read(periods: readonly Period[]): Promise<readonly SharedPeriod[]> {
    if (periods.length === 0) return Promise.resolve([])
    const counters = periods.map(({ counter }) => counter)
    return this.#database.rows<SharedPeriod>(READ, [counters, periods.map(({ key }) => key)])
  }

  #learn(shared: readonly SharedPeriod[], sent: ReadonlyMap<Period, number>): void {
    const nowMs = this.#clock.monotonicMs()
    for (const { counter, key, points, leftMs } of shared) {
      const period = this.#periods.get(placeOf({ counter, key }))
      if (period === undefined) continue
      period.sharedPoints = points
      period.ownPoints -= sent.get(period) ?? 0
      period.untilMs = nowMs + leftMs
    }
  }

  /** Forgets periods that are over. */
  async #sweep(): Promise<void> {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#sweptAtMs < SWEEP_EVERY_MS) return
    this.#sweptAtMs = nowMs
    for (const [place, { untilMs }] of this.#periods) {
      if (untilMs <= nowMs) this.#periods.delete(place)
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

function placeOf({ counter, key }: Pick<Period, 'counter' | 'key'>): string {
  return `${counter} ${key}`
}
