// Which sensors the dashboard lists, in which order, and in which groups: `Cellar / Freezer` is the
// sensor Freezer of the group Cellar.

/**
 * @import { Sensor } from './api.js'
 * @typedef {{ words: string, shown: string, order: string }} Choice
 * @typedef {{ name: string, sensors: Sensor[] }} Group `name` is empty for sensors without one
 */

const DAY_MS = 86_400_000
const SEPARATOR = ' / '
const collator = new Intl.Collator(undefined, { numeric: true })

/** By what is chosen. @type {ReadonlyMap<string, (sensor: Sensor, nowMs: number) => boolean>} */
const FILTERS = new Map([
  ['online', ({ online }) => online],
  ['offline', ({ online }) => !online],
  ['day', (sensor, nowMs) => silentMs(sensor, nowMs) > DAY_MS],
  ['week', (sensor, nowMs) => silentMs(sensor, nowMs) > 7 * DAY_MS],
])

/** The lowest comes first. @type {ReadonlyMap<string, (sensor: Sensor) => number>} */
const RANKS = new Map([
  ['warmest', ({ latest }) => -(latest?.temp ?? -Infinity)],
  ['coldest', ({ latest }) => latest?.temp ?? Infinity],
  ['silent', ({ latest }) => (latest === null ? -Infinity : Date.parse(latest.timestamp))],
])

/** Sorts in place; nearly sorted sensors take little time. @param {Sensor[]} sensors */
export function sortByName(sensors) {
  return sensors.sort((one, other) => collator.compare(one.alias, other.alias))
}

/**
 * @param {readonly Sensor[]} sensors by name
 * @param {Choice} choice
 * @param {number} nowMs
 * @returns {Group[]} groups only in the order of names
 */
export function groupsOf(sensors, { words, shown, order }, nowMs) {
  const isShown = FILTERS.get(shown) ?? (() => true)
  const parts = words.toLowerCase().split(/\s+/)
  const found = sensors.filter((sensor) => {
    if (!isShown(sensor, nowMs)) return false
    const text = `${sensor.alias} ${sensor.sn}`.toLowerCase()
    return parts.every((part) => text.includes(part))
  })
  const rank = RANKS.get(order)
  if (rank === undefined) return byGroup(found)
  return [{ name: '', sensors: found.sort((one, other) => rank(one) - rank(other)) }]
}

/** The group's name, empty without one. @param {string} alias */
function groupName(alias) {
  const end = alias.indexOf(SEPARATOR)
  return end === -1 ? '' : alias.slice(0, end).trim()
}

/** The name within the group. @param {string} alias */
export function nameInGroup(alias) {
  return groupName(alias) === '' ? alias : alias.slice(alias.indexOf(SEPARATOR) + SEPARATOR.length)
}

/** @param {Sensor[]} sensors by name */
function byGroup(sensors) {
  const groups = Map.groupBy(sensors, ({ alias }) => groupName(alias))
  const alone = groups.get('') ?? []
  groups.delete('')
  const named = Array.from(groups, ([name, members]) => ({ name, sensors: members }))
  return [...(alone.length > 0 ? [{ name: '', sensors: alone }] : []), ...named]
}

/** @param {Sensor} sensor @param {number} nowMs */
function silentMs({ latest }, nowMs) {
  return latest === null ? Infinity : nowMs - Date.parse(latest.timestamp)
}
