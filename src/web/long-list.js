// A list of any length, or the rows of a table: the document contains only what is in view and a
// little around it. Headings take a row of their own; page.css sets the size of items and the
// distance between them.

import { element } from './element.js'

/**
 * @typedef {{
 *   readonly key: string, readonly isHeading: boolean, readonly isShort: boolean,
 * }} Item short ones are only next to one another, between headings
 * @typedef {{ topPx: number, column: number, number: number }} Place `number` counts items
 */

const AROUND_PX = 120

/** @template {Item} T */
export class LongList {
  root = element('div', { class: 'cards' })
  /** @type {(item: T) => HTMLElement} */
  #show
  /** @type {(item: T) => void} */
  #hide
  #isTable = false
  /** @type {readonly T[]} */
  #items = []
  /** The place of each item. @type {Place[]} */
  #places = []
  /**
   * The items in the document.
   *
   * @type {Map<string, { item: T, place: Place | undefined, box: HTMLElement }>}
   */
  #shown = new Map()
  #frame = 0
  #widthPx = 0

  /**
   * @param {(item: T) => HTMLElement} show makes an item's element
   * @param {(item: T) => void} hide called when an item is no longer shown
   */
  constructor(show, hide) {
    this.#show = show
    this.#hide = hide
    globalThis.addEventListener('scroll', () => this.#drawSoon(), { passive: true })
    new ResizeObserver(() => {
      if (this.root.clientWidth !== this.#widthPx) this.set(this.#items, this.#isTable)
    }).observe(this.root)
  }

  /** @param {readonly T[]} items with other keys in a table @param {boolean} isTable */
  set(items, isTable) {
    this.#items = items
    this.#isTable = isTable
    this.root.role = isTable ? 'rowgroup' : 'list'
    if (!this.root.isConnected) return
    this.#layOut()
    this.#draw()
  }

  #layOut() {
    const style = getComputedStyle(this.root)
    const remPx = parseFloat(getComputedStyle(document.documentElement).fontSize)
    const px = (/** @type {string} */ name) => parseFloat(style.getPropertyValue(name)) * remPx
    const gapPx = px('--gap')
    const [itemPx, shortPx] = [px('--item-height'), px('--short-height')]
    this.#widthPx = this.root.clientWidth
    const columns = Math.max(1, Math.floor((this.#widthPx + gapPx) / (px('--item-width') + gapPx)))
    let [topPx, column, number, heightPx] = [0, 0, 0, itemPx]
    const endRow = (/** @type {number} */ rowPx) => {
      topPx += rowPx
      column = 0
    }
    this.#places = this.#items.map(({ isHeading, isShort }) => {
      if (column === columns || (isHeading && column > 0)) endRow(heightPx + gapPx)
      heightPx = isShort ? shortPx : itemPx
      const place = { topPx, column, number: isHeading ? 0 : ++number }
      if (isHeading) endRow(px('--heading-height'))
      else column++
      return place
    })
    if (column > 0) endRow(heightPx)
    this.root.style.height = `${topPx}px`
    this.root.style.setProperty('--columns', String(columns))
    this.root.dataset['count'] = String(number)
  }

  #drawSoon() {
    if (this.#frame !== 0 || !this.root.isConnected) return
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0
      this.#draw()
    })
  }

  #draw() {
    const topPx = -this.root.getBoundingClientRect().top
    const first = this.#firstFrom(topPx - AROUND_PX)
    const end = this.#firstFrom(topPx + innerHeight + AROUND_PX)
    const places = Array.from({ length: end - first }, (_, at) => first + at)
    const focused = document.activeElement
    const focusedAt = this.#placeOf(focused)
    // The focused item stays, so that Tab continues from it.
    if (focusedAt !== -1 && focusedAt < first) places.unshift(focusedAt)
    if (focusedAt >= end) places.push(focusedAt)
    const items = places.flatMap((at) => this.#items[at] ?? [])
    const keys = new Set(items.map(({ key }) => key))
    for (const [key, { item, box }] of this.#shown) {
      if (keys.has(key)) continue
      box.remove()
      this.#shown.delete(key)
      this.#hide(item)
    }
    let next = this.root.firstElementChild
    for (const [at, item] of items.entries()) {
      const box = this.#boxOf(item, places[at] ?? 0)
      if (box === next) next = next.nextElementSibling
      else this.root.insertBefore(box, next)
    }
    // Moving an element in the document loses the focus.
    const isLost = focused !== document.activeElement && this.root.contains(focused)
    if (isLost && focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  }

  /** The index of the item that contains an element, or -1. @param {Element | null} part */
  #placeOf(part) {
    const [key] = [...this.#shown].find(([, { box }]) => box.contains(part)) ?? []
    return key === undefined ? -1 : this.#items.findIndex((item) => item.key === key)
  }

  /** @param {T} item @param {number} at */
  #boxOf(item, at) {
    const known = this.#shown.get(item.key)
    const place = this.#places[at]
    if (known !== undefined && known.place === place) return known.box
    const box = known?.box ?? element('div', {}, this.#show(item))
    this.#shown.set(item.key, { item, place, box })
    const { topPx = 0, column = 0, number = 0 } = place ?? {}
    box.style.transform = `translateY(${topPx}px)`
    box.style.setProperty('--column', String(column))
    box.classList.toggle('is-heading', item.isHeading)
    box.classList.toggle('is-short', item.isShort)
    box.role = this.#isTable ? 'row' : 'listitem'
    if (this.#isTable) {
      // The first row is the heads.
      box.ariaRowIndex = String(number + 1)
    } else if (!item.isHeading) {
      box.ariaPosInSet = String(number)
      box.ariaSetSize = this.root.dataset['count'] ?? ''
    }
    return box
  }

  /** The first item that starts at or below a height. @param {number} topPx */
  #firstFrom(topPx) {
    let [low, high] = [0, this.#places.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#places[middle]?.topPx ?? 0) < topPx) low = middle + 1
      else high = middle
    }
    return low
  }
}
