// A sensor's name and compensation, for its owner to change. The chart previews a compensation
// before it is saved.

import { patchSensor } from './api.js'
import { button, element, setText } from './element.js'
import { explain } from './explain.js'
import { temp } from './format.js'
import { UNIT_SHOWN, celsiusOfDifference, differenceInUnit } from './locale.js'
import { holdTyped } from './typed.js'
import { dropUnsaved } from './unsaved.js'

/**
 * @import { Sensor } from './api.js'
 * @typedef {{
 *   readonly onPreview: (compensation: number | undefined) => void,
 *   readonly onDone: (saved?: Sensor) => void,
 * }} EditEvents `undefined`: unchanged
 */

const CELSIUS_MAX = 100
const DECIMALS = 1e6
const ASKED = {
  alias: 'A name has 1 to 128 characters.',
  compensation: 'The compensation is too large.',
}

export class SensorEdit {
  #sensor
  #sensors
  #events
  #alias = element('input', { required: true, maxlength: '128', autocomplete: 'off' })
  #compensation = element('input', { type: 'number', step: 'any', required: true })
  #hint = element('p', { class: 'details', role: 'status' })
  #fault = element('p', { class: 'fault', role: 'alert' })
  /** @type {Sensor | undefined} */
  #saved
  #save = element('button', { class: 'primary' }, 'Save')
  root = element(
    'form',
    { class: 'edit', 'aria-label': 'Edit sensor' },
    element('label', { class: 'edit-name' }, 'Name', this.#alias),
    element('label', {}, `Compensation in °${UNIT_SHOWN}`, this.#compensation),
    element('div', { class: 'edit-buttons' }, this.#save, button({}, dropUnsaved, 'Cancel')),
    this.#hint,
    this.#fault,
  )

  /**
   * @param {Sensor} sensor
   * @param {ReadonlyMap<number, Sensor>} sensors all sensors
   * @param {EditEvents} events
   */
  constructor(sensor, sensors, events) {
    this.#sensor = sensor
    this.#sensors = sensors
    this.#events = events
    const most = String(differenceInUnit(CELSIUS_MAX))
    this.#compensation.max = most
    this.#compensation.min = `-${most}`
    this.#alias.value = sensor.alias
    this.#compensation.value = this.#shown
    this.root.addEventListener('input', () => {
      setText(this.#fault, '')
      this.#preview()
    })
    this.root.addEventListener('submit', (event) => {
      event.preventDefault()
      void this.#send()
    })
    holdTyped(this.root, {
      isChanged: () => Object.keys(this.#changes).length > 0,
      onClosed: () => events.onDone(this.#saved),
    })
  }

  focus() {
    this.#alias.focus()
  }

  /** The current compensation, in the displayed unit. */
  get #shown() {
    const inUnit = differenceInUnit(this.#sensor.compensation)
    return String(Math.round(inUnit * DECIMALS) / DECIMALS)
  }

  /** The changes to the sensor. */
  get #changes() {
    const alias = this.#alias.value.trim()
    const { value, valueAsNumber } = this.#compensation
    const isOther = value !== this.#shown && Number.isFinite(valueAsNumber)
    const celsius = Math.round(celsiusOfDifference(valueAsNumber) * DECIMALS) / DECIMALS
    return {
      ...(alias !== this.#sensor.alias && { alias }),
      ...(isOther && { compensation: celsius }),
    }
  }

  #preview() {
    const { alias, compensation } = this.#changes
    const { id, latest, compensation: before } = this.#sensor
    this.#events.onPreview(compensation)
    const hints = []
    if (compensation !== undefined && latest !== null) {
      const after = latest.temp + compensation - before
      hints.push(`${temp(latest.temp)} becomes ${temp(after)}.`, 'Dashed: current values.')
    }
    const isDouble = [...this.#sensors.values()].some((one) => one.id !== id && one.alias === alias)
    if (isDouble) hints.push('Another sensor has this name.')
    setText(this.#hint, hints.join(' '))
  }

  async #send() {
    const changes = this.#changes
    if (Object.keys(changes).length === 0) return dropUnsaved()
    this.#save.disabled = true
    setText(this.#fault, '')
    try {
      this.#saved = await patchSensor(this.#sensor.id, changes)
      // Who has left may have something else to lose.
      if (this.root.isConnected) dropUnsaved()
    } catch (error) {
      setText(this.#fault, explain(error, ASKED))
    } finally {
      this.#save.disabled = false
    }
  }
}
