// The chart itself, drawn by uPlot: the mean as a line, minimum to maximum as a band behind it,
// gaps left open, labels in local time. It draws and reports the cursor; gestures are elsewhere.

import { temperatureMarks, timeMarks } from './format.js'
import { brokenAtGaps } from './history.js'

/**
 * @import uPlot from 'uplot'
 * @import { History } from './history.js'
 * @typedef {{
 *   readonly onCursor: (index: number | undefined) => void,
 *   readonly onSelect: (fromMs: number, toMs: number) => void,
 * }} ChartEvents `index` is that of the history's point
 */

const AXIS_PX = 46
const CELSIUS_MIN = 1
/** Points further apart than this get a dot each. */
const SPARSE_PX = 22
const SELECT_PX_MIN = 8
/** The index of the series with the line. */
const MEAN = 1

/** Waits for uPlot, which index.html loads beside the page. @returns {Promise<typeof uPlot>} */
async function loadedPlot() {
  const script = /** @type {HTMLScriptElement} */ (document.getElementById('uplot'))
  const global = /** @type {{ uPlot?: typeof uPlot }} */ (globalThis)
  if (global.uPlot === undefined) {
    await new Promise((resolve, reject) => {
      script.addEventListener('load', resolve)
      script.addEventListener('error', reject)
    })
  }
  return /** @type {typeof uPlot} */ (global.uPlot)
}

export class Chart {
  /** @type {HTMLElement} */
  #place
  /** @type {ChartEvents} */
  #events
  /** @type {uPlot} */
  #plot
  /** The indexes of the history's points by column. @type {number[]} */
  #points = []
  /** Columns that have a gap on both sides. @type {number[]} */
  #alone = []
  #size

  /**
   * @param {HTMLElement} place
   * @param {ChartEvents} events
   */
  static async draw(place, events) {
    return new Chart(await loadedPlot(), place, events)
  }

  /**
   * @param {typeof uPlot} Plot
   * @param {HTMLElement} place
   * @param {ChartEvents} events
   */
  constructor(Plot, place, events) {
    this.#place = place
    this.#events = events
    this.#plot = new Plot(this.#options(), [[], [], [], []], place)
    this.#size = new ResizeObserver(() => this.#plot.setSize(sizeOf(place)))
    this.#size.observe(place)
  }

  /** The element that takes pointer events: the area inside the axes. */
  get surface() {
    return this.#plot.over
  }

  /** @param {number} clientX of a pointer @returns the time there */
  timeAt(clientX) {
    return this.#plot.posToVal(clientX - this.surface.getBoundingClientRect().left, 'x')
  }

  /** @param {number} fromMs @param {number} toMs */
  showPeriod(fromMs, toMs) {
    this.#plot.setScale('x', { min: fromMs, max: toMs })
  }

