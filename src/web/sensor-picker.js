// Finds a sensor to add, by name or serial number.

import { button, element } from './element.js'

/** @import { Sensor } from './api.js' */

const OFFERED_MAX = 6

export class SensorPicker {
  #onPick
  /** @type {readonly Sensor[]} */
  #sensors = []
  #search = element('input', {
    type: 'search',
    autocomplete: 'off',
    placeholder: 'Add a sensor',
    'aria-label': 'Add a sensor',
  })
  #found = element('ul', { class: 'found' })
  root = element('div', { class: 'picker' }, this.#search, this.#found)

  /** @param {(sensorId: number) => void} onPick */
  constructor(onPick) {
    this.#onPick = onPick
    this.#search.addEventListener('input', () => this.#find())
    this.#search.addEventListener('focus', () => this.#find())
    // The list closes when it loses the focus, which not every browser gives to a pressed button.
    this.#found.addEventListener('mousedown', (event) => event.preventDefault())
    this.root.addEventListener('focusout', ({ relatedTarget }) => {
      const isInside = relatedTarget instanceof Node && this.root.contains(relatedTarget)
      if (!isInside) this.#found.replaceChildren()
    })
    this.#search.addEventListener('keydown', ({ key }) => {
      if (key === 'Enter') this.#found.querySelector('button')?.click()
    })
    this.root.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape') this.#found.replaceChildren()
    })
  }

  /** @param {readonly Sensor[]} sensors to choose from */
  offer(sensors) {
    this.#sensors = sensors
  }

  #find() {
    const words = this.#search.value.toLowerCase().split(/\s+/)
    const found = this.#sensors.filter(({ alias, sn }) => {
      const text = `${alias} ${sn}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
    const items = found.slice(0, OFFERED_MAX).map(({ id, alias, sn }) => {
      const text = alias === sn ? alias : `${alias} (${sn})`
      return element(
        'li',
        {},
        button({}, () => this.#onPick(id), text),
      )
    })
    this.#found.replaceChildren(...items)
  }
}
