// A sensor's page: its name, current state and chart. The period is in the URL, so you can link to
// a chart, and Back returns to the previous one.

import { setTitle } from './app-name.js'
import { nowMs } from './clock.js'
import { Chart } from './chart.js'
import { listenToPointers, pressKey } from './chart-gestures.js'
import { ChartControls } from './chart-controls.js'
import { element, icon, setText } from './element.js'
import { moment } from './format.js'
import { HistoryLoader } from './history-loader.js'
import { fixedPeriod, livePeriod, moved, ofNow, periodName, periodNamed, zoomed } from './period.js'
import { Readout } from './readout.js'
import { SensorHead } from './sensor-head.js'

/**
 * @import { Fleet } from './fleet.js'
 * @import { History } from './history.js'
 * @import { Period } from './period.js'
 */

const DAY_MS = 86_400_000
const TICK_MS = 5_000
const TABLE_DELAY_MS = 300
const KEYS =
  'Arrow keys move, plus and minus zoom, End goes to now, Shift with arrow keys reads the points.'

export class SensorView {
  /** @type {number} */
  #id
  /** @type {Fleet} */
  #fleet
  /** @type {Period} */
  #period
  /** @type {History | undefined} */
  #history
  /** @type {Chart | undefined} */
  #chart
  /** The point that is read out. @type {number | undefined} */
  #pointed
  #loader
  #closing = new AbortController()

