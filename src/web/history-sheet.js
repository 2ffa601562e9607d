// A chart with its numbers, period, gestures, buttons and table, of one sensor or several. The view
// decides which lines to draw and what to say about the cursor. Periods are in the URL, so you can
// link to a chart; they replace each other there, so Back leaves the chart.

import { nowMs, onCorrection } from './clock.js'
import { Chart } from './chart.js'
import { ChartControls } from './chart-controls.js'
import { listenToPointers, pressKey } from './chart-gestures.js'
import { button, element, setText } from './element.js'
import { moment } from './format.js'
import { HistoryLoader } from './history-loader.js'
import {
  FIRST_PERIOD,
  fixedPeriod,
  livePeriod,
  moved,
  ofNow,
  periodName,
  periodNamed,
  zoomed,
} from './period.js'
import { TablePanel } from './table-panel.js'

/**
 * @import { Sensor } from './api.js'
 * @import { Cursor, Line } from './chart.js'
 * @import { Fleet } from './fleet.js'
 * @import { History } from './history.js'
 * @import { Period } from './period.js'
 * @typedef {readonly History[]} Histories one of each sensor, or none if they cannot be read
 * @typedef {{
 *   readonly root: HTMLElement, readonly text: string,
 *   showPeriod(period: Period, histories: Histories | undefined): void,
 *   showCursor(cursor: Cursor, histories: Histories): void,
 * }} Readout the numbers of a period, which may not be read yet, or of a point in time
 * @typedef {{
 *   readonly fleet: Fleet, readonly readout: Readout, readonly label: () => string,
 *   readonly addressOf: (periodName: string) => string,
 *   readonly linesOf: (histories: Histories) => Line[],
 * }} SheetOwner numbers are shown for the last lines, one for each history
 */

const HOUR_MS = 3_600_000
const YOUNG_PERIOD = '1h'
const TICK_MS = 5_000
/** Share of the chart left free after the last data. */
const SHARE_AFTER_LAST = 0.05
const KEYS =
  'Arrow keys move, plus and minus zoom, End goes to now, Home resets, ' +
  'Shift with arrow keys reads the points.'

export class HistorySheet {
  #sensorIds
  #owner
  /** @type {Period} */
  #period
  /** The name of the period at which gestures began. */
  #home = FIRST_PERIOD
  /** Whether a URL or a person has chosen the period. */
  #isChosen
  /** @type {Histories | undefined} */
  #histories
  /** @type {Chart | undefined} */
  #chart
  /** @type {Cursor | undefined} */
  #cursor
  #isLive = false
  #loader
  #closing = new AbortController()

