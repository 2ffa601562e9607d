// Search, filter, order and density of the dashboard. Order and density are kept on the device.

import { button, element, icon } from './element.js'

/**
 * @typedef {import('./fleet-order.js').Choice & { isCompact: boolean }} DashboardChoice
 * @typedef {{ readonly onChange: () => void, readonly onEnter: () => void }} ToolEvents
 */

const KEPT = 'thermolog.dashboard'

const SHOWN = {
  '': 'All',
  online: 'Online',
  offline: 'Offline',
  day: 'Silent for a day',
  week: 'Silent for a week',
}

const ORDERS = {
  name: 'By name',
  warmest: 'Warmest first',
  coldest: 'Coldest first',
  silent: 'Longest silent first',
}

export class DashboardTools {
  #search = element('input', {
    type: 'search',
    id: 'search',
    autocomplete: 'off',
    placeholder: 'Search',
    'aria-label': 'Search sensors',
  })
  #shown = select('Show', SHOWN)
  #order = select('Order', ORDERS)
  #compact
  root

  /** @param {ToolEvents} events */
  constructor({ onChange, onEnter }) {
    const kept = /** @type {Partial<DashboardChoice>} */ (
      JSON.parse(localStorage.getItem(KEPT) ?? '{}')
    )
    this.#order.value = kept.order ?? 'name'
    this.#compact = button(
      { label: 'Compact list', 'aria-pressed': String(kept.isCompact ?? false) },
      () => {
        this.#compact.setAttribute('aria-pressed', String(!this.choice.isCompact))
        change()
      },
      icon('compact'),
    )
    const change = () => {
      const { order, isCompact } = this.choice
      localStorage.setItem(KEPT, JSON.stringify({ order, isCompact }))
      onChange()
    }
    this.#search.addEventListener('input', onChange)
    this.#search.addEventListener('keydown', ({ key }) => {
      if (key === 'Enter') onEnter()
    })
    for (const choice of [this.#shown, this.#order]) choice.addEventListener('change', change)
    this.root = element(
      'div',
      { class: 'list-tools' },
      element('label', { class: 'search' }, icon('search'), this.#search),
      this.#shown,
      this.#order,
      this.#compact,
    )
  }

  /** @returns {DashboardChoice} */
  get choice() {
    return {
      words: this.#search.value,
      shown: this.#shown.value,
      order: this.#order.value,
      isCompact: this.#compact.getAttribute('aria-pressed') === 'true',
    }
  }
}

/** @param {string} label @param {Readonly<Record<string, string>>} options texts by value */
function select(label, options) {
  const choices = Object.entries(options).map(([value, text]) => element('option', { value }, text))
  return element('select', { 'aria-label': label }, ...choices)
}
