// Which line belongs to which sensor, with its value at the cursor or its mean over the period. One
// tap hides the line, a second hides all others, a third shows all.

import { button, element, icon, setText, svgElement } from './element.js'
import { TIME_ZONE, degrees, period as periodText, pointTime, temp } from './format.js'
import { summaryOf } from './history.js'

/**
 * @import { Sensor } from './api.js'
 * @import { Cursor } from './chart.js'
 * @import { History } from './history.js'
 * @import { Period } from './period.js'
 * @typedef {{
 *   readonly id: number, readonly line: HTMLElement, readonly action: HTMLElement,
 *   readonly name: HTMLElement, readonly value: HTMLElement, readonly range: HTMLElement,
 *   readonly root: HTMLElement,
 * }} Row `action` says what a tap does, for screen readers
 * @typedef {{
 *   readonly onRemove: (sensorId: number) => void, readonly onHidden: () => void,
 * }} LegendEvents
 */

/** Same as in the chart. */
const DASH = '6 4'
const SOLID_LINES = 4
const OF_SEVERAL = 'Mean, and lowest to highest'

export class SensorLegend {
  /** The ids of sensors with hidden lines. @type {readonly number[]} */
  hidden
  #events
  /** @type {Row[]} */
  #rows = []
  #named = ''
  #time = element('span')
  #what = element('span')
  #list = element('ul', { class: 'legend' })
  root = element(
    'div',
    { class: 'reading' },
    element(
      'p',
      { class: 'range' },
      this.#time,
      this.#what,
      element('span', { class: 'zone' }, TIME_ZONE),
    ),
    this.#list,
  )

  /** @param {LegendEvents} events @param {readonly number[]} hidden at first */
  constructor(events, hidden) {
    this.#events = events
    this.hidden = hidden
  }

  /** The whole text, for screen readers. */
  get text() {
    const values = this.#rows.map(({ name, value }) => `${name.textContent} ${value.textContent}`)
    return [this.#time.textContent, this.#what.textContent, ...values].join(', ')
  }

  /** @param {readonly Sensor[]} sensors in the order of the lines */
  name(sensors) {
    const named = JSON.stringify(sensors.map(({ id, alias }) => [id, alias]))
    if (named === this.#named) return
    this.#named = named
    const before = this.#rows
    const focused = before.findIndex(({ root }) => root.contains(document.activeElement))
    this.#rows = sensors.map((sensor, at) => this.#row(sensor, at, isShared(sensor, sensors)))
    for (const [at, { value, range }] of this.#rows.entries()) {
      setText(value, before[at]?.value.textContent ?? '')
      setText(range, before[at]?.range.textContent ?? '')
    }
    this.#list.replaceChildren(...this.#rows.map(({ root }) => root))
    this.#rows[focused]?.line.focus()
    const hidden = sensors.flatMap(({ id }) => (this.hidden.includes(id) ? [id] : []))
    this.#hide(hidden.length < sensors.length ? hidden : [])
  }

  /** @param {Period} period @param {readonly History[] | undefined} histories */
  showPeriod({ fromMs, toMs }, histories) {
    setText(this.#time, periodText(fromMs, toMs))
    setText(this.#what, OF_SEVERAL)
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
    const hasRanges = this.#rows.some(({ range }) => range.textContent !== '')
    const ofOne = bucketMs > 0 ? 'Mean' : 'Value'
    setText(this.#what, hasRanges ? OF_SEVERAL : ofOne)
  }

  /** @param {Sensor} sensor @param {number} at @param {boolean} isNameShared @returns {Row} */
  #row({ id, alias, sn }, at, isNameShared) {
    const text = isNameShared ? `${alias} (${sn})` : alias
    const action = element('span', { class: 'hidden-text' })
    const name = element('span', { class: 'legend-name' }, text)
    const value = element('span', { class: 'legend-value' })
    const range = element('span', { class: 'when' })
    const numbers = element('span', { class: 'legend-numbers' }, value, range)
    const dash = at < SOLID_LINES ? {} : { 'stroke-dasharray': DASH }
    const swatch = svgElement(
      'svg',
      { class: 'swatch', viewBox: '0 0 24 10', 'aria-hidden': 'true' },
      svgElement('path', { d: 'M0 5h24', ...dash }),
    )
    swatch.style.color = `var(--line-${at + 1})`
    const tap = () => this.#tap(id)
    const line = button({ class: 'legend-line' }, tap, action, swatch, name, numbers)
    const [opens, removes] = [`Open ${text}`, `Remove ${text}`]
    const open = element(
      'a',
      { class: 'action', href: `#/sensors/${id}`, 'aria-label': opens, title: opens },
      icon('forward'),
    )
    const remove = button(
      { label: removes, title: removes },
      () => this.#events.onRemove(id),
      icon('close'),
    )
    return { id, line, action, name, value, range, root: element('li', {}, line, open, remove) }
  }

  /** @param {number} sensorId */
  #tap(sensorId) {
    const ids = this.#rows.map(({ id }) => id)
    if (this.hidden.includes(sensorId)) this.#hide(ids.filter((id) => id !== sensorId))
    else this.#hide(this.#isAlone(sensorId) ? [] : [...this.hidden, sensorId])
    this.#events.onHidden()
  }

  /** @param {readonly number[]} hidden */
  #hide(hidden) {
    this.hidden = hidden
    for (const { id, line, action, name } of this.#rows) {
      const isHidden = hidden.includes(id)
      const alone = this.#rows.length === 1 ? '' : 'Show all, not only '
      const shown = this.#isAlone(id) ? alone : 'Hide '
      setText(action, isHidden ? 'Show only ' : shown)
      name.title = `${action.textContent}${name.textContent}`
      line.classList.toggle('is-hidden', isHidden)
    }
  }

  /** Whether all others are hidden. @param {number} sensorId */
  #isAlone(sensorId) {
    return this.#rows.every(({ id }) => id === sensorId || this.hidden.includes(id))
  }
}

/** @param {Sensor} sensor @param {readonly Sensor[]} sensors */
function isShared({ id, alias }, sensors) {
  return sensors.some((other) => other.id !== id && other.alias === alias)
}

/** @param {number} lowest @param {number} highest */
function rangeText(lowest, highest) {
  return `${degrees(lowest)} to ${temp(highest)}`
}
