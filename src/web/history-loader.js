// Reads what a chart shows: immediately, or when a gesture pauses; its newest part when a sensor
// has sent something, at most once a second; and again if the response was incomplete. One request
// at a time: a new one aborts the previous one.

import { monotonicMs, nowMs } from './clock.js'
import { NoAnswer, Refused, whyUnheard } from './api.js'
import { moment } from './format.js'
import { readHistories, readOn } from './read-histories.js'

/**
 * @import { History } from './history.js'
 * @import { Period } from './period.js'
 * @typedef {{
 *   readonly onHistories: (histories: readonly History[]) => void,
 *   readonly onBusy: (isBusy: boolean) => void,
 *   readonly onNote: (note: string) => void,
 * }} LoaderEvents `histories` is empty if they cannot be read
 */

const REST_MS = 180
/** As often as a sensor has live events, so that the chart agrees with the value above it. */
const READ_ON_MS = 1_000
const INCOMPLETE_RETRY_MS = 5_000
const FAILED_RETRY_MS = 10_000

export class HistoryLoader {
  /** @type {readonly number[]} */
  #sensorIds
  /** @type {LoaderEvents} */
  #events
  /** @type {readonly History[] | undefined} */
  #known
  #order = new AbortController()
  #isReading = false
  #readAtMs = 0
  /**
   * Events wait until then, in milliseconds of this page: not every event repeats a failed or
   * incomplete request.
   */
  #restUntilMs = 0
  /** The time from which the chart must be read again. */
  #changedFromMs = Infinity
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer

  /** @param {readonly number[]} sensorIds @param {LoaderEvents} events */
  constructor(sensorIds, events) {
    this.#sensorIds = sensorIds
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
    this.#known = undefined
    this.#changedFromMs = Infinity
    void this.#read(period, (signal) => readHistories(this.#sensorIds, period, signal))
  }

  /**
   * Reads new data, not too often, and changed data again.
   *
   * @param {Period} period
   * @param {number} changedFromMs from when on
   */
  readOn(period, changedFromMs) {
    const known = this.#known
    this.#changedFromMs = Math.min(this.#changedFromMs, changedFromMs)
    if (this.#isReading || known === undefined) return
    if (known[0]?.asOfMs !== undefined) return this.load(period)
    const waitMs = this.#restUntilMs - monotonicMs()
    clearTimeout(this.#timer)
    if (waitMs > 0) {
      this.#timer = setTimeout(() => this.readOn(period, this.#changedFromMs), waitMs)
      return
    }
    const fromMs = this.#changedFromMs
    const now = period.isLive ? { ...period, toMs: Math.max(period.toMs, nowMs()) } : period
    this.#changedFromMs = Infinity
    void this.#read(now, (signal) =>
      readOn(this.#sensorIds, known, { ...now, changedFromMs: fromMs }, signal),
    )
  }

  stop() {
    clearTimeout(this.#timer)
    this.#order.abort()
    this.#order = new AbortController()
    this.#isReading = false
  }

  /** @param {Period} period @param {(signal: AbortSignal) => Promise<History[]>} read */
  async #read(period, read) {
    const { signal } = this.#order
    this.#isReading = true
    this.#events.onBusy(this.#known === undefined)
    try {
      const histories = await read(signal)
      if (signal.aborted) return
      this.#isReading = false
      this.#succeed(period, histories)
    } catch (error) {
      if (signal.aborted) return
      this.#isReading = false
      this.#fail(period, error)
    }
    if (!signal.aborted) this.#events.onBusy(false)
  }

  /** @param {Period} period @param {readonly History[]} histories */
  #succeed(period, histories) {
    const isOld = histories[0]?.asOfMs !== undefined
    const isComplete = histories.every((history) => history.isComplete)
    this.#known = histories
    this.#readAtMs = nowMs()
    this.#restUntilMs = monotonicMs() + (isComplete ? READ_ON_MS : INCOMPLETE_RETRY_MS)
    this.#events.onNote(noteOf(histories))
    if (isOld) this.#timer = setTimeout(() => this.load(period), FAILED_RETRY_MS)
    else if (!isComplete) this.readOn(period, -Infinity)
    // It changed again meanwhile.
    else if (this.#changedFromMs < Infinity) this.readOn(period, this.#changedFromMs)
    // Last, because listeners may choose another period.
    this.#events.onHistories(histories)
  }

  /**
   * Keeps what is shown, unless it is of another period.
   *
   * @param {Period} period
   * @param {unknown} error
   */
  #fail(period, error) {
    const isPermanent = error instanceof Refused && error.status < 500 && error.status !== 429
    const isShown = this.#known !== undefined
    if (!isShown) this.#events.onHistories([])
    this.#events.onNote(isShown && !isPermanent ? oldNote(this.#readAtMs) : explain(error))
    if (isPermanent) return
    this.#restUntilMs = monotonicMs() + FAILED_RETRY_MS
    if (isShown) this.readOn(period, -Infinity)
    else this.#timer = setTimeout(() => this.load(period), FAILED_RETRY_MS)
  }
}

/** @param {readonly History[]} histories */
function noteOf(histories) {
  const asOfMs = histories[0]?.asOfMs
  if (asOfMs !== undefined) return oldNote(asOfMs)
  const isComplete = histories.every((history) => history.isComplete)
  return isComplete ? '' : 'The last measurements are still on their way.'
}

/** @param {number} asOfMs */
function oldNote(asOfMs) {
  return `${whyUnheard()} Chart last updated ${moment(asOfMs, nowMs())}.`
}

/** @param {unknown} error */
function explain(error) {
  if (error instanceof NoAnswer) return `${error.message} This period is not saved on this device.`
  if (error instanceof Refused) return error.message
  throw error
}
