// A chart's buttons: periods, dates, steps, zoom, now, the table, and full screen. They can do
// everything that gestures can.

import { button, element, icon } from './element.js'
import { nowMs } from './clock.js'
import { DatePicker } from './date-picker.js'
import { SPANS, ofSpan } from './period.js'

/**
 * @import { Period } from './period.js'
 * @typedef {{
 *   readonly onPeriod: (period: Period) => void,
 *   readonly onMove: (share: number) => void,
 *   readonly onZoom: (factor: number) => void,
 *   readonly onNow: () => void,
 *   readonly onTable: (isShown: boolean) => void,
 * }} ControlEvents
 */

const ZOOM = 2

export class ChartControls {
  /** @type {HTMLElement} */
  spans
  /** @type {HTMLElement} */
  dates
  /** @type {HTMLElement} */
  steps
  /** @type {HTMLButtonElement[]} */
  #spanButtons
  /** @type {Period} */
  #period = { fromMs: 0, toMs: 0, isLive: true }
  #picker
  #now
  #later
  #fullScreen = toggle('Full screen', icon('full'), (isFull) => {
    this.steps.closest('.sheet')?.classList.toggle('is-full', isFull)
  })

  /** @param {ControlEvents} events */
  constructor({ onPeriod, onMove, onZoom, onNow, onTable }) {
    this.#spanButtons = SPANS.map(({ label, title, spanMs }) =>
      button(
        { title, 'aria-pressed': 'false' },
        () => onPeriod(ofSpan(this.#period, spanMs, nowMs())),
        label,
      ),
    )
    this.spans = element('div', { class: 'spans', role: 'group', 'aria-label': 'Period' })
    this.spans.append(...this.#spanButtons)
    this.#picker = new DatePicker(onPeriod)
    this.dates = this.#picker.root
    this.#now = button({}, onNow, 'Now')
    this.#later = button({ label: 'Next' }, () => onMove(1), icon('forward'))
    this.steps = element(
      'div',
      { class: 'steps', role: 'group', 'aria-label': 'Chart' },
      button({ label: 'Previous' }, () => onMove(-1), icon('back')),
      this.#later,
      this.#now,
      button({ label: 'Zoom out' }, () => onZoom(ZOOM), icon('minus')),
      button({ label: 'Zoom in' }, () => onZoom(1 / ZOOM), icon('plus')),
      element('div', { class: 'tools' }, ...this.#tools(onTable)),
    )
  }

  /** @param {Period} period */
  show(period) {
    const { fromMs, toMs, isLive } = period
    this.#period = period
    for (const [at, { spanMs }] of SPANS.entries()) {
      this.#spanButtons[at]?.setAttribute('aria-pressed', String(spanMs === toMs - fromMs))
    }
    this.#now.disabled = isLive
    this.#later.disabled = isLive
    this.#picker.show(period)
  }

  leaveFullScreen() {
    if (this.#fullScreen.getAttribute('aria-pressed') === 'true') this.#fullScreen.click()
  }

  /** @param {ControlEvents['onTable']} onTable */
  #tools(onTable) {
    return [
      toggle('Dates', icon('dates'), (isShown) => (this.dates.hidden = !isShown)),
      toggle('Table', icon('table'), (isShown) => {
        this.leaveFullScreen()
        onTable(isShown)
      }),
      this.#fullScreen,
    ]
  }
}

/**
 * @param {string} label
 * @param {SVGElement} picture
 * @param {(isOn: boolean) => void} onToggle
 */
function toggle(label, picture, onToggle) {
  const made = button(
    { label, title: label, 'aria-pressed': 'false' },
    () => {
      const isOn = made.getAttribute('aria-pressed') !== 'true'
      made.setAttribute('aria-pressed', String(isOn))
      onToggle(isOn)
    },
    picture,
  )
  return made
}
