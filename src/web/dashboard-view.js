// The dashboard: every sensor with its state, latest value and the line of its last day, as cards
// in groups or as a table; search, filter and order. It stays in memory while a chart is shown, so
// Back finds it unchanged.

import { whyUnheard } from './api.js'
import { monotonicMs, onCorrection } from './clock.js'
import { button, element, setText } from './element.js'
import { DashboardTools } from './dashboard-tools.js'
import { foundAmong, groupsOf, nameInGroup, sortByName } from './fleet-order.js'
import { count } from './format.js'
import { DAYS_MAX } from './last-days.js'
import { ListHead } from './list-head.js'
import { LongList } from './long-list.js'
import { SensorCard } from './sensor-card.js'
import { Sparklines } from './sparkline.js'

/**
 * @import { Sensor } from './api.js'
 * @import { FirstRun } from './first-run.js'
 * @import { Fleet } from './fleet.js'
 * @import { Choice, Group } from './fleet-order.js'
 * @import { Item } from './long-list.js'
 * @typedef {Item & { id: number, group: Group }} Listed `id` is 0 for a group's heading
 */

const TICK_MS = 10_000
/** How often at most a list of thousands is sorted; the first time is at once. */
const ARRANGE_MS = 1_000
/** Time and values change the other orders. */
const STEADY_ORDERS = ['state', '-state', 'name', '-name']

