// The place of a chart's table. It is always there for screen readers; the chart comes first,
// because a table takes a moment.

import { element } from './element.js'

/**
 * @import { Sensor } from './api.js'
 * @import { History } from './history.js'
 * @import { HistoryTable } from './history-table.js'
 * @typedef {{
 *   readonly sensors: readonly Sensor[], readonly histories: readonly History[] | undefined,
 * }} TableContent `undefined`: not read yet
 */

const FILL_MS = 300
/** A value a second makes 500 rows a second: too many for a screen reader. */
const FILL_HIDDEN_MS = 5_000

export class TablePanel {
  root = element('div', { class: 'table hidden-text', role: 'region', 'aria-label': 'Table' })
  #contentOf
  /** The period's table, once filled. @type {HistoryTable | undefined} */
  #table
  /** Whether it was opened and must still be scrolled into view. */
  #isSought = false
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer

  /** @param {() => TableContent} contentOf */
  constructor(contentOf) {
    this.#contentOf = contentOf
  }

  /** @param {boolean} isShown */
  show(isShown) {
    this.root.classList.toggle('hidden-text', !isShown)
    // Scrollable content must be reachable by keyboard.
    this.root.tabIndex = isShown ? 0 : -1
    this.#isSought = isShown
    this.#comeIntoSight()
    this.fillSoon()
  }

  /** From now on its rows are of another period. */
  forget() {
    this.#table = undefined
  }

  fillSoon() {
    const isHidden = this.root.classList.contains('hidden-text')
    if (isHidden && this.#table !== undefined) {
      this.#timer ??= setTimeout(() => void this.#fill(), FILL_HIDDEN_MS)
      return
    }
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#fill(), FILL_MS)
  }

  close() {
    clearTimeout(this.#timer)
  }

  async #fill() {
    this.#timer = undefined
    const { HistoryTable } = await import('./history-table.js')
    const { sensors, histories } = this.#contentOf()
    if (histories === undefined) return
    if (histories.length === 0 || sensors.length < histories.length) {
      this.forget()
      this.root.replaceChildren()
      return
    }
    if (this.#table === undefined) {
      this.#table = new HistoryTable()
      this.root.replaceChildren(...this.#table.parts)
    }
    this.#table.show(sensors, histories)
    this.#comeIntoSight()
  }

  #comeIntoSight() {
    if (!this.#isSought || this.#table === undefined) return
    this.#isSought = false
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches
    this.root.scrollIntoView({ behavior: isStill ? 'auto' : 'smooth' })
  }
}
