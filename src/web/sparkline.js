// The small line of the last day: read when its card comes into view, a few at a time, and again
// when it is out of date.

import { nowMs } from './clock.js'
import { svgElement } from './element.js'
import { brokenAtGaps, readLastDay, summaryOf } from './history.js'

/** @import { History } from './history.js' */

const WIDTH = 240
const HEIGHT = 48
const DAY_MS = 86_400_000
const FRESH_MS = 5 * 60_000
const READS_MAX = 3
/** A smaller range is noise and is not magnified. */
const CELSIUS_MIN = 1

/**
 * @typedef {{
 *   readonly sensorId: number, readonly place: Element,
 *   readonly onSummary: (lowest: number, highest: number) => void,
 * }} Spark
 */

/** Reads and draws the lines of the cards in view. */
export class Sparklines {
  /** @type {Map<Element, Spark>} */
  #sparks = new Map()
  /** @type {Set<Spark>} */
  #inSight = new Set()
  /** @type {WeakMap<Spark, number>} */
  #readAtMs = new WeakMap()
  /** @type {Set<Spark>} */
  #waiting = new Set()
  #reading = 0
  #sight = new IntersectionObserver((entries) => this.#look(entries), { rootMargin: '120px' })

  /** @param {Spark} spark */
  add(spark) {
    this.#sparks.set(spark.place, spark)
    this.#sight.observe(spark.place)
  }

  /** @param {Element} place */
  remove(place) {
    const spark = this.#sparks.get(place)
    this.#sparks.delete(place)
    this.#sight.unobserve(place)
    if (spark === undefined) return
    this.#inSight.delete(spark)
    this.#waiting.delete(spark)
  }

  /** Reads what is in sight and old, or changed. @param {number} [changedId] */
  refresh(changedId) {
    for (const spark of this.#inSight) {
      const isOld = nowMs() - (this.#readAtMs.get(spark) ?? 0) > FRESH_MS
      if (isOld || spark.sensorId === changedId) this.#waiting.add(spark)
    }
    this.#readNext()
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #look(entries) {
    for (const { target, isIntersecting } of entries) {
      const spark = this.#sparks.get(target)
      if (spark === undefined) continue
      if (isIntersecting) this.#inSight.add(spark)
      else this.#inSight.delete(spark)
      if (!isIntersecting) this.#waiting.delete(spark)
    }
    this.refresh()
  }

  #readNext() {
    for (const spark of this.#waiting) {
      if (this.#reading >= READS_MAX) return
      this.#waiting.delete(spark)
      this.#reading++
      this.#readAtMs.set(spark, nowMs())
      void this.#read(spark).finally(() => {
        this.#reading--
        this.#readNext()
      })
    }
  }

  /** @param {Spark} spark */
  async #read(spark) {
    try {
      const day = await readLastDay(spark.sensorId, nowMs())
      draw(spark.place, day)
      const summary = summaryOf(day)
      if (summary !== undefined) spark.onSummary(summary.lowest, summary.highest)
    } catch {
      // The card shows its latest value without it; the next time it comes into view, it tries
      // again.
      this.#readAtMs.delete(spark)
    }
  }
}

/** @param {Element} place @param {History} day */
function draw(place, day) {
  const [timesMs, means, lows, highs] = brokenAtGaps(day)
  const summary = summaryOf(day)
  if (summary === undefined) return place.replaceChildren()
  const fromMs = (day.asOfMs ?? nowMs()) - DAY_MS
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
  const linePath = svgElement('path', { class: 'spark-line', d: line.join('') })
  place.replaceChildren(svgElement('svg', { ...box, 'aria-hidden': 'true' }, bandPath, linePath))
}

/** The indexes between the gaps. @param {readonly (number | null)[]} values */
function stretchesOf(values) {
  /** @type {number[][]} */
  const stretches = [[]]
  for (const [at, value] of values.entries()) {
    if (value === null) stretches.push([])
    else stretches.at(-1)?.push(at)
  }
  return stretches.filter((stretch) => stretch.length > 0)
}
