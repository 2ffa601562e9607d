// The dashboard's search, filter, order and form: cards, or a table with a row for each sensor.
// Order and form are kept on the device.

import { button, element, icon, setText } from './element.js'
import { count } from './format.js'

/**
 * @import { Choice } from './fleet-order.js'
 * @typedef {{ readonly onChange: () => void, readonly onEnter: () => void }} ToolEvents
 */

const KEPT = 'thermolog.dashboard'

/** The orders of cards; a table has one for each column, see list-head.js. */
const ORDERS = {
  state: 'Attention first',
  name: 'By name',
  temp: 'Warmest first',
  '-temp': 'Coldest first',
  seen: 'Longest silent first',
}

export class DashboardTools {
  #search = element('input', {
    type: 'search',
    id: 'search',
    autocomplete: 'off',
    placeholder: 'Search',
    'aria-label': 'Search sensors',
  })
  #lost = button({ class: 'lost', 'aria-pressed': 'false' }, () => this.#press(this.#lost))
  #orders = element(
    'select',
    { 'aria-label': 'Order' },
    ...Object.entries(ORDERS).map(([value, text]) => element('option', { value }, text)),
  )
  #table
  #order
  #onChange
  root

  /** @param {ToolEvents} events */
  constructor({ onChange, onEnter }) {
    this.#onChange = onChange
    const { order = 'state', isTable = false } = /** @type {Partial<Choice>} */ (
      JSON.parse(localStorage.getItem(KEPT) ?? '{}')
    )
    this.#order = order
    this.#table = button(
      { label: 'Table', title: 'Table', 'aria-pressed': String(isTable) },
      () => this.#press(this.#table),
      icon('list'),
    )
    this.#search.addEventListener('input', onChange)
    this.#search.addEventListener('keydown', ({ key }) => {
      if (key === 'Enter') onEnter()
    })
    this.#orders.addEventListener('change', () => this.orderBy(this.#orders.value))
    this.root = element(
      'div',
      { class: 'list-tools' },
      element('label', { class: 'search' }, icon('search'), this.#search),
      this.#table,
      this.#lost,
      this.#orders,
    )
    this.#showOrder()
  }

  /** @returns {Choice} */
  get choice() {
    return {
      words: this.#search.value,
      isLostOnly: isPressed(this.#lost),
      order: this.#order,
      isTable: isPressed(this.#table),
    }
  }

  /** @param {string} order */
  orderBy(order) {
    this.#order = order
    this.#keep()
  }

  /** Shows all sensors again. */
  clear() {
    this.#search.value = ''
    this.#lost.setAttribute('aria-pressed', 'false')
    this.#onChange()
    this.#search.focus()
  }

  /** @param {number | undefined} lost how many sensors need attention, if that is known */
  showLost(lost) {
    const text = `${count(lost ?? 0)} ${lost === 1 ? 'needs' : 'need'} attention`
    setText(this.#lost, lost === undefined ? 'Needs attention' : text)
    const isHidden = !lost && !isPressed(this.#lost)
    if (isHidden && document.activeElement === this.#lost) this.#search.focus()
    this.#lost.hidden = isHidden
  }

  /** @param {HTMLButtonElement} pressed */
  #press(pressed) {
    pressed.setAttribute('aria-pressed', String(!isPressed(pressed)))
    this.#keep()
  }

  #keep() {
    this.#showOrder()
    const { order, isTable } = this.choice
    localStorage.setItem(KEPT, JSON.stringify({ order, isTable }))
    this.#onChange()
  }

  #showOrder() {
    const { isTable } = this.choice
    // Cards have no heads to choose the other orders.
    if (!isTable && !(this.#order in ORDERS)) this.#order = 'state'
    this.#orders.value = this.#order
    this.#orders.hidden = isTable
  }
}

/** @param {HTMLButtonElement} toggle */
function isPressed(toggle) {
  return toggle.getAttribute('aria-pressed') === 'true'
}
