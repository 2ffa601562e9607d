// Several sensors on one chart. The URL names them; adding or removing one goes to another URL.

import { button, element, icon, setText } from './element.js'
import { HistorySheet } from './history-sheet.js'
import { SensorLegend } from './sensor-legend.js'
import { SensorPicker } from './sensor-picker.js'

/**
 * @import { Sensor } from './api.js'
 * @import { Fleet } from './fleet.js'
 * @import { SheetOwner } from './history-sheet.js'
 */

const SENSORS_MAX = 8
/** Lines from this one on are also dashed. */
const SOLID_LINES = 4
/** State that a comparison leaves to the next one when a sensor is added or removed. */
let left = { hidden: /** @type {readonly number[]} */ ([]), isEditing: false }

export class CompareView {
  title = 'Compare'
  /** The sensors, as in the URL. */
  id
  #sensorIds
  #fleet
  #name
  #legend
  /** @type {HistorySheet | undefined} */
  #sheet
  #heading = element('h1', { tabindex: '-1' }, 'Compare')
  #hint = element('p', { class: 'details' })
  #edit = button(
    { class: 'action edit-legend' },
    () => (this.#edit.ariaPressed = String(this.#edit.ariaPressed !== 'true')),
    icon('edit'),
    'Edit',
  )
  #picker
  #unsubscribe
  /** @type {HTMLElement} */
  root

  /**
   * @param {string} id ids of sensors, separated by commas
   * @param {string} name of the period
   * @param {Fleet} fleet
   */
  constructor(id, name, fleet) {
    this.id = id
    this.#fleet = fleet
    this.#name = name
    this.#sensorIds = [...new Set(id.split(',').map(Number))].filter((one) => one > 0)
    this.#sensorIds.splice(SENSORS_MAX)
    const { hidden, isEditing } = left
    left = { hidden: [], isEditing: false }
    this.#edit.ariaPressed = String(isEditing)
    this.#legend = new SensorLegend(
      {
        onRemove: (sensorId) => this.#remove(sensorId),
        onHidden: () => this.#sheet?.refresh(),
      },
      hidden,
    )
    this.#picker = new SensorPicker((sensorId) => this.#goTo([...this.#sensorIds, sensorId]))
    if (this.#sensorIds.length > 0) {
      this.#sheet = new HistorySheet(this.#sensorIds, name, this.#owner())
    }
    const back = element('a', { class: 'back', href: '#/' }, icon('back'), 'Sensors')
    const identity = element('div', { class: 'identity' }, this.#heading, this.#hint)
    this.root = element(
      'article',
      { class: 'sensor compare' },
      element('div', { class: 'sensor-top' }, back, this.#sheet && this.#edit),
      element('header', { class: 'sensor-head' }, identity, this.#picker.root),
      this.#sheet?.root,
    )
    this.#unsubscribe = fleet.subscribe(() => this.#describe())
    this.#describe()
  }

  async open() {
    await this.#sheet?.open()
  }

  /** Shows the period of a new URL. @param {string} name */
  navigate(name) {
    this.#name = name
    this.#sheet?.navigate(name)
  }

  focus() {
    this.#heading.focus({ preventScroll: true })
  }

  close() {
    this.#unsubscribe()
    this.#sheet?.close()
  }

  /** @returns {Sensor[]} */
  get #known() {
    return this.#sensorIds.flatMap((id) => this.#fleet.sensors.get(id) ?? [])
  }

  /** @returns {SheetOwner} */
  #owner() {
    return {
      fleet: this.#fleet,
      readout: this.#legend,
      label: () => `Temperatures of ${this.#known.map(({ alias }) => alias).join(', ')}`,
      addressOf: (name) => `#/compare/${this.id}/${name}`,
      linesOf: (histories) =>
        histories.map((history, at) => ({
          history,
          color: `line-${at + 1}`,
          isDashed: at >= SOLID_LINES,
          isHidden: this.#legend.hidden.includes(this.#sensorIds[at] ?? NaN),
        })),
    }
  }

  #describe() {
    const known = this.#known
    const { isLoaded, asOfMs, sensors } = this.#fleet
    // The service refuses a comparison with a deleted sensor.
    if (isLoaded && asOfMs === undefined && known.length < this.#sensorIds.length) {
      return this.#goTo(known.map(({ id }) => id))
    }
    this.#legend.name(known)
    const isFull = this.#sensorIds.length >= SENSORS_MAX
    this.#picker.root.hidden = isFull
    this.#picker.offer([...sensors.values()].filter(({ id }) => !this.#sensorIds.includes(id)))
    setText(this.#hint, isFull ? `Up to ${SENSORS_MAX} sensors` : '')
  }

  /** @param {number} sensorId */
  #remove(sensorId) {
    this.#goTo(this.#sensorIds.filter((id) => id !== sensorId))
  }

  /** @param {readonly number[]} sensorIds */
  #goTo(sensorIds) {
    left = { hidden: this.#legend.hidden, isEditing: this.#edit.ariaPressed === 'true' }
    location.replace(`#/compare/${sensorIds.join()}/${this.#sheet?.periodName ?? this.#name}`)
  }
}
