// One sensor of the dashboard: a link to its chart.

import { nowMs } from './clock.js'
import { element, setText } from './element.js'
import { moment, shortTemp, since } from './format.js'

/** @import { Sensor } from './api.js' */

const DOT = ' · '
/** For times longer ago than this, show the time instead of the age. */
const SINCE_MS_MAX = 48 * 3_600_000

export class SensorCard {
  sparkPlace = element('div', { class: 'spark' })
  /** @type {Sensor} */
  #sensor
  #alias = element('span', { class: 'alias' })
  #serial = element('span', { class: 'serial' })
  #word = element('span', { class: 'word' })
  #when = element('span')
  #state = element('span', { class: 'state' }, element('span', {}, this.#word, this.#when))
  #temp = element('span', { class: 'temp' })
  #day = element('span', { class: 'day' })
  #link = element(
    'a',
    { class: 'card' },
    this.#alias,
    this.#serial,
    this.#state,
    this.#temp,
    this.sparkPlace,
    this.#day,
  )
  root = this.#link

  /** @param {Sensor} sensor @param {string} name to show @param {boolean} isCurrent */
  constructor(sensor, name, isCurrent) {
    this.#sensor = sensor
    this.#link.href = `#/sensors/${sensor.id}`
    this.update(sensor, name, isCurrent)
  }

  /** @param {Sensor} sensor @param {string} name to show @param {boolean} isCurrent */
  update(sensor, name, isCurrent) {
    this.#sensor = sensor
    const { alias, sn, online, latest } = sensor
    setText(this.#alias, name)
    setText(this.#serial, alias === sn ? '' : sn)
    setText(this.#temp, latest === null ? '–' : shortTemp(latest.temp))
    this.#link.classList.toggle('is-offline', !online)
    this.tick(isCurrent)
  }

  /** @param {boolean} isCurrent whether it is known how the sensor is now */
  tick(isCurrent) {
    const [when = '', word] = stateText(this.#sensor, isCurrent).split(DOT).toReversed()
    setText(this.#word, word === undefined ? '' : word + DOT)
    setText(this.#when, when)
    this.#link.classList.toggle('is-unknown', !isCurrent)
  }

  /** @param {number} lowest @param {number} highest */
  showDay(lowest, highest) {
    setText(this.#day, `${shortTemp(lowest).replace(' °C', '')} to ${shortTemp(highest)}`)
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
  return isCurrent ? `${online ? 'Online' : 'Offline'}${DOT}${when}` : when
}
