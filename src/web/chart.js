// The chart itself, drawn by uPlot. One line: the mean, with minimum to maximum as a band behind;
// several lines: their means. A dot is the latest value, which the line may not have reached yet.
// Gaps are left open, labels are in local time. It draws and reports the cursor; gestures are
// elsewhere.

import { chartColumns } from './chart-columns.js'
import { temperatureMarks, timeMarks } from './format.js'
import { pointAt } from './history.js'
import { differenceInUnit, inUnit } from './locale.js'

/**
 * @import uPlot from 'uplot'
 * @import { Sensor } from './api.js'
 * @import { Drawn } from './chart-columns.js'
 * @import { History } from './history.js'
 * @import { Period } from './period.js'
 * @typedef {{
 *   readonly history: History, readonly color: string, readonly isDashed: boolean,
 *   readonly latest?: Sensor['latest'], readonly isHidden?: boolean,
 * }} Line `color` names one in the style sheet; `latest` gets a dot; a hidden line is read out,
 *   but neither drawn nor fitted into the scale
 * @typedef {{
 *   readonly onCursor: (cursor: Cursor | undefined) => void,
 *   readonly onSelect: (fromMs: number, toMs: number) => void,
 * }} ChartEvents
 * @typedef {{
 *   readonly atMs: number, readonly points: readonly (number | undefined)[],
 * }} Cursor the index of each line's point; `undefined` if it has none
 */

const AXIS_GAP_PX = 8
const AXIS_PX_MIN = 28
const FONT_REM = 0.75
const CELSIUS_MIN = 1
const HOUR_MS = 3_600_000
/** Points further apart than this get a dot each. */
const SPARSE_PX = 22
const LATEST_PX = 8
const SELECT_PX_MIN = 8
/** The cursor snaps to points within this distance. */
const SNAP_PX = 6
const DASH = [6, 4]

