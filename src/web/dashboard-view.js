// The dashboard: every sensor with its state, latest value and the line of its last day, with a
// search by name or serial number. It stays in memory while a chart is shown, so Back finds it
// unchanged.

import { element, icon, setText } from './element.js'
import { SensorCard } from './sensor-card.js'
import { Sparklines } from './sparkline.js'
import { count } from './format.js'

/**
 * @import { Fleet } from './fleet.js'
 * @import { Sensor } from './api.js'
 */

/** More cards are added when the end of the list comes near. */
const CARDS_AT_ONCE = 60
const TICK_MS = 10_000
const byAlias = new Intl.Collator(undefined, { numeric: true })

export class DashboardView {
  title = 'Sensors'
  /** @type {Fleet} */
  #fleet
  #sparklines = new Sparklines()
  /** @type {Map<number, SensorCard>} */
  #cards = new Map()
  #shown = CARDS_AT_ONCE
  #heading = element('h1', { tabindex: '-1' }, 'Sensors')
  #summary = element('p', { class: 'summary' })
  #search = element('input', {
    type: 'search',
    id: 'search',
    autocomplete: 'off',
    placeholder: 'Search',
    'aria-label': 'Search sensors',
  })
  #found = element('p', { class: 'hidden-text', role: 'status' })
  #nothing = element('p', { class: 'nothing', hidden: true })
  #list = element('ul', { class: 'cards' })
  #end = element('div')
  root = element(
    'section',
    { class: 'dashboard' },
    element('header', { class: 'dashboard-head' }, this.#heading, this.#summary, this.#searchBox()),
    this.#found,
    this.#nothing,
    this.#list,
    this.#end,
  )

  /** @param {Fleet} fleet */
  constructor(fleet) {
    this.#fleet = fleet
    fleet.subscribe((changedId) => this.#update(changedId))
    this.#search.addEventListener('input', () => this.#filter())
    setInterval(() => this.#tick(), TICK_MS)
    new IntersectionObserver(
      ([end]) => {
        if (end?.isIntersecting !== true || this.#shown >= fleet.sensors.size) return
        this.#shown += CARDS_AT_ONCE
        this.#render()
      },
      { rootMargin: '600px' },
    ).observe(this.#end)
    this.#render()
  }

  focus() {
    this.#heading.focus({ preventScroll: true })
  }

  get #isCurrent() {
    return this.#fleet.asOfMs === undefined
  }

  #searchBox() {
    return element('label', { class: 'search' }, icon('search'), this.#search)
  }

  #tick() {
    if (document.hidden || this.root.parentNode === null) return
    for (const card of this.#cards.values()) card.tick(this.#isCurrent)
    this.#sparklines.refresh()
  }

  /** @param {number} [changedId] */
  #update(changedId) {
    const card = changedId === undefined ? undefined : this.#cards.get(changedId)
    const sensor = changedId === undefined ? undefined : this.#fleet.sensors.get(changedId)
    // A new name may change the search result and the order.
    if (card === undefined || sensor === undefined || card.alias !== sensor.alias) {
      this.#render()
      return
    }
    const isRecalibrated = card.update(sensor, this.#isCurrent)
    if (isRecalibrated) this.#sparklines.refresh(sensor.id)
    this.#sayHowMany()
  }

  #filter() {
    this.#shown = CARDS_AT_ONCE
    const matches = this.#render()
    const isSearching = this.#search.value.trim() !== ''
    setText(this.#found, isSearching ? `${count(matches)} found` : '')
  }

  #render() {
    const words = this.#search.value.toLowerCase().split(/\s+/)
    const matches = [...this.#fleet.sensors.values()]
      .filter(({ alias, sn }) => {
        const text = `${alias} ${sn}`.toLowerCase()
        return words.every((word) => text.includes(word))
      })
      .sort((one, other) => byAlias.compare(one.alias, other.alias))
    const shown = matches.slice(0, this.#shown)
    this.#dropAllBut(new Set(shown.map(({ id }) => id)))
    for (const [at, sensor] of shown.entries()) {
      const { root } = this.#cardOf(sensor)
      if (this.#list.children[at] !== root) {
        this.#list.insertBefore(root, this.#list.children[at] ?? null)
      }
    }
    this.#sayHowMany()
    this.#sayNothing(matches.length)
    return matches.length
  }

  /** @param {ReadonlySet<number>} kept */
  #dropAllBut(kept) {
    for (const [id, card] of this.#cards) {
      if (kept.has(id)) continue
      this.#sparklines.remove(card.sparkPlace)
      card.root.remove()
      this.#cards.delete(id)
    }
  }

  /** @param {Sensor} sensor */
  #cardOf(sensor) {
    const known = this.#cards.get(sensor.id)
    if (known !== undefined) {
      if (known.update(sensor, this.#isCurrent)) this.#sparklines.refresh(sensor.id)
      return known
    }
    const card = new SensorCard(sensor, this.#isCurrent)
    this.#cards.set(sensor.id, card)
    this.#sparklines.add({
      sensorId: sensor.id,
      place: card.sparkPlace,
      onSummary: (lowest, highest) => card.showDay(lowest, highest),
    })
    return card
  }

  #sayHowMany() {
    const { sensors, online, isLoaded } = this.#fleet
    const total = count(sensors.size)
    const text = this.#isCurrent ? `${count(online)} of ${total} online` : `Sensors: ${total}`
    setText(this.#summary, isLoaded ? text : '')
  }

  /** @param {number} matches */
  #sayNothing(matches) {
    const { isLoaded, sensors, connection } = this.#fleet
    this.#nothing.hidden = matches > 0
    if (matches > 0) return
    const isEmpty = sensors.size === 0
    const without = connection === 'offline' ? 'You are offline. Nothing is saved here.' : ''
    const empty = 'No sensor has sent a measurement yet. It appears here with its first one.'
    const none = `No sensor is called “${this.#search.value.trim()}”.`
    setText(this.#nothing, isLoaded ? (isEmpty ? empty : none) : without)
  }
}
