// Which line is which sensor's, with its value at the cursor, or its mean over the period.

import { button, element, icon, setText, svgElement } from './element.js'
import { period as periodText, pointTime, temp } from './format.js'
import { summaryOf } from './history.js'

/**
 * @import { Sensor } from './api.js'
 * @import { Cursor } from './chart.js'
 * @import { History } from './history.js'
 * @import { Period } from './period.js'
 * @typedef {{
 *   readonly name: HTMLElement, readonly value: HTMLElement, readonly range: HTMLElement,
 *   readonly root: HTMLElement,
 * }} Row
 */

/** As the chart has it. */
const DASH = '6 4'
const SOLID_LINES = 4

export class SensorLegend {
  #onRemove
  /** @type {Row[]} */
  #rows = []
  #named = ''
  #time = element('p', { class: 'range' })
  #list = element('ul', { class: 'legend' })
  root = element('div', { class: 'reading' }, this.#time, this.#list)

  /** @param {(sensorId: number) => void} onRemove */
  constructor(onRemove) {
    this.#onRemove = onRemove
  }

  /** All of it, for those who listen. */
  get text() {
    const values = this.#rows.map(({ name, value }) => `${name.textContent} ${value.textContent}`)
    return [this.#time.textContent, ...values].join(', ')
  }

  /** @param {readonly Sensor[]} sensors in the order of the lines */
  name(sensors) {
    const named = JSON.stringify(sensors.map(({ id, alias }) => [id, alias]))
    if (named === this.#named) return
    this.#named = named
    const before = this.#rows
    this.#rows = sensors.map((sensor, at) => this.#row(sensor, at, isShared(sensor, sensors)))
    for (const [at, { value, range }] of this.#rows.entries()) {
      setText(value, before[at]?.value.textContent ?? '')
      setText(range, before[at]?.range.textContent ?? '')
    }
    this.#list.replaceChildren(...this.#rows.map(({ root }) => root))
  }

  /** @param {Period} period @param {readonly History[] | undefined} histories */
  showPeriod({ fromMs, toMs }, histories) {
    setText(this.#time, `${periodText(fromMs, toMs)}, mean`)
    for (const [at, { value, range }] of this.#rows.entries()) {
      const history = histories?.[at]
      const summary = history === undefined ? undefined : summaryOf(history)
      setText(value, summary === undefined ? '–' : temp(summary.mean))
      setText(range, summary === undefined ? '' : rangeText(summary.lowest, summary.highest))
    }
  }

  /** @param {Cursor} cursor @param {readonly History[]} histories */
  showCursor({ atMs, points }, histories) {
    const bucketMs = histories[0]?.bucketMs ?? 0
    const line = points.findIndex((point) => point !== undefined)
    const startMs = histories[line]?.startsMs[points[line] ?? -1]
    const isBucket = bucketMs > 0 && startMs !== undefined
    setText(this.#time, pointTime(isBucket ? startMs : atMs, isBucket ? bucketMs : 0))
    for (const [at, { value, range }] of this.#rows.entries()) {
      const { means = [], mins = [], maxs = [] } = histories[at] ?? {}
      const point = points[at] ?? -1
      const [mean, min, max] = [means[point], mins[point], maxs[point]]
      setText(value, mean === undefined ? 'No data' : temp(mean))
      const hasRange = min !== undefined && max !== undefined && min < max
      setText(range, hasRange ? rangeText(min, max) : '')
    }
  }

  /** @param {Sensor} sensor @param {number} at @param {boolean} isNameShared @returns {Row} */
  #row({ id, alias, sn }, at, isNameShared) {
    const text = isNameShared ? `${alias} (${sn})` : alias
    const name = element('a', { class: 'legend-name', href: `#/sensors/${id}`, title: text }, text)
    const value = element('span', { class: 'legend-value' })
    const range = element('span', { class: 'when' })
    const dash = at < SOLID_LINES ? {} : { 'stroke-dasharray': DASH }
    const line = svgElement('path', { d: 'M0 5h24', ...dash })
    const swatch = svgElement(
      'svg',
      { class: 'swatch', viewBox: '0 0 24 10', 'data-line': String(at + 1), 'aria-hidden': 'true' },
      line,
    )
    const remove = button({ label: `Remove ${text}` }, () => this.#onRemove(id), icon('close'))
    const numbers = element('span', { class: 'legend-numbers' }, value, range)
    return { name, value, range, root: element('li', {}, swatch, name, numbers, remove) }
  }
}

/** @param {Sensor} sensor @param {readonly Sensor[]} sensors */
function isShared({ id, alias }, sensors) {
  return sensors.some((other) => other.id !== id && other.alias === alias)
}

/** @param {number} lowest @param {number} highest */
function rangeText(lowest, highest) {
  return `${temp(lowest)} to ${temp(highest)}`
}
