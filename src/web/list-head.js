// The heads of the dashboard's table: pressing one orders by its column, pressing it again reverses
// the order.

import { button, element } from './element.js'

/** The order of each column; the first of each comes first in its natural order. */
const COLUMNS = {
  name: 'Name',
  state: 'State',
  seen: 'Last seen',
  range: 'Last 24 h',
  temp: 'Now',
}
/** Columns whose first press puts the lowest first. */
const ASCENDING = new Set(['name', 'state', 'seen'])

export class ListHead {
  /** @type {Map<string, { readonly head: HTMLElement, readonly press: HTMLButtonElement }>} */
  #columns = new Map()
  #order = ''
  root = element('div', { class: 'list-head', role: 'row' })

  /** @param {(order: string) => void} onOrder */
  constructor(onOrder) {
    for (const [column, text] of Object.entries(COLUMNS)) {
      const press = button({}, () => onOrder(this.#order === column ? `-${column}` : column), text)
      const head = element('span', { role: 'columnheader', class: `of-${column}` }, press)
      this.#columns.set(column, { head, press })
      this.root.append(head)
    }
  }

  /** @param {string} order @param {boolean} isRangeKnown whether one can order by ranges */
  show(order, isRangeKnown) {
    this.#order = order
    for (const [column, { head, press }] of this.#columns) {
      const isFirst = order === column
      const isShown = isFirst || order === `-${column}`
      const isUp = isFirst === ASCENDING.has(column)
      head.ariaSort = isShown ? (isUp ? 'ascending' : 'descending') : 'none'
      if (column === 'range') {
        press.disabled = !isRangeKnown
        press.title = isRangeKnown ? '' : 'Too many sensors to order by: search first'
      }
    }
  }
}
