// A sensor's name and current state, above its chart.

import { element, setText } from './element.js'
import { difference, temp } from './format.js'
import { stateText } from './sensor-card.js'

/** @import { Sensor } from './api.js' */

export class SensorHead {
  #heading = element('h1', { tabindex: '-1' })
  #serial = element('span')
  #compensated = element('span')
  #value = element('p', { class: 'value' })
  #state = element('span', { class: 'state' })
  root = element(
    'header',
    { class: 'sensor-head' },
    this.#heading,
    this.#value,
    element('p', { class: 'details' }, this.#state, this.#serial, this.#compensated),
  )

  focus() {
    this.#heading.focus({ preventScroll: true })
  }

  /** @param {Sensor} sensor @param {boolean} isCurrent whether it is known how it is now */
  show(sensor, isCurrent) {
    const { alias, sn, compensation, latest, online } = sensor
    setText(this.#heading, alias)
    setText(this.#serial, alias === sn ? '' : sn)
    const isCompensated = compensation !== 0
    setText(this.#compensated, isCompensated ? `compensation ${difference(compensation)}` : '')
    setText(this.#value, latest === null ? '–' : temp(latest.temp))
    setText(this.#state, stateText(sensor, isCurrent))
    this.#state.classList.toggle('is-offline', !online)
    this.#state.classList.toggle('is-unknown', !isCurrent)
  }

  showNone() {
    setText(this.#heading, 'Sensor not found')
    for (const part of [this.#serial, this.#compensated, this.#value, this.#state])
      setText(part, '')
  }
}
