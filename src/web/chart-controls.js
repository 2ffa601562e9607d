// The buttons of a chart: periods, steps, zoom, now, and the table. They can do everything that
// gestures can.

import { button, element, icon } from './element.js'
import { SPANS } from './period.js'

/**
 * @import { Period } from './period.js'
 * @typedef {{
 *   readonly onSpan: (spanMs: number) => void,
 *   readonly onMove: (share: number) => void,
 *   readonly onZoom: (factor: number) => void,
 *   readonly onNow: () => void,
 *   readonly onTable: (isShown: boolean) => void,
 * }} ControlEvents
 */

const MOVE_SHARE = 0.5
const ZOOM = 2

export class ChartControls {
  /** @type {HTMLElement} */
  spans
  /** @type {HTMLElement} */
  steps
  /** @type {HTMLButtonElement[]} */
  #spanButtons
  /** @type {HTMLButtonElement} */
  #now
  /** @type {HTMLButtonElement} */
  #later

  /** @param {ControlEvents} events */
  constructor({ onSpan, onMove, onZoom, onNow, onTable }) {
    this.#spanButtons = SPANS.map(({ label, title, spanMs }) =>
      button({ title, 'aria-pressed': 'false' }, () => onSpan(spanMs), label),
    )
    this.spans = element('div', { class: 'spans', role: 'group', 'aria-label': 'Period' })
    this.spans.append(...this.#spanButtons)
    this.#now = button({ class: 'now-button' }, onNow, 'Now')
    this.#later = button({ label: 'Later' }, () => onMove(MOVE_SHARE), icon('forward'))
    const table = button(
      { 'aria-pressed': 'false', class: 'table-button' },
      () => {
        const isShown = table.getAttribute('aria-pressed') !== 'true'
        table.setAttribute('aria-pressed', String(isShown))
        onTable(isShown)
      },
      icon('table'),
      'Table',
    )
    this.steps = element(
      'div',
      { class: 'steps', role: 'group', 'aria-label': 'Chart' },
      button({ label: 'Earlier' }, () => onMove(-MOVE_SHARE), icon('back')),
      this.#later,
      this.#now,
      button({ label: 'Zoom out' }, () => onZoom(ZOOM), icon('minus')),
      button({ label: 'Zoom in' }, () => onZoom(1 / ZOOM), icon('plus')),
      table,
    )
  }

  /** @param {Period} period */
  show({ fromMs, toMs, isLive }) {
    for (const [at, { spanMs }] of SPANS.entries()) {
      const isShown = isLive && spanMs === toMs - fromMs
      this.#spanButtons[at]?.setAttribute('aria-pressed', String(isShown))
    }
    this.#now.disabled = isLive
    this.#later.disabled = isLive
  }
}
