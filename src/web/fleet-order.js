// Which sensors the dashboard lists, in which order, and in which groups: `Cellar / Freezer` is the
// sensor Freezer of the group Cellar. Sensors that need attention come first.

/**
 * @import { Sensor } from './api.js'
 * @typedef {{
 *   readonly words: string, readonly isLostOnly: boolean,
 *   readonly order: string, readonly isTable: boolean,
 * }} Choice `order` is a column's name; a minus before it reverses the order
 * @typedef {{
 *   readonly name: string, readonly isLost: boolean, readonly sensors: readonly Sensor[],
 * }} Group `name` is empty for sensors without one; `isLost`: they need attention
 * @typedef {(id: number) => number | undefined} RangeOf how far a sensor's values of the last day
 *   are apart, if that is known
 */

const SEPARATOR = ' / '
const LOST = 'Needs attention'
const OTHERS = 'Other sensors'
const collator = new Intl.Collator(undefined, { numeric: true })

/**
 * The lowest comes first, sensors without a value last.
 *
 * @type {Readonly<
 *   Record<string, (sensor: Sensor, byName: number, rangeOf: RangeOf) => number | undefined>
 * >}
 */
const RANKS = {
  name: (_, byName) => byName,
  // The sensor lost most recently comes first.
  state: ({ online, latest }) => (online ? 1 : -lastMs(latest)),
  seen: ({ latest }) => lastMs(latest),
  range: ({ id }, _, rangeOf) => {
    const range = rangeOf(id)
    return range === undefined ? undefined : -range
  },
  temp: ({ latest }) => (latest === null ? undefined : -latest.temp),
}

/** Sorts in place, quickly if the sensors are nearly sorted. @param {Sensor[]} sensors */
export function sortByName(sensors) {
  return sensors.sort((one, other) => collator.compare(one.alias, other.alias))
}

/** @param {readonly Sensor[]} sensors @param {Choice} choice */
export function foundAmong(sensors, { words, isLostOnly }) {
  const parts = words.toLowerCase().split(/\s+/)
  return sensors.filter(({ alias, sn, online }) => {
    if (isLostOnly && online) return false
    const text = `${alias} ${sn}`.toLowerCase()
    return parts.every((part) => text.includes(part))
  })
}

/**
 * @param {readonly Sensor[]} found by name
 * @param {Choice} choice
 * @param {RangeOf} rangeOf
 * @returns {Group[]} one in a table, and for orders other than by name or state
 */
export function groupsOf(found, { order, isTable }, rangeOf) {
  if (!isTable && order === 'name') return byGroup(found)
  if (isTable || order !== 'state') {
    return [{ name: '', isLost: false, sensors: sortBy(found, order, rangeOf) }]
  }
  const lost = found.filter(({ online }) => !online)
  if (lost.length === 0) return byGroup(found)
  const rest = byGroup(found.filter(({ online }) => online))
  const others = rest.map((group) => ({ ...group, name: group.name || OTHERS }))
  return [{ name: LOST, isLost: true, sensors: sortBy(lost, order, rangeOf) }, ...others]
}

/** @param {readonly Sensor[]} sensors by name @param {string} order @param {RangeOf} rangeOf */
function sortBy(sensors, order, rangeOf) {
  const isBackwards = order.startsWith('-')
  const rankOf = RANKS[isBackwards ? order.slice(1) : order] ?? (() => undefined)
  const ranked = sensors.map((sensor, byName) => {
    const rank = rankOf(sensor, byName, rangeOf)
    return { sensor, rank: rank === undefined ? Infinity : rank * (isBackwards ? -1 : 1) }
  })
  return ranked.sort((one, other) => one.rank - other.rank).map(({ sensor }) => sensor)
}

/** The group's name, or empty. @param {string} alias */
function groupName(alias) {
  const end = alias.indexOf(SEPARATOR)
  return end === -1 ? '' : alias.slice(0, end).trim()
}

/** The name within the group. @param {string} alias */
export function nameInGroup(alias) {
  return groupName(alias) === '' ? alias : alias.slice(alias.indexOf(SEPARATOR) + SEPARATOR.length)
}

/** @param {readonly Sensor[]} sensors by name @returns {Group[]} */
function byGroup(sensors) {
  const groups = Map.groupBy(sensors, ({ alias }) => groupName(alias))
  const alone = groups.get('') ?? []
  groups.delete('')
  const named = Array.from(groups, ([name, members]) => {
    return { name, isLost: false, sensors: members }
  })
  return alone.length > 0 ? [{ name: '', isLost: false, sensors: alone }, ...named] : named
}

/** @param {Sensor['latest']} latest */
function lastMs(latest) {
  return latest === null ? 0 : Date.parse(latest.timestamp)
}
