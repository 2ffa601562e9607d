// The place of a chart's table. Seen or not, it is there for those who listen; the chart comes
// first, because a table takes a moment.

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
/** A value a second makes 500 rows a second: too many for those who may be listening. */
const FILL_HIDDEN_MS = 5_000

export class TablePanel {
  root = element('div', { class: 'table hidden-text', role: 'region', 'aria-label': 'Table' })
  #contentOf
  /** That of the period, if it is filled. @type {HistoryTable | undefined} */
  #table
  /** Whether it has been opened and has yet to be brought into sight. */
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

  /** What it has is of another period from now on. */
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