/** Waits for uPlot, which index.html loads alongside the page. @returns {Promise<typeof uPlot>} */
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
  #Plot
  #place
  #events
  #pen = /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'))
  /** @type {readonly Line[]} */
  #lines = []
  /** @type {readonly Drawn[]} */
  #drawn = []
  #shown = { fromMs: 0, toMs: 0 }
  #plot
  #size

  /** @param {HTMLElement} place @param {ChartEvents} events */
  static async draw(place, events) {
    return new Chart(await loadedPlot(), place, events)
  }

  /**
   * @param {typeof uPlot} Plot
   * @param {HTMLElement} place
   * @param {ChartEvents} events
   */
  constructor(Plot, place, events) {
    this.#Plot = Plot
    this.#place = place
    this.#events = events
    this.#plot = this.#newPlot()
    this.#size = new ResizeObserver(() => this.#plot.setSize(sizeOf(place)))
    this.#size.observe(place)
  }

  /** @param {number} clientX of a pointer @returns {number} the time there */
  timeAt(clientX) {
    return this.#plot.posToVal(clientX - this.#plot.over.getBoundingClientRect().left, 'x')
  }

  /** @param {Period} period */
  showPeriod({ fromMs, toMs, isLive }) {
    // The dot of a current value must not be cut off.
    const edgeMs = isLive ? ((toMs - fromMs) * LATEST_PX) / sizeOf(this.#place).width : 0
    this.#shown = { fromMs, toMs: toMs + edgeMs }
    this.#scale()
  }

  /** @param {readonly Line[]} lines */
  showLines(lines) {
    const isOtherKind = seriesOf(lines) !== seriesOf(this.#lines)
    this.#lines = lines
    if (isOtherKind) {
      this.#plot.destroy()
      this.#plot = this.#newPlot()
    }
    const { data, drawn } = chartColumns(lines.map(({ history }) => history))
    this.#drawn = drawn
    this.#plot.setData(data, false)
    for (const [at, { isHidden }] of lines.entries()) {
      this.#plot.setSeries(at + 1, { show: isHidden !== true })
    }
    this.#plot.redraw(true, true)
    // A new plot has no scale to keep yet.
    this.#scale()
    // The cursor stays in place and may now be on another point.
    const { left = -1, top = -1 } = this.#plot.cursor
    this.#plot.setCursor({ left, top })
  }

  /** Puts the cursor at a time, or removes it. @param {number} [atMs] */
  point(atMs) {
    const left = atMs === undefined ? -10 : this.#plot.valToPos(atMs, 'x')
    this.#plot.setCursor({ left, top: atMs === undefined ? -10 : 10 })
  }

  /** Moves the cursor by some points, first to an end of the visible part. @param {number} by */
  step(by) {
    const { fromMs, toMs } = this.#shown
    const times = this.#plot.data[0]
    const columns = [...new Set(this.#drawn.flatMap((line) => line.columns))]
      .sort((one, other) => one - other)
      .filter((column) => isWithin(times[column], fromMs, toMs))
    const { idx, left = -1 } = this.#plot.cursor
    const current = left < 0 || typeof idx !== 'number' ? -1 : columns.findIndex((c) => c >= idx)
    const from = current === -1 && by < 0 ? columns.length : current
    const column = columns[Math.min(columns.length - 1, Math.max(0, from + by))]
    this.point(column === undefined ? undefined : times[column])
  }

  /** Applies the page's colours again. */
  recolor() {
    this.#plot.redraw(false, true)
  }

  remove() {
    this.#size.disconnect()
    this.#plot.destroy()
  }

  #scale() {
    const { fromMs, toMs } = this.#shown
    this.#plot.setScale('x', { min: fromMs, max: toMs })
  }

  #newPlot() {
    const options = this.#options()
    return new this.#Plot(options, [[], ...options.series.slice(1).map(() => [])], this.#place)
  }

  /** @returns {uPlot.Options} */
  #options() {
    const isBand = hasBand(this.#lines)
    const hidden = { stroke: 'transparent', width: 0, points: { show: false } }
    const edge = () => Math.max(12, this.#timeMarksPx / 2)
    return {
      ...sizeOf(this.#place),
      ms: 1,
      legend: { show: false },
      padding: [12, edge, 0, (_plot, _side, [, , , hasAxis]) => (hasAxis ? 0 : edge())],
      scales: { x: { time: true }, y: { range: (_plot, min, max) => this.#range(min, max) } },
      axes: this.#axes(),
      series: [
        {},
        ...this.#lines.map((line, at) => this.#series(line, at)),
        ...(isBand ? [hidden, hidden] : []),
      ],
      ...(isBand && { bands: [{ series: [3, 2], fill: () => this.#color('band') }] }),
      cursor: this.#cursorOptions(),
      hooks: {
        draw: [(plot) => this.#drawLatest(plot)],
        setCursor: [() => this.#events.onCursor(this.#cursor())],
        setSelect: [(plot) => this.#select(plot)],
      },
    }
  }

  /** @param {Line} line @param {number} at its index @returns {uPlot.Series} */
  #series({ color, isDashed }, at) {
    const stroke = () => this.#color(color)
    return {
      stroke,
      width: 2,
      ...(isDashed && { dash: DASH }),
      points: {
        show: true,
        size: 5,
        stroke,
        fill: stroke,
        filter: (plot) => this.#dotsOf(plot, at),
      },
    }
  }

  /** @returns {uPlot.Cursor} */
  #cursorOptions() {
    const colorOf = (/** @type {number} */ series) => this.#lines[series - 1]?.color
    const isLine = (/** @type {number} */ series) => colorOf(series) !== undefined
    return {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: SELECT_PX_MIN },
      // A double click is a gesture, see chart-gestures.js.
      bind: { dblclick: () => null },
      dataIdx: (_plot, series, closest, atMs) => {
        if (series === 0) return closest
        const line = this.#drawn[isLine(series) ? series - 1 : 0]
        const point = line && this.#pointOf(line, atMs)
        // Its type does not allow null, which uPlot takes for no value.
        const none = /** @type {number} */ (/** @type {unknown} */ (null))
        return point === undefined ? none : (line?.columns[point] ?? none)
      },
      points: {
        size: 9,
        width: 2,
        stroke: (_plot, series) => (isLine(series) ? this.#color('surface') : 'transparent'),
        fill: (_plot, series) => this.#color(colorOf(series) ?? 'none'),
      },
    }
  }

  /** The width of the widest label of the time axis. */
  #timeMarksPx = 0

  /** @returns {uPlot.Axis[]} */
  #axes() {
    const remPx = parseFloat(getComputedStyle(document.documentElement).fontSize)
    const font = `${FONT_REM * remPx}px ${getComputedStyle(this.#place).fontFamily}`
    const widest = (/** @type {readonly string[]} */ labels) => {
      this.#pen.font = font
      const lines = labels.flatMap((label) => label.split('\n'))
      return Math.ceil(Math.max(0, ...lines.map((line) => this.#pen.measureText(line).width)))
    }
    const common = {
      stroke: () => this.#color('muted'),
      grid: { stroke: () => this.#color('grid'), width: 1 },
      ticks: { show: false },
      font,
      gap: AXIS_GAP_PX,
    }
    return [
      {
        ...common,
        size: 2.75 * remPx,
        space: 4.75 * remPx,
        values: (...[, marks, , , step]) => {
          const labels = timeMarks(marks, step)
          this.#timeMarksPx = widest(labels)
          return labels
        },
      },
      {
        ...common,
        space: 2.75 * remPx,
        // Wide enough for its labels, and for half of the time axis's first label.
        size: (_plot, labels) => {
          const own = widest(labels ?? []) + AXIS_GAP_PX + 2
          return Math.max(AXIS_PX_MIN, own, this.#timeMarksPx / 2)
        },
        values: (...[, marks, , , step]) => temperatureMarks(marks, step),
      },
    ]
  }

  /** The latest values of visible lines. */
  get #latest() {
    const { fromMs, toMs } = this.#shown
    const values = this.#lines.flatMap(({ history, latest, color }) => {
      // One value may be far from the mean of an hour or a day.
      return latest && history.bucketMs < HOUR_MS
        ? [{ atMs: Date.parse(latest.timestamp), value: inUnit(latest.temp), color }]
        : []
    })
    return values.filter(({ atMs }) => isWithin(atMs, fromMs, toMs))
  }

  /** @param {number | null} min @param {number | null} max of the lines */
  #range(min, max) {
    const values = [min, max, ...this.#latest.map(({ value }) => value)]
    return temperatureRange(values.filter((value) => value !== null))
  }

  /** @param {uPlot} plot */
  #drawLatest(plot) {
    const { ctx: pen } = plot
    for (const { atMs, value, color } of this.#latest) {
      pen.beginPath()
      const [x, y] = [plot.valToPos(atMs, 'x', true), plot.valToPos(value, 'y', true)]
      pen.arc(x, y, (LATEST_PX / 2) * devicePixelRatio, 0, 2 * Math.PI)
      pen.fillStyle = this.#color(color)
      pen.fill()
    }
  }

  /**
   * The columns of a line that get a dot. @param {uPlot} plot @param {number} at the line's index
   */
  #dotsOf(plot, at) {
    const { columns = [], alone = [] } = this.#drawn[at] ?? {}
    const [first = 0, last = 0] = plot.series[0]?.idxs ?? []
    const shown = columns.filter((column) => isWithin(column, first, last))
    return plot.bbox.width / devicePixelRatio / shown.length > SPARSE_PX ? shown : [...alone]
  }

  /** @returns {Cursor | undefined} */
  #cursor() {
    const { left = -1 } = this.#plot.cursor
    if (left < 0) return undefined
    const atMs = this.#plot.posToVal(left, 'x')
    return { atMs, points: this.#drawn.map((line) => this.#pointOf(line, atMs)) }
  }

  /** @param {Drawn} line @param {number} atMs */
  #pointOf({ history, gaps }, atMs) {
    const { fromMs, toMs } = this.#shown
    const nearMs = ((toMs - fromMs) / this.#plot.over.clientWidth) * SNAP_PX
    return pointAt(history, gaps, atMs, nearMs)
  }

  /** @param {uPlot} plot */
  #select(plot) {
    const { left, width } = plot.select
    if (width < SELECT_PX_MIN) return
    const [fromMs, toMs] = [plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')]
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
    this.#events.onSelect(fromMs, toMs)
  }

  /** The computed value of a colour of page.css. @param {string} name */
  #color(name) {
    const probe = /** @type {HTMLElement} */ (document.getElementById('color'))
    probe.style.color = name === 'none' ? 'transparent' : `var(--${name})`
    return getComputedStyle(probe).color
  }
}

/** @param {readonly Line[]} lines */
function hasBand(lines) {
  return lines.length === 1 && (lines[0]?.history.bucketMs ?? 0) > 0
}

/** The series of a plot. @param {readonly Line[]} lines */
function seriesOf(lines) {
  const styles = lines.map(({ color, isDashed }) => `${color} ${isDashed}`)
  return `${styles.join()} ${hasBand(lines)}`
}

/** @param {number | undefined} number @param {number} first @param {number} last */
function isWithin(number, first, last) {
  return number !== undefined && number >= first && number <= last
}

/** @param {HTMLElement} place */
function sizeOf({ clientWidth, clientHeight }) {
  return { width: Math.max(120, clientWidth), height: Math.max(120, clientHeight) }
}

/**
 * A little space above and below, at least one degree.
 *
 * @param {readonly number[]} values in the displayed unit
 * @returns {[number, number] | [null, null]} nulls, so no axis, if there are no values
 */
function temperatureRange(values) {
  if (values.length === 0) return [null, null]
  const [min, max] = [Math.min(...values), Math.max(...values)]
  const least = differenceInUnit(CELSIUS_MIN)
  const air = Math.max((max - min) * 0.08, (least - (max - min)) / 2)
  return [min - air, max + air]
}
