// One sensor of the dashboard, as a card or a table row; its name links to its chart.

import { nowMs } from './clock.js'
import { element, setText } from './element.js'
import { moment, shortMoment, shortRange, shortTemp, since } from './format.js'
import { UNIT_SHOWN } from './locale.js'

/** @import { Sensor } from './api.js' */

/** For older times, show the time instead of the age. */
const SINCE_MS_MAX = 48 * 3_600_000

export class SensorCard {
  /** @type {Sensor} */
  #sensor
  #alias = element('a', { class: 'alias' })
  #word = element('span', { class: 'word' })
  #since = element('span', { class: 'since' }, ' since ')
  #state = element('span', { class: 'state' }, this.#word, this.#since)
  #seen = element('span', { class: 'seen' })
  #temp = element('span', { class: 'temp' })
  sparkPlace = element('span', { class: 'spark' })
  #day = element('span', { class: 'day' })
  root = element(
    'div',
    { class: 'card' },
    element('span', { class: 'name' }, this.#alias),
    this.#state,
    this.#seen,
    element('span', { class: 'last-day' }, this.sparkPlace, this.#day),
    this.#temp,
  )

  /**
   * @param {Sensor} sensor
   * @param {string} name to show
   * @param {{ isCurrent: boolean, isRow: boolean }} how whether the sensor's state is current;
   *   whether it is a table row
   */
  constructor(sensor, name, { isCurrent, isRow }) {
    this.#sensor = sensor
    this.#alias.href = `#/sensors/${sensor.id}`
    if (isRow) for (const cell of this.root.children) cell.role = 'cell'
    this.update(sensor, name, isCurrent)
  }

  /** @param {Sensor} sensor @param {string} name to show @param {boolean} isCurrent */
  update(sensor, name, isCurrent) {
    this.#sensor = sensor
    const { online, latest } = sensor
    setText(this.#alias, name)
    setText(this.#temp, latest === null ? '–' : shortTemp(latest.temp))
    this.root.classList.toggle('is-offline', !online)
    this.tick(isCurrent)
  }

  /** @param {boolean} isCurrent whether it is known how the sensor is now */
  tick(isCurrent) {
    const { online, latest } = this.#sensor
    const state = isCurrent ? (online ? 'Online' : 'Offline') : ''
    setText(this.#word, latest === null ? 'No measurement yet' : state)
    this.#since.hidden = online || !isCurrent || latest === null
    const when = online && isCurrent ? since : shortMoment
    setText(this.#seen, latest === null ? '' : when(Date.parse(latest.timestamp), nowMs()))
    this.root.classList.toggle('is-unknown', !isCurrent)
  }

  /** @param {number} lowest @param {number} highest of the last day */
  showDay(lowest, highest) {
    // In a table, the head and the value next to it say this.
    const before = element('span', { class: 'of-card' }, '24 h: ')
    const unit = element('span', { class: 'of-card' }, ` °${UNIT_SHOWN}`)
    this.#day.replaceChildren(before, shortRange(lowest, highest), unit)
  }
}

/**
 * @param {Sensor} sensor
 * @param {boolean} isCurrent
 */
export function stateText({ online, latest }, isCurrent) {
  if (latest === null) return 'No measurement yet'
  const currentMs = nowMs()
  const atMs = Date.parse(latest.timestamp)
  const when = currentMs - atMs > SINCE_MS_MAX ? moment(atMs, currentMs) : since(atMs, currentMs)
  return isCurrent ? `${online ? 'Online' : 'Offline'} · ${when}` : when
}
