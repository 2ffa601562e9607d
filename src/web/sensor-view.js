// A sensor's page: its name, current state and chart.

import { setTitle } from './names.js'
import { button, element, icon } from './element.js'
import { compensated } from './history.js'
import { HistorySheet } from './history-sheet.js'
import { Readout } from './readout.js'
import { SensorHead } from './sensor-head.js'

/**
 * @import { Line } from './chart.js'
 * @import { Fleet } from './fleet.js'
 * @import { History } from './history.js'
 * @import { SheetOwner } from './history-sheet.js'
 */

/** How often its age is counted. */
const TICK_MS = 10_000

export class SensorView {
  #id
  #fleet
  #head = new SensorHead()
  #compare = element('a', { class: 'action' }, icon('compare'), 'Compare')
  #sheet
  /** Replaces the sheet. */
  #none = element(
    'div',
    { class: 'nothing' },
    element('p', {}, 'It may have been deleted, or belong to somebody else.'),
    element('a', { href: '#/' }, 'All sensors'),
  )
  #unsubscribe
  #ticking
  #edit = button({}, () => void this.#openEdit(), icon('edit'), 'Edit')
  #isEditing = false
  /** The compensation being tried out. @type {number | undefined} */
  #tried
  /** @type {HTMLElement} */
  root

  /**
   * @param {number} id
   * @param {string | undefined} name of the period
   * @param {Fleet} fleet
   */
  constructor(id, name, fleet) {
    this.#id = id
    this.#fleet = fleet
    this.#sheet = new HistorySheet([id], name, this.#owner())
    const back = element('a', { class: 'back', href: '#/' }, icon('back'), 'Sensors')
    const top = element('div', { class: 'sensor-top' }, back, this.#compare, this.#edit)
    const linkCompare = () => {
      this.#compare.href = `#/compare/${id}/${this.#sheet.periodName}`
    }
    linkCompare()
    this.#compare.addEventListener('click', linkCompare)
    this.root = element('article', { class: 'sensor' }, top, this.#head.root, this.#sheet.root)
    this.#unsubscribe = fleet.subscribe(() => this.#describe())
    this.#ticking = setInterval(() => this.#describe(), TICK_MS)
    this.#describe()
  }

  get title() {
    return this.#sensor?.alias ?? 'Sensor'
  }

  get id() {
    return this.#id
  }

  open() {
    return this.#sheet.open()
  }

  /** Shows the period of a new URL. @param {string | undefined} name */
  navigate(name) {
    this.#sheet.navigate(name)
  }

  focus() {
    this.#head.focus()
  }

  close() {
    this.#unsubscribe()
    clearInterval(this.#ticking)
    this.#sheet.close()
  }

  get #sensor() {
    return this.#fleet.sensors.get(this.#id)
  }

  /** With the compensation being tried out. */
  get #shownSensor() {
    const sensor = this.#sensor
    if (sensor === undefined || this.#tried === undefined) return sensor
    const { latest, compensation } = sensor
    const temp = (latest?.temp ?? NaN) + this.#tried - compensation
    return { ...sensor, compensation: this.#tried, latest: latest && { ...latest, temp } }
  }

  /** @returns {SheetOwner} */
  #owner() {
    return {
      fleet: this.#fleet,
      readout: new Readout(),
      label: () => `Temperature of ${this.title}`,
      addressOf: (name) => `#/sensors/${this.#id}/${name}`,
      linesOf: (histories) => histories.flatMap((history) => this.#linesOf(history)),
    }
  }

  /** @param {History} history @returns {Line[]} */
  #linesOf(history) {
    const tried = this.#tried
    const latest = this.#shownSensor?.latest ?? null
    if (tried === undefined) return [{ history, latest, color: 'accent', isDashed: false }]
    return [
      { history, color: 'muted', isDashed: true },
      { history: compensated(history, tried), latest, color: 'accent', isDashed: false },
    ]
  }

  async #openEdit() {
    const { SensorEdit } = await import('./sensor-edit.js')
    const sensor = this.#sensor
    // The user may have moved on.
    if (sensor === undefined || !this.root.isConnected) return
    this.#setEditing(true)
    const form = new SensorEdit(sensor, this.#fleet.sensors, {
      onPreview: (compensation) => this.#try(compensation),
      onDone: (saved) => {
        form.root.remove()
        this.#setEditing(false)
        this.#edit.focus()
        if (saved !== undefined) this.#fleet.learn(saved)
        this.#try(undefined)
      },
    })
    this.#head.root.after(form.root)
    form.focus()
  }

  /** @param {boolean} isEditing */
  #setEditing(isEditing) {
    this.#isEditing = isEditing
    this.#describe()
  }

  /** @param {number | undefined} compensation */
  #try(compensation) {
    this.#tried = compensation
    this.#sheet.refresh()
    this.#describe()
  }

  #describe() {
    const sensor = this.#shownSensor
    // The chart may appear before the sensor is known.
    this.#edit.disabled = sensor === undefined || this.#isEditing
    if (sensor !== undefined) {
      this.#head.show(sensor, this.#fleet.asOfMs === undefined)
      setTitle(sensor.alias)
    }
    const { isLoaded, asOfMs } = this.#fleet
    // An older list does not know sensors registered since.
    const isUnknown = sensor === undefined && isLoaded && asOfMs === undefined
    this.#compare.hidden = isUnknown
    this.#edit.hidden = isUnknown
    if (isUnknown) this.#end()
    else if (!this.root.contains(this.#sheet.root)) this.#beginAnew()
  }

  #end() {
    this.#head.showNone()
    this.#sheet.close()
    this.#sheet.root.replaceWith(this.#none)
  }

  #beginAnew() {
    this.#sheet = new HistorySheet([this.#id], this.#sheet.periodName, this.#owner())
    this.#none.replaceWith(this.#sheet.root)
    void this.open()
  }
}
