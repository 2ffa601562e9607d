// The last day of each sensor in quarters of an hour, for the small lines: many sensors in one
// request, and of known ones only what is new or has changed since.

import { get, session } from './api.js'
import { nowMs } from './clock.js'
import { findHistory, keepHistories } from './kept.js'
import { lastDayKey } from './history.js'

/**
 * @import { SeriesAnswer } from './api.js'
 * @import { KeptHistory } from './kept.js'
 */

const BUCKET = '15min'
const BUCKET_MS = 15 * 60_000
const DAY_MS = 86_400_000
/** The service's limit for one response. */
export const SENSORS_MAX = 50
/** Enough to scroll through or order by range; the device keeps more. */
export const DAYS_MAX = 500
/** Events round the time of a change down to the hour. */
const LATE_MS = 3_600_000 + BUCKET_MS

export class LastDays {
  /** Most recently used last. @type {Map<number, KeptHistory>} */
  #days = new Map()
  /** @type {Map<number, number>} */
  #changedFromMs = new Map()

  /** @param {number} id @returns {KeptHistory | undefined} */
  known(id) {
    return this.#days.get(id)
  }

  /** Reads changed data from a time on again. @param {number} id @param {number} fromMs */
  change(id, fromMs) {
    this.#changedFromMs.set(id, Math.min(fromMs, this.#changedFromMs.get(id) ?? Infinity))
  }

  forgetAll() {
    this.#days.clear()
  }

  /** Whether the change is before its newest part. @param {number} id */
  isLate(id) {
    return (this.#changedFromMs.get(id) ?? Infinity) < this.#readUntilMs(id) - LATE_MS
  }

  /** Loads what the device keeps. @param {readonly number[]} ids */
  async recall(ids) {
    const unknown = ids.filter((id) => !this.#days.has(id))
    const kept = await Promise.all(unknown.map((id) => findHistory(lastDayKey(id))))
    for (const day of kept) if (day !== undefined) this.#remember(day.data.sensor.id, day)
  }

  /**
   * @param {readonly number[]} ids at most SENSORS_MAX
   * @param {AbortSignal} signal
   * @throws Refused, NoAnswer
   */
  async read(ids, signal) {
    const token = session()?.token
    const currentMs = nowMs()
    const toMs = Math.ceil(currentMs / BUCKET_MS) * BUCKET_MS
    // What was kept while the device's clock was wrong may be of the future.
    const untilMs = Math.min(toMs - BUCKET_MS, ...ids.map((id) => this.#wholeUntilMs(id)))
    const fromMs = Math.max(toMs - DAY_MS, untilMs)
    const query = new URLSearchParams({
      sensors: ids.join(),
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
      bucket: BUCKET,
    })
    // Later changes are for the next time.
    for (const id of ids) this.#changedFromMs.delete(id)
    const { series, ...period } = await this.#ask(
      `/measurements?${query.toString()}`,
      signal,
      () => {
        for (const id of ids) this.change(id, fromMs)
      },
    )
    const days = series.map(({ complete, ...part }) => {
      const { id } = part.sensor
      const earlier = (this.#days.get(id)?.data.points ?? []).filter(({ timestamp }) => {
        const startMs = Date.parse(timestamp)
        return startMs >= toMs - DAY_MS && startMs < fromMs
      })
      const points = [...earlier, ...part.points]
      const from = new Date(toMs - DAY_MS).toISOString()
      const day = { data: { ...period, ...part, complete, from, points }, asOfMs: currentMs }
      this.#remember(id, day)
      return { day, complete, key: lastDayKey(id) }
    })
    if (token !== session()?.token) return
    const whole = days.filter(({ complete }) => complete)
    await keepHistories(whole.map(({ key, day }) => /** @type {const} */ ([key, day])))
  }

  /**
   * @param {string} path
   * @param {AbortSignal} signal
   * @param {() => void} onFailure
   * @returns {Promise<SeriesAnswer>}
   */
  async #ask(path, signal, onFailure) {
    try {
      return await get(path, signal)
    } catch (error) {
      onFailure()
      throw error
    }
  }

  /** The time up to which a day is certainly known. @param {number} id */
  #wholeUntilMs(id) {
    const untilMs = Math.min(this.#readUntilMs(id), this.#changedFromMs.get(id) ?? Infinity)
    return Math.floor(untilMs / BUCKET_MS) * BUCKET_MS
  }

  /** @param {number} id */
  #readUntilMs(id) {
    const day = this.#days.get(id)
    if (day === undefined || !day.data.complete) return -Infinity
    return Math.min(day.asOfMs, Date.parse(day.data.to))
  }

  /** @param {number} id @param {KeptHistory} day */
  #remember(id, day) {
    this.#days.delete(id)
    this.#days.set(id, day)
    const [oldest] = this.#days.keys()
    if (this.#days.size > DAYS_MAX && oldest !== undefined) this.#days.delete(oldest)
  }
}