export class DashboardView {
  title = 'Sensors'
  /** @type {Fleet} */
  #fleet
  #closing = new AbortController()
  #sparklines = new Sparklines(this.#closing.signal, () => this.#arrangeRanges())
  /** Cards in the document. @type {Map<number, SensorCard>} */
  #cards = new Map()
  /** All sensors as last sorted, by name. @type {Map<number, Sensor>} */
  #arranged = new Map()
  /** In milliseconds of this page. */
  #arrangedAtMs = 0
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #arranging
  #found = 0
  #tools = new DashboardTools({ onChange: () => this.#choose(), onEnter: () => this.#openOnly() })
  #heading = element('h1', { tabindex: '-1' }, 'Sensors')
  #summary = element('p', { class: 'summary' })
  #said = element('p', { class: 'hidden-text', role: 'status' })
  #nothing = element('div', { class: 'nothing', hidden: true })
  #noneFound = element('p')
  #showAll = button({ class: 'primary' }, () => this.#tools.clear(), 'Show all sensors')
  #head = new ListHead((order) => this.#tools.orderBy(order))
  /** @type {FirstRun | undefined} */
  #firstRun
  /** @type {LongList<Listed>} */
  #list = new LongList(
    (item) => this.#show(item),
    (item) => this.#hide(item),
  )
  #table = element('div', {}, this.#head.root, this.#list.root)
  root = element(
    'section',
    { class: 'dashboard' },
    element('header', { class: 'dashboard-head' }, this.#heading, this.#summary, this.#tools.root),
    this.#said,
    this.#nothing,
    this.#table,
  )

  /** @param {Fleet} fleet */
  constructor(fleet) {
    this.#fleet = fleet
    fleet.subscribe((changedId, fromMs) => this.#update(changedId, fromMs))
    onCorrection(() => this.#sparklines.change(undefined, -Infinity), this.#closing.signal)
    const ticking = setInterval(() => this.#tick(), TICK_MS)
    this.#closing.signal.addEventListener('abort', () => clearInterval(ticking))
  }

  /** Brings it up to date once it is in the document. */
  open() {
    this.#arrange()
  }

  close() {
    this.#closing.abort()
  }

  focus() {
    this.#heading.focus({ preventScroll: true })
  }

  get #isShown() {
    return this.root.isConnected && !document.hidden
  }

  get #isCurrent() {
    return this.#fleet.asOfMs === undefined
  }

  #tick() {
    if (!this.#isShown) return
    for (const card of this.#cards.values()) card.tick(this.#isCurrent)
    if (!STEADY_ORDERS.includes(this.#tools.choice.order)) this.#arrange()
    this.#sparklines.refresh()
  }

  /** @param {number} [changedId] @param {number} [fromMs] */
  #update(changedId, fromMs) {
    const sensor = this.#fleet.sensors.get(changedId ?? 0)
    const before = this.#arranged.get(changedId ?? 0)
    const isRecalibrated = before && sensor && before.compensation !== sensor.compensation
    if (fromMs !== undefined) this.#sparklines.change(changedId, fromMs)
    if (changedId !== undefined && isRecalibrated) this.#sparklines.change(changedId, -Infinity)
    if (!this.#isShown) return
    if (sensor === undefined || isElsewhere(sensor, before)) this.#arrangeSoon()
    else if (changedId !== undefined) this.#arranged.set(changedId, sensor)
    if (sensor !== undefined) this.#showNow(sensor)
  }

  /** @param {Sensor} sensor */
  #showNow(sensor) {
    this.#cards.get(sensor.id)?.update(sensor, this.#nameOf(sensor), this.#isCurrent)
  }

  /** A group's heading already says its name. @param {Sensor} sensor */
  #nameOf({ alias, online }) {
    const { isTable, order } = this.#tools.choice
    const isInGroup = !isTable && (order === 'name' || (order === 'state' && online))
    return isInGroup ? nameInGroup(alias) : alias
  }

  #choose() {
    this.#arrange()
    scrollTo(0, 0)
    const isSearching = this.#tools.choice.words.trim() !== ''
    setText(this.#said, isSearching ? `${count(this.#found)} found` : '')
  }

  #openOnly() {
    const [item, more] = this.#items.filter(({ id }) => id !== 0)
    if (item !== undefined && more === undefined) location.hash = `#/sensors/${item.id}`
  }

  #arrangeRanges() {
    if (this.#canOrderByRange && this.#tools.choice.order.endsWith('range')) this.#arrangeSoon()
  }

  get #canOrderByRange() {
    return this.#found <= DAYS_MAX
  }

  #arrangeSoon() {
    if (this.#arranging !== undefined) return
    const restMs = this.#arranged.size === 0 ? 0 : ARRANGE_MS
    const delayMs = Math.max(0, this.#arrangedAtMs + restMs - monotonicMs())
    this.#arranging = setTimeout(() => this.#arrange(), delayMs)
  }

  /** @type {Listed[]} */
  #items = []

  #arrange() {
    clearTimeout(this.#arranging)
    this.#arranging = undefined
    if (!this.root.isConnected) return
    this.#arrangedAtMs = monotonicMs()
    const { sensors } = this.#fleet
    const known = [...this.#arranged.keys()].flatMap((id) => sensors.get(id) ?? [])
    const added = [...sensors.values()].filter(({ id }) => !this.#arranged.has(id))
    const sorted = sortByName([...known, ...added])
    this.#arranged = new Map(sorted.map((sensor) => [sensor.id, sensor]))
    const found = foundAmong(sorted, this.#tools.choice)
    this.#found = found.length
    const choice = this.#possible(this.#tools.choice)
    const groups = groupsOf(found, choice, (id) => this.#sparklines.rangeOf(id))
    this.#items = groups.flatMap((group, at) => itemsOf(group, at, choice.isTable))
    this.#tools.root.hidden = sensors.size === 0
    this.#showTable(choice)
    const hadFocus = this.#list.root.contains(document.activeElement)
    this.#list.set(this.#items, choice.isTable)
    if (hadFocus && !this.#list.root.contains(document.activeElement)) this.focus()
    for (const id of this.#cards.keys()) {
      const sensor = sensors.get(id)
      if (sensor !== undefined) this.#showNow(sensor)
    }
    this.#sayHowMany()
    this.#sayNothing()
  }

  /** Ranges of very many sensors are not read. @param {Choice} choice @returns {Choice} */
  #possible(choice) {
    const isPossible = this.#canOrderByRange || !choice.order.endsWith('range')
    return isPossible ? choice : { ...choice, order: 'state' }
  }

  /** @param {Choice} choice */
  #showTable({ isTable, order }) {
    const isShown = isTable && this.#found > 0
    this.#sparklines.want(order.endsWith('range') ? this.#items.map(({ id }) => id) : [])
    this.#head.root.hidden = !isShown
    this.#head.show(order, this.#canOrderByRange)
    this.#table.role = isShown ? 'table' : null
    this.#table.ariaLabel = isShown ? 'Sensors' : null
    this.#table.ariaRowCount = isShown ? String(this.#found + 1) : null
    this.#table.classList.toggle('is-table', isTable)
  }

  /** @param {Listed} item */
  #show({ id, group }) {
    if (id === 0) return groupHeading(group)
    const sensor = this.#fleet.sensors.get(id) ?? this.#arranged.get(id)
    if (sensor === undefined) throw new Error(`BUG: sensor ${id} is listed`)
    const how = { isCurrent: this.#isCurrent, isRow: this.#tools.choice.isTable }
    const card = new SensorCard(sensor, this.#nameOf(sensor), how)
    this.#cards.set(id, card)
    this.#sparklines.add(id, {
      place: card.sparkPlace,
      onSummary: (lowest, highest) => card.showDay(lowest, highest),
    })
    return card.root
  }

  /** @param {Listed} item */
  #hide({ id }) {
    this.#cards.delete(id)
    this.#sparklines.remove(id)
  }

  #sayHowMany() {
    const { sensors, online, isLoaded } = this.#fleet
    const { words, isLostOnly } = this.#tools.choice
    const total = count(sensors.size)
    const of = this.#isCurrent ? `${count(online)} of ${total} online` : `${total} sensors`
    const isPart = isLostOnly || words.trim() !== ''
    const text = isPart ? `${count(this.#found)} of ${total} shown` : of
    setText(this.#summary, isLoaded && sensors.size > 0 ? text : '')
    this.#tools.showLost(this.#isCurrent ? sensors.size - online : undefined)
  }

  #sayNothing() {
    const { isLoaded, sensors, isLost } = this.#fleet
    const isHolding = this.#firstRun?.isHolding === true
    this.#nothing.hidden = this.#found > 0 && !isHolding
    const [id] = this.#arranged.keys()
    if (id !== undefined && this.#found > 0) return this.#firstRun?.arrived(id)
    if (isHolding) return
    if (isLoaded && sensors.size === 0) return void this.#showFirstRun()
    const without = isLost ? `${whyUnheard()} Nothing is saved on this device.` : ''
    if (!isLoaded) return setText(this.#nothing, without)
    const words = this.#tools.choice.words.trim()
    const none = words === '' ? 'No sensor needs attention.' : `No sensor is called “${words}”.`
    setText(this.#noneFound, none)
    const isThere = this.#nothing.contains(this.#noneFound)
    if (!isThere) this.#nothing.replaceChildren(this.#noneFound, this.#showAll)
  }

  async #showFirstRun() {
    // Not loaded for users who have sensors.
    const { FirstRun } = await import('./first-run.js')
    this.#firstRun ??= new FirstRun(() => this.#sayNothing())
    // Once shown it stays unchanged: somebody may be copying from it.
    const { root } = this.#firstRun
    if (!this.#nothing.contains(root)) this.#nothing.replaceChildren(root)
  }
}

/**
 * Whether a sensor may have moved in the list.
 *
 * @param {Sensor} sensor
 * @param {Sensor | undefined} before
 */
function isElsewhere({ alias, online, latest }, before) {
  const isSame = before?.alias === alias && before.online === online
  return !isSame || (!online && before.latest?.timestamp !== latest?.timestamp)
}

/** @param {Group} group @param {number} at @param {boolean} isTable @returns {Listed[]} */
function itemsOf(group, at, isTable) {
  const { name, isLost, sensors } = group
  const headKey = `group ${at} ${sensors.length} ${name}`
  const heading = { key: headKey, isHeading: true, isShort: false, id: 0, group }
  const kind = isTable ? 'row' : 'card'
  const items = sensors.map(({ id }) => {
    return { key: `${kind} ${id}`, isHeading: false, isShort: isLost, id, group }
  })
  return name === '' ? items : [heading, ...items]
}

/** @param {Group} group */
function groupHeading({ name, sensors }) {
  return element('h2', {}, name, element('span', {}, count(sensors.length)))
}
