// Chooses a chart's start and end in local time, or the same period a year earlier.

import { nowMs } from './clock.js'
import { button, element, setText } from './element.js'
import { fixedPeriod, periodName, yearEarlier } from './period.js'

/** @import { Period } from './period.js' */

export class DatePicker {
  #from = timeInput()
  #to = timeInput()
  #fault = element('p', { class: 'fault', role: 'alert' })
  /** @type {Period} */
  #period = { fromMs: 0, toMs: 0, isLive: false }
  root

  /** @param {(period: Period) => void} onPeriod */
  constructor(onPeriod) {
    this.root = element(
      'form',
      { class: 'dates', hidden: true, 'aria-label': 'Dates' },
      element('label', {}, 'From', this.#from),
      element('label', {}, 'To', this.#to),
      element('button', { class: 'primary' }, 'Show'),
      button({}, () => onPeriod(yearEarlier(this.#period, nowMs())), 'A year earlier'),
      this.#fault,
    )
    this.root.addEventListener('input', () => setText(this.#fault, ''))
    this.root.addEventListener('submit', (event) => {
      event.preventDefault()
      const [fromMs, toMs] = [Date.parse(this.#from.value), Date.parse(this.#to.value)]
      const isPeriod = fromMs < toMs
      setText(this.#fault, isPeriod ? '' : 'The end must be after the start.')
      if (isPeriod) onPeriod(fixedPeriod(fromMs, toMs, nowMs()))
    })
  }

  /** @param {Period} period */
  show(period) {
    const isSame = periodName(period) === periodName(this.#period)
    this.#period = period
    // Time passing does not change what somebody is choosing.
    if (isSame && !this.root.hidden) return
    this.#from.value = localMinute(period.fromMs)
    this.#to.value = localMinute(period.toMs)
  }
}

function timeInput() {
  return element('input', { type: 'datetime-local', required: true })
}

/** In the input's format: local time without a zone. @param {number} atMs */
function localMinute(atMs) {
  const offsetMs = new Date(atMs).getTimezoneOffset() * 60_000
  return new Date(atMs - offsetMs).toISOString().slice(0, 16)
}
