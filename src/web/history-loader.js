// Reads what a chart shows: immediately, or when a gesture pauses; its newest part when the sensor
// has sent something; and again if the response was incomplete. One request at a time: a new one
// aborts the previous one.

import { nowMs } from './clock.js'
import { Refused } from './api.js'
import { moment } from './format.js'
import { readHistory, readOn } from './history.js'

/**
 * @import { History } from './history.js'
 * @import { Period } from './period.js'
 * @typedef {{
 *   readonly onHistory: (history: History) => void,
 *   readonly onBusy: (isBusy: boolean) => void,
 *   readonly onNote: (note: string) => void,
 * }} LoaderEvents
 */

const REST_MS = 180
/** New data are read about as often as they move the line by half a pixel. */
const STEPS_OF_A_CHART = 1_800
const READ_ON_MS_MIN = 2_000
const READ_ON_MS_MAX = 60_000
const INCOMPLETE_RETRY_MS = 5_000
const FAILED_RETRY_MS = 10_000

export class HistoryLoader {
  /** @type {number} */
  #id
  /** @type {LoaderEvents} */
  #events
  /** @type {History | undefined} */
  #history
  #order = new AbortController()
  #isReading = false
  #readAtMs = 0
  /** From when on the chart is to be read again. */
  #changedFromMs = Infinity
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer

  /** @param {number} id @param {LoaderEvents} events */
  constructor(id, events) {
    this.#id = id
    this.#events = events
  }

  /** @param {Period} period @param {boolean} isMoving whether more of a gesture may come */
  loadSoon(period, isMoving) {
    this.stop()
    if (isMoving) this.#timer = setTimeout(() => this.load(period), REST_MS)
    else this.load(period)
  }

  /** @param {Period} period */
  load(period) {
    this.stop()
    this.#history = undefined
    this.#changedFromMs = Infinity
    void this.#read(period, (signal) => readHistory(this.#id, period, signal))
  }

  /**
   * Reads what has come since, not too often, and again what has changed.
   *
   * @param {Period} period
   * @param {number} changedFromMs from when on
   */
  readOn(period, changedFromMs) {
    const known = this.#history
    this.#changedFromMs = Math.min(this.#changedFromMs, changedFromMs)
    if (this.#isReading || known === undefined || known.asOfMs !== undefined) return
    const stepMs = (period.toMs - period.fromMs) / STEPS_OF_A_CHART
    // Late data change what is drawn already.
    const isLate = this.#changedFromMs < (known.startsMs.at(-1) ?? Infinity)
    const everyMs = isLate
      ? READ_ON_MS_MIN
      : Math.min(READ_ON_MS_MAX, Math.max(READ_ON_MS_MIN, stepMs))
    const waitMs = this.#readAtMs + everyMs - nowMs()
    clearTimeout(this.#timer)
    if (waitMs > 0) {
      this.#timer = setTimeout(() => this.readOn(period, this.#changedFromMs), waitMs)
      return
    }
    const fromMs = this.#changedFromMs
    const now = period.isLive ? { ...period, toMs: Math.max(period.toMs, nowMs()) } : period
    this.#changedFromMs = Infinity
    void this.#read(now, (signal) =>
      readOn(this.#id, known, { ...now, changedFromMs: fromMs }, signal),
    )
  }

  stop() {
    clearTimeout(this.#timer)
    this.#order.abort()
    this.#order = new AbortController()
    this.#isReading = false
  }

  /** @param {Period} period @param {(signal: AbortSignal) => Promise<History>} read */
  async #read(period, read) {
    const { signal } = this.#order
    const again = (/** @type {number} */ delayMs) => {
      this.#timer = setTimeout(() => this.load(period), delayMs)
    }
    this.#isReading = true
    this.#events.onBusy(this.#history === undefined)
    try {
      const history = await read(signal)
      this.#history = history
      this.#readAtMs = nowMs()
      this.#events.onNote(noteOf(history))
      this.#events.onHistory(history)
      if (history.asOfMs !== undefined) again(FAILED_RETRY_MS)
      else if (!history.isComplete) again(INCOMPLETE_RETRY_MS)
      else this.#isReading = false
      // It changed again meanwhile.
      if (this.#changedFromMs < Infinity) this.readOn(period, this.#changedFromMs)
    } catch (error) {
      if (signal.aborted) return
      this.#events.onNote(explain(error))
      const isPermanent = error instanceof Refused && error.status < 500 && error.status !== 429
      if (!isPermanent) again(FAILED_RETRY_MS)
    } finally {
      if (!signal.aborted) this.#isReading = false
      if (!signal.aborted) this.#events.onBusy(false)
    }
  }
}

/** @param {History} history */
function noteOf({ isComplete, asOfMs }) {
  if (asOfMs !== undefined) return `No connection. The chart is as of ${moment(asOfMs, nowMs())}.`
  return isComplete ? '' : 'The last measurements are still on their way.'
}

/** @param {unknown} error */
function explain(error) {
  if (error instanceof Refused) return error.message
  return 'You are offline, and this period is not saved on this device.'
}
