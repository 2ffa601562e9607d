// The small line of the last day: drawn from known data as soon as a card is shown, read when
// scrolling pauses, for all cards at once, and again when it is out of date.

import { monotonicMs } from './clock.js'
import { svgElement } from './element.js'
import { brokenAtGaps, columnsOf, summaryOf } from './history.js'
import { LastDays, SENSORS_MAX } from './last-days.js'

/**
 * @import { History } from './history.js'
 * @import { KeptHistory } from './kept.js'
 * @typedef {{
 *   readonly place: Element, readonly onSummary: (lowest: number, highest: number) => void,
 * }} Spark
 */

const WIDTH = 240
const HEIGHT = 48
const DAY_MS = 86_400_000
const FRESH_MS = 5 * 60_000
const REST_MS = 120
/** A shorter line is drawn as a dot. */
const WIDTH_MIN = 4
/** A smaller range is noise; do not magnify it. */
const CELSIUS_MIN = 1

/** Reads and draws the lines of visible cards. */
export class Sparklines {
  /** By sensor. @type {Map<number, Spark>} */
  #sparks = new Map()
  /** When each was last requested, in milliseconds of this page. @type {Map<number, number>} */
  #readAtMs = new Map()
  #days = new LastDays()
  /** Sensors without a visible card whose days are needed. @type {readonly number[]} */
  #wanted = []
  #signal
  #onRead
  #isReading = false
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer

  /** @param {AbortSignal} signal when nothing is shown any more @param {() => void} onRead */
  constructor(signal, onRead) {
    this.#signal = signal
    this.#onRead = onRead
  }

  /** @param {number} id of the sensor @param {Spark} spark */
  add(id, spark) {
    this.#sparks.set(id, spark)
    this.#draw(id)
    this.#readSoon()
  }

  /** @param {number} id */
  remove(id) {
    this.#sparks.delete(id)
  }

  /** Also reads the days of other sensors. @param {readonly number[]} ids at most DAYS_MAX */
  want(ids) {
    this.#wanted = ids
    this.#readSoon()
  }

  /** The range of the last day's values, if known. @param {number} id */
  rangeOf(id) {
    const points = this.#days.known(id)?.data.points ?? []
    if (points.length === 0) return undefined
    const highest = Math.max(...points.map(({ temp, max = temp }) => max))
    return highest - Math.min(...points.map(({ temp, min = temp }) => min))
  }

  /** Reads outdated lines again. */
  refresh() {
    this.#readSoon()
  }

  /** @param {number | undefined} id `undefined`: all @param {number} fromMs */
  change(id, fromMs) {
    if (id !== undefined) this.#days.change(id, fromMs)
    else this.#days.forgetAll()
    if (id === undefined || fromMs === -Infinity) this.#readAtMs.clear()
    if (id === undefined || this.#days.isLate(id)) this.#readSoon()
  }

  #readSoon() {
    clearTimeout(this.#timer)
    if (!this.#isReading && !this.#signal.aborted)
      this.#timer = setTimeout(() => void this.#read(), REST_MS)
  }

  async #read() {
    if (this.#signal.aborted) return
    const isDue = (/** @type {number} */ id) =>
      // Many other sensors may have displaced its day.
      this.#days.known(id) === undefined ||
      monotonicMs() - (this.#readAtMs.get(id) ?? -Infinity) > FRESH_MS ||
      this.#days.isLate(id)
    const due = [...new Set([...this.#sparks.keys(), ...this.#wanted])].filter(isDue)
    due.splice(SENSORS_MAX)
    if (due.length === 0) return
    this.#isReading = true
    await this.#days.recall(due)
    for (const id of due) this.#draw(id)
    // Do not read whole days again because another sensor's is unknown.
    const unknown = due.filter((id) => this.#days.known(id) === undefined)
    const ids = unknown.length > 0 ? unknown : due
    for (const id of ids) this.#readAtMs.set(id, monotonicMs())
    try {
      await this.#days.read(ids, this.#signal)
    } catch {
      // The cards show their latest values without lines; the next refresh tries again.
      for (const id of ids) this.#readAtMs.delete(id)
      return
    } finally {
      this.#isReading = false
    }
    for (const id of ids) this.#draw(id)
    this.#onRead()
    this.#readSoon()
  }

  /** @param {number} id */
  #draw(id) {
    const day = this.#days.known(id)
    const spark = this.#sparks.get(id)
    if (day === undefined || spark === undefined) return
    const history = columnsOf(day.data, undefined)
    const summary = summaryOf(history)
    spark.place.replaceChildren(
      ...(summary === undefined ? [] : [pictureOf(history, summary, day)]),
    )
    if (summary !== undefined) spark.onSummary(summary.lowest, summary.highest)
  }
}

/**
 * @param {History} history
 * @param {{ lowest: number, highest: number }} summary
 * @param {KeptHistory} day
 */
function pictureOf(history, summary, { data: { to } }) {
  const [timesMs, means, lows, highs] = brokenAtGaps(history)
  const fromMs = Date.parse(to) - DAY_MS
  const spare = Math.max(0, CELSIUS_MIN - (summary.highest - summary.lowest)) / 2
  const lowest = summary.lowest - spare
  const scale = (HEIGHT - 4) / (summary.highest + spare - lowest)
  /** @param {number} at @param {number | null | undefined} celsius */
  const point = (at, celsius) => {
    const x = (((timesMs[at] ?? 0) - fromMs) / DAY_MS) * WIDTH
    const y = HEIGHT - 2 - ((celsius ?? lowest) - lowest) * scale
    return `${x.toFixed(1)} ${y.toFixed(1)}`
  }
  const stretches = stretchesOf(means)
  const line = stretches.map((stretch) => {
    const points = stretch.map((at) => point(at, means[at]))
    // A line from a point to itself is drawn as a dot, because of its round ends.
    return `M${points.join('L')}${points.length === 1 ? 'h0' : ''}`
  })
  const band = stretches.map((stretch) => {
    const upper = stretch.map((at) => point(at, highs[at]))
    const lower = stretch.toReversed().map((at) => point(at, lows[at]))
    return `M${[...upper, ...lower].join('L')}Z`
  })
  const box = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none' }
  const bandPath = svgElement('path', { class: 'spark-band', d: band.join('') })
  const isShort = ((timesMs.at(-1) ?? 0) - (timesMs[0] ?? 0)) * WIDTH < WIDTH_MIN * DAY_MS
  const kind = isShort ? 'spark-line is-dot' : 'spark-line'
  const linePath = svgElement('path', { class: kind, d: line.join('') })
  return svgElement('svg', { ...box, 'aria-hidden': 'true' }, bandPath, linePath)
}

/** The indexes between gaps. @param {readonly (number | null)[]} values */
function stretchesOf(values) {
  /** @type {number[][]} */
  const stretches = [[]]
  for (const [at, value] of values.entries()) {
    if (value === null) stretches.push([])
    else stretches.at(-1)?.push(at)
  }
  return stretches.filter((stretch) => stretch.length > 0)
}