  /** @param {History} history */
  showHistory(history) {
    const columns = brokenAtGaps(history)
    const means = columns[1]
    let point = 0
    this.#points = means.map((mean) => (mean === null ? -1 : point++))
    this.#alone = means.flatMap((mean, at) => {
      return mean !== null && (means[at - 1] ?? null) === null && (means[at + 1] ?? null) === null
        ? [at]
        : []
    })
    if (history.bucketMs > 0) this.#plot.setData(columns, false)
    else this.#plot.setData([columns[0], means, blank(means), blank(means)], false)
    this.#plot.redraw(true, true)
  }

  /** Puts the cursor on a point of the history, or takes it away. @param {number} [index] */
  point(index) {
    const column = index === undefined ? -1 : this.#points.indexOf(index)
    const atMs = this.#plot.data[0][column]
    const left = atMs === undefined ? -10 : this.#plot.valToPos(atMs, 'x')
    this.#plot.setCursor({ left, top: atMs === undefined ? -10 : 10 })
  }

  /** The history's point under the cursor. */
  get pointed() {
    return this.#pointAt(this.#plot.cursor.idx)
  }

  /** Applies the page's colours again. */
  recolor() {
    this.#plot.redraw(false, true)
  }

  remove() {
    this.#size.disconnect()
    this.#plot.destroy()
  }

  /** @returns {uPlot.Options} */
  #options() {
    const accent = () => this.#color('accent')
    const hidden = { stroke: 'transparent', width: 0, points: { show: false } }
    return {
      ...sizeOf(this.#place),
      ms: 1,
      legend: { show: false },
      padding: [12, 12, 0, 0],
      scales: { x: { time: true }, y: { range: (_plot, min, max) => temperatureRange(min, max) } },
      axes: this.#axes(),
      series: [
        {},
        { stroke: accent, width: 2, points: this.#pointOptions(accent) },
        hidden,
        hidden,
      ],
      bands: [{ series: [3, 2], fill: () => this.#color('band') }],
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false, dist: SELECT_PX_MIN },
        points: {
          size: 9,
          width: 2,
          stroke: (_plot, series) => (series === MEAN ? this.#color('surface') : 'transparent'),
          fill: (_plot, series) => (series === MEAN ? accent() : 'transparent'),
        },
      },
      hooks: {
        setCursor: [({ cursor }) => this.#events.onCursor(this.#pointAt(cursor.idx))],
        setSelect: [(plot) => this.#select(plot)],
      },
    }
  }

  /** @returns {uPlot.Axis[]} */
  #axes() {
    const common = {
      stroke: () => this.#color('muted'),
      grid: { stroke: () => this.#color('grid'), width: 1 },
      ticks: { show: false },
      font: `12px ${getComputedStyle(this.#place).fontFamily}`,
    }
    return [
      {
        ...common,
        size: 44,
        gap: 8,
        space: 72,
        values: (...[, marks, , , step]) => timeMarks(marks, step),
      },
      {
        ...common,
        size: AXIS_PX,
        gap: 8,
        space: 44,
        values: (...[, marks, , , step]) => temperatureMarks(marks, step),
      },
    ]
  }

  /** @param {() => string} color @returns {uPlot.Series.Points} */
  #pointOptions(color) {
    return {
      show: true,
      size: 5,
      stroke: color,
      fill: color,
      filter: (plot, _series, _isShown) => {
        const [first = 0, last = 0] = plot.series[0]?.idxs ?? []
        const isSparse = plot.bbox.width / devicePixelRatio / (last - first + 1) > SPARSE_PX
        if (!isSparse) return this.#alone
        return Array.from({ length: last - first + 1 }, (_, at) => first + at)
      },
    }
  }

  /** @param {uPlot} plot */
  #select(plot) {
    const { left, width } = plot.select
    if (width < SELECT_PX_MIN) return
    const [fromMs, toMs] = [plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')]
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
    this.#events.onSelect(fromMs, toMs)
  }

  /** @param {number | null | undefined} column */
  #pointAt(column) {
    const point = column === null || column === undefined ? -1 : (this.#points[column] ?? -1)
    return point === -1 ? undefined : point
  }

  /** The computed value of a colour of page.css. @param {string} name */
  #color(name) {
    const probe = /** @type {HTMLElement} */ (document.getElementById('color'))
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
}

/** @param {HTMLElement} place */
function sizeOf({ clientWidth, clientHeight }) {
  return { width: Math.max(120, clientWidth), height: Math.max(160, clientHeight) }
}

/** @param {readonly unknown[]} column @returns {null[]} */
function blank(column) {
  return column.map(() => null)
}

/**
 * A little air above and below, and no less than a degree.
 *
 * @param {number | null} min
 * @param {number | null} max
 * @returns {[number, number]}
 */
function temperatureRange(min, max) {
  if (min === null || max === null) return [0, 30]
  const air = Math.max((max - min) * 0.08, (CELSIUS_MIN - (max - min)) / 2)
  return [min - air, max + air]
}