  #head = new SensorHead()
  #readout = new Readout()
  #said = element('p', { class: 'hidden-text', role: 'status' })
  #note = element('p', { class: 'note', role: 'status' })
  #drawing = element('div', {
    class: 'drawing',
    tabindex: '0',
    role: 'application',
    'aria-label': 'Temperature',
    'aria-roledescription': 'chart',
    'aria-describedby': 'chart-keys',
  })
  #keys = element('p', { id: 'chart-keys', class: 'hidden-text' }, KEYS)
  #table = element('div', { class: 'table hidden-text', role: 'region', 'aria-label': 'Table' })
  #controls
  /** @type {HTMLElement} */
  root

  /**
   * @param {number} id
   * @param {string} name of the period
   * @param {Fleet} fleet
   */
  constructor(id, name, fleet) {
    this.#id = id
    this.#fleet = fleet
    this.#period = periodNamed(name, nowMs())
    this.#loader = new HistoryLoader(id, {
      onHistory: (history) => this.#show(history),
      onBusy: (isBusy) => this.#drawing.setAttribute('aria-busy', String(isBusy)),
      onNote: (note) => setText(this.#note, note),
    })
    this.#controls = new ChartControls({
      onSpan: (spanMs) => this.#go(livePeriod(spanMs, nowMs()), 'push'),
      onMove: (share) => this.#gestures.move(share * this.#spanMs),
      onZoom: (factor) => this.#gestures.zoom(factor, this.#middleMs),
      onNow: () => this.#gestures.moveToNow(),
      onTable: (isShown) => this.#showTable(isShown),
    })
    this.root = this.#page()
    const { signal } = this.#closing
    signal.addEventListener(
      'abort',
      fleet.subscribe((changed, fromMs) => this.#update(changed, fromMs)),
    )
    const timer = setInterval(() => this.#tick(), TICK_MS)
    signal.addEventListener('abort', () => clearInterval(timer))
    this.#drawing.addEventListener('keydown', (event) => {
      pressKey(event, this.#period, this.#gestures)
    })
    this.#describe()
    this.#loader.load(this.#period)
    this.#showPeriod()
  }

  get title() {
    return this.#sensor?.alias ?? 'Sensor'
  }

  get id() {
    return this.#id
  }

  /** Draws, once the page is in the document and has a size. */
  async open() {
    const chart = await Chart.draw(this.#drawing, {
      onCursor: (index) => this.#read(index),
      onSelect: (fromMs, toMs) => this.#go(fixedPeriod(fromMs, toMs, nowMs()), 'push'),
    })
    if (this.#closing.signal.aborted) return chart.remove()
    this.#chart = chart
    listenToPointers(chart, this.#gestures)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const { signal } = this.#closing
    scheme.addEventListener('change', () => chart.recolor(), { signal })
    document.addEventListener('thermolog-theme', () => chart.recolor(), { signal })
    chart.showPeriod(this.#period.fromMs, this.#period.toMs)
    if (this.#history !== undefined) this.#show(this.#history)
  }

  /** Shows the period of another URL. @param {string} name */
  navigate(name) {
    this.#go(periodNamed(name, nowMs()), 'keep')
  }

  focus() {
    this.#head.focus()
  }

  close() {
    this.#closing.abort()
    this.#loader.stop()
    this.#chart?.remove()
  }

  #gestures = {
    zoom: (/** @type {number} */ factor, /** @type {number} */ atMs) => {
      this.#go(zoomed(this.#period, factor, atMs, nowMs()), 'replace')
    },
    move: (/** @type {number} */ byMs) => {
      this.#go(moved(this.#period, byMs, nowMs()), 'replace')
    },
    moveToNow: () => this.#go(livePeriod(this.#spanMs, nowMs()), 'replace'),
    step: (/** @type {number} */ points) => this.#step(points),
    leave: () => this.#chart?.point(),
    touch: (/** @type {number} */ clientX) => {
      if (this.#chart !== undefined) this.#pointAt(this.#chart.timeAt(clientX))
    },
  }

  get #sensor() {
    return this.#fleet.sensors.get(this.#id)
  }

  get #spanMs() {
    return this.#period.toMs - this.#period.fromMs
  }

  get #middleMs() {
    return (this.#period.fromMs + this.#period.toMs) / 2
  }

  #page() {
    const back = element('a', { class: 'back', href: '#/' }, icon('back'), 'Sensors')
    const sheet = element(
      'section',
      { class: 'sheet', 'aria-label': 'History' },
      element('div', { class: 'sheet-head' }, this.#readout.root, this.#controls.spans),
      this.#drawing,
      this.#note,
      this.#controls.steps,
    )
    const outside = [this.#keys, this.#said, this.#table]
    return element('article', { class: 'sensor' }, back, this.#head.root, sheet, ...outside)
  }

  /** @param {Period} period @param {'push' | 'replace' | 'keep'} how the address follows */
  #go(period, how) {
    this.#period = period
    this.#chart?.point()
    this.#showPeriod()
    this.#loader.loadSoon(period, how === 'replace')
    const address = `#/sensors/${this.#id}/${periodName(period)}`
    if (how === 'push' && address !== location.hash) history.pushState(null, '', address)
    if (how === 'replace') history.replaceState(null, '', address)
  }

  #showPeriod() {
    const { fromMs, toMs } = this.#period
    this.#chart?.showPeriod(fromMs, toMs)
    this.#controls.show(this.#period)
    if (this.#pointed === undefined) this.#summarize()
  }

  #tick() {
    this.#describe()
    if (!this.#period.isLive || document.hidden) return
    this.#period = ofNow(this.#period, nowMs())
    this.#showPeriod()
  }

  /** @param {number} [changedId] @param {number} [changedFromMs] */
  #update(changedId, changedFromMs = Infinity) {
    if (changedId !== undefined && changedId !== this.#id) return
    const before = this.#compensation
    this.#describe()
    this.#tick()
    const isRecalibrated = before !== undefined && this.#compensation !== before
    if (isRecalibrated) this.#loader.load(this.#period)
    else if (
      changedFromMs < this.#period.toMs ||
      (changedFromMs < Infinity && this.#period.isLive)
    ) {
      this.#loader.readOn(this.#period, changedFromMs)
    }
  }

  /** `undefined`: the sensor is not known yet. @type {number | undefined} */
  #compensation

  #describe() {
    const sensor = this.#sensor
    if (sensor === undefined) {
      if (this.#fleet.isLoaded) this.#head.showNone()
      return
    }
    this.#compensation = sensor.compensation
    this.#head.show(sensor, this.#fleet.asOfMs === undefined)
    this.#drawing.setAttribute('aria-label', `Temperature of ${sensor.alias}`)
    this.#explainEmpty()
    setTitle(sensor.alias)
  }

  /** @param {History} history */
  #show(history) {
    this.#history = history
    this.#chart?.showHistory(history)
    this.#pointed = undefined
    this.#summarize()
    this.#read(this.#chart?.pointed)
    this.#explainEmpty()
    // The chart comes first, because 1,500 rows take a moment.
    setTimeout(() => void this.#fillTable(history), TABLE_DELAY_MS)
  }

  /** Seen or not, it is there for those who listen. @param {boolean} isShown */
  #showTable(isShown) {
    this.#table.classList.toggle('hidden-text', !isShown)
    // Scrollable content must be reachable by keyboard.
    this.#table.tabIndex = isShown ? 0 : -1
  }

  /** @param {History} history */
  async #fillTable(history) {
    const { historyTable } = await import('./history-table.js')
    if (this.#history === history) this.#table.replaceChildren(historyTable(this.title, history))
  }

  #explainEmpty() {
    if (this.#history?.startsMs.length !== 0) return
    const latest = this.#sensor?.latest
    const asOf = latest && moment(Date.parse(latest.timestamp), nowMs())
    const last = asOf ? ` Last reading: ${asOf}.` : ''
    setText(this.#note, `No measurements in this period.${last}`)
  }

  /** @param {number | undefined} index */
  #read(index) {
    if (index === this.#pointed || this.#history === undefined) return
    this.#pointed = index
    if (index === undefined) return this.#summarize()
    this.#readout.showPoint(this.#history, index)
  }

  #summarize() {
    this.#readout.showPeriod(this.#period, this.#history)
  }

  /** @param {number} points */
  #step(points) {
    const length = this.#history?.startsMs.length ?? 0
    if (length === 0) return
    const from = this.#pointed ?? (points > 0 ? -1 : length)
    this.#chart?.point(Math.min(length - 1, Math.max(0, from + points)))
    setText(this.#said, this.#readout.text)
  }

  /** @param {number} atMs */
  #pointAt(atMs) {
    const { startsMs = [], bucketMs = 0 } = this.#history ?? {}
    const distances = startsMs.map((startMs) => Math.abs(startMs + bucketMs / 2 - atMs))
    const nearest = distances.indexOf(Math.min(...distances))
    this.#chart?.point(nearest === -1 ? undefined : nearest)
  }
}

/** The chart's initial period. */
export const FIRST_PERIOD = periodName(livePeriod(DAY_MS, 0))