  #said = element('p', { class: 'hidden-text', role: 'status' })
  #note = element('p', { class: 'note', role: 'status' })
  #toLast = button({ class: 'primary', hidden: true }, () => this.#goToLast(), 'Show latest data')
  #drawing = element('div', {
    class: 'drawing',
    tabindex: '0',
    role: 'application',
    'aria-roledescription': 'chart',
    'aria-describedby': 'chart-keys',
  })
  #plot = element(
    'div',
    { class: 'plot' },
    this.#drawing,
    element('div', { class: 'notes' }, this.#note, this.#toLast),
  )
  #keys = element('p', { id: 'chart-keys', class: 'hidden-text' }, KEYS)
  #table = new TablePanel(() => ({ sensors: this.#sensors, histories: this.#shownHistories }))
  #controls
  #sheet
  /** @type {HTMLElement} */
  root

  /**
   * @param {readonly number[]} sensorIds
   * @param {string | undefined} name of the period, if chosen
   * @param {SheetOwner} owner
   */
  constructor(sensorIds, name, owner) {
    this.#sensorIds = sensorIds
    this.#owner = owner
    this.#isChosen = name !== undefined
    this.#home = name ?? FIRST_PERIOD
    this.#period = periodNamed(this.#home, nowMs())
    this.#loader = new HistoryLoader(sensorIds, {
      onHistories: (histories) => this.#show(histories),
      onBusy: (isBusy) => this.#drawing.setAttribute('aria-busy', String(isBusy)),
      onNote: (note) => setText(this.#note, note),
    })
    this.#controls = new ChartControls({
      onPeriod: (period) => this.#goHome(period),
      onMove: (share) => this.#move(share * this.#spanMs, false),
      onZoom: (factor) => this.#gestures.zoomReading(factor),
      onNow: () => this.#goHome(livePeriod(this.#spanMs, nowMs())),
      onTable: (isShown) => this.#table.show(isShown),
    })
    this.#sheet = this.#section()
    this.root = element('div', {}, this.#sheet, this.#keys, this.#said, this.#table.root)
    this.#listen()
    this.describe()
    this.#loader.load(this.#period)
    this.#showPeriod()
  }

  get periodName() {
    return periodName(this.#period)
  }

  /** Draws, once the page is in the document and has a size. */
  async open() {
    const chart = await Chart.draw(this.#drawing, {
      onCursor: (cursor) => this.#read(cursor),
      onSelect: (fromMs, toMs) => this.#go(fixedPeriod(fromMs, toMs, nowMs())),
    })
    if (this.#closing.signal.aborted) return chart.remove()
    this.#chart = chart
    listenToPointers(this.#drawing, chart, this.#gestures)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', () => chart.recolor(), { signal: this.#closing.signal })
    chart.showPeriod(this.#period)
    this.#redraw()
  }

  /** Shows the period of a new URL. @param {string | undefined} name */
  navigate(name) {
    this.#home = name ?? FIRST_PERIOD
    this.#go(periodNamed(this.#home, nowMs()), { isKept: true })
    this.#isChosen = name !== undefined
  }

  /** Shows changed lines and their numbers. */
  refresh() {
    this.#redraw()
    this.#read(this.#cursor)
    this.#table.fillSoon()
  }

  /** Updates the chart's description. */
  describe() {
    this.#drawing.setAttribute('aria-label', this.#owner.label())
    this.#explainEmpty()
  }

  close() {
    this.#closing.abort()
    this.#table.close()
    this.#loader.stop()
    this.#chart?.remove()
    this.#chart = undefined
  }

  #gestures = {
    zoom: (/** @type {number} */ factor, /** @type {number} */ atMs) => {
      this.#go(zoomed(this.#period, factor, atMs, nowMs()), { isMoving: true })
    },
    zoomReading: (/** @type {number} */ factor) => {
      const { fromMs, toMs, isLive } = this.#period
      const readMs = this.#cursor?.atMs
      this.#gestures.zoom(factor, readMs ?? (isLive ? toMs : (fromMs + toMs) / 2))
      // Once the chart has its new scale.
      if (readMs !== undefined) queueMicrotask(() => this.#chart?.point(readMs))
    },
    move: (/** @type {number} */ byMs) => this.#move(byMs, true),
    moveToNow: () => this.#go(livePeriod(this.#spanMs, nowMs())),
    reset: () => this.#go(periodNamed(this.#home, nowMs())),
    step: (/** @type {number} */ points) => {
      this.#chart?.step(points)
      setText(this.#said, this.#owner.readout.text)
    },
    leave: () => this.#chart?.point(),
    touch: (/** @type {number} */ clientX) => this.#chart?.point(this.#chart.timeAt(clientX)),
  }

  get #spanMs() {
    return this.#period.toMs - this.#period.fromMs
  }

  /** @returns {Sensor[]} */
  get #sensors() {
    const { sensors } = this.#owner.fleet
    return this.#sensorIds.flatMap((id) => sensors.get(id) ?? [])
  }

  #section() {
    const { readout } = this.#owner
    return element(
      'section',
      { class: 'sheet', 'aria-label': 'History' },
      element('div', { class: 'sheet-head' }, readout.root, this.#controls.spans),
      this.#controls.dates,
      this.#plot,
      this.#controls.steps,
    )
  }

  #listen() {
    const { signal } = this.#closing
    const { fleet } = this.#owner
    this.#isLive = fleet.connection === 'live'
    const unsubscribe = fleet.subscribe((changed, fromMs) => this.#update(changed, fromMs))
    signal.addEventListener('abort', unsubscribe)
    onCorrection(() => this.#correct(), signal)
    const timer = setInterval(() => this.#tick(), TICK_MS)
    signal.addEventListener('abort', () => clearInterval(timer))
    this.#sheet.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape') this.#controls.leaveFullScreen()
    })
    this.#drawing.addEventListener('keydown', (event) => {
      pressKey(event, this.#period, this.#gestures)
    })
  }

  /** @param {Period} period */
  #goHome(period) {
    this.#home = periodName(period)
    this.#go(period)
  }

  /** @param {number} byMs @param {boolean} isMoving whether more of a gesture may come */
  #move(byMs, isMoving) {
    this.#go(moved(this.#period, byMs, nowMs()), { isMoving })
  }

  #goToLast() {
    const lastMs = this.#lastMs
    if (lastMs === undefined) return
    const toMs = lastMs + this.#spanMs * SHARE_AFTER_LAST
    this.#goHome(fixedPeriod(toMs - this.#spanMs, toMs, nowMs()))
  }

  /**
   * @param {Period} period
   * @param {{ isMoving?: boolean, isKept?: boolean }} [how] whether the gesture may continue;
   *   whether the URL stays
   */
  #go(period, { isMoving = false, isKept = false } = {}) {
    this.#period = period
    this.#isChosen = true
    this.#chart?.point()
    setText(this.#said, '')
    this.#histories = undefined
    this.#table.forget()
    this.#showPeriod()
    this.#loader.loadSoon(period, isMoving)
    if (!isKept) history.replaceState(null, '', this.#owner.addressOf(periodName(period)))
  }

  #showPeriod() {
    this.#chart?.showPeriod(this.#period)
    this.#controls.show(this.#period)
    this.#read(this.#cursor)
  }

  #tick() {
    if (!this.#period.isLive || document.hidden) return
    this.#period = ofNow(this.#period, nowMs())
    this.#showPeriod()
  }

  /** The time was another. */
  #correct() {
    if (!this.#period.isLive) return
    this.#period = ofNow(this.#period, nowMs())
    this.#showPeriod()
    this.#loader.load(this.#period)
  }

  /** @param {number} [changedId] @param {number} [changedFromMs] */
  #update(changedId, changedFromMs = Infinity) {
    this.describe()
    this.#fit()
    if (changedId === undefined) return this.#catchUp(changedFromMs)
    if (!this.#sensorIds.includes(changedId)) return
    this.#tick()
    this.#redraw()
    const at = this.#sensorIds.indexOf(changedId)
    const { compensation } = this.#owner.fleet.sensors.get(changedId) ?? {}
    const known = this.#histories?.[at]?.compensation
    if (known !== undefined && compensation !== undefined && compensation !== known) {
      this.#loader.load(this.#period)
    } else if (
      changedFromMs < this.#period.toMs ||
      (changedFromMs < Infinity && this.#period.isLive)
    ) {
      this.#loader.readOn(this.#period, changedFromMs)
    }
  }

  /**
   * Reads everything again if it may have changed unnoticed: after a lost connection, and while the
   * fleet is polled.
   *
   * @param {number} changedFromMs
   */
  #catchUp(changedFromMs) {
    const wasLive = this.#isLive
    const { connection } = this.#owner.fleet
    if (connection !== 'connecting') this.#isLive = connection === 'live'
    const isBack = this.#isLive && !wasLive
    if (!isBack && connection !== 'polling' && changedFromMs === Infinity) return
    this.#tick()
    this.#loader.readOn(this.#period, -Infinity)
  }

  /** @param {Histories} histories */
  #show(histories) {
    this.#histories = histories
    this.#fit()
    this.refresh()
    this.#explainEmpty()
  }

  /** Shows the last hour of a sensor younger than that, unless somebody has chosen a period. */
  #fit() {
    const [sensor] = this.#sensors
    const firstMs = this.#histories?.[0]?.startsMs[0]
    if (this.#isChosen || sensor === undefined || firstMs === undefined) return
    this.#isChosen = true
    const begunMs = Math.min(firstMs, Date.parse(sensor.created_at))
    if (begunMs > nowMs() - HOUR_MS) this.navigate(YOUNG_PERIOD)
  }

  #redraw() {
    if (this.#histories !== undefined) this.#chart?.showLines(this.#owner.linesOf(this.#histories))
  }

  /** The histories as drawn. */
  get #shownHistories() {
    const lines = this.#histories && this.#owner.linesOf(this.#histories)
    return lines?.slice(-this.#sensorIds.length).map(({ history }) => history)
  }

  /** @returns {number | undefined} */
  get #lastMs() {
    const timesMs = this.#sensors.flatMap(({ latest }) => {
      return latest === null ? [] : [Date.parse(latest.timestamp)]
    })
    return timesMs.length === 0 ? undefined : Math.max(...timesMs)
  }

  #explainEmpty() {
    const histories = this.#histories ?? []
    const isEmpty = histories.length > 0 && histories.every(({ startsMs }) => startsMs.length === 0)
    const lastMs = this.#lastMs
    this.#plot.classList.toggle('is-empty', isEmpty)
    this.#toLast.hidden = !isEmpty || lastMs === undefined
    if (!isEmpty) return
    const last = lastMs === undefined ? '' : ` Last reading: ${moment(lastMs, nowMs())}.`
    setText(this.#note, `No measurements in this period.${last}`)
  }

  /** @param {Cursor | undefined} cursor */
  #read(cursor) {
    this.#cursor = cursor
    const { readout } = this.#owner
    const histories = this.#shownHistories
    if (cursor === undefined || histories === undefined) {
      readout.showPeriod(this.#period, histories)
    } else readout.showCursor(cursor, histories)
  }
}
