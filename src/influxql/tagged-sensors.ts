// A user's sensors with their current tags, selected by a condition and grouped into series.

import { setImmediate } from 'node:timers/promises'
import type { Sensor } from '../domain/sensor.ts'
import type { SensorState } from '../sensors/sensors.ts'
import type { Condition } from './condition.ts'
import type { Work } from './limits.ts'
import { isTag } from './vocabulary.ts'
import type { Tags } from './vocabulary.ts'

/** Work between two pauses for other work: some milliseconds. */
const WORK_AT_ONCE = 100_000

/** Sensors whose tags are made between two pauses. */
const TAGGED_AT_ONCE = 200

export interface TaggedSensor {
  readonly state: SensorState
  readonly tags: Tags
}

/** One series of a response: the sensors with equal tags. */
export interface Group {
  /** The tags it is grouped by. */
  readonly tags: Readonly<Record<string, string>>
  readonly sensors: readonly TaggedSensor[]
}

/** @param states of all the user's sensors */
export async function taggedSensors(
  states: readonly SensorState[],
): Promise<readonly TaggedSensor[]> {
  const names = namesOf(states)
  const tagged: TaggedSensor[] = []
  for (const [at, state] of states.entries()) {
    const { id, serialNumber: sn, alias } = state.sensor
    const name = names[at] ?? alias
    const tags = { alias, choice: `${name} #${id}`, name, sensor_id: String(id), sn }
    if (tagged.push({ state, tags }) % TAGGED_AT_ONCE === 0) await setImmediate()
  }
  return tagged
}

/**
 * The sensors that a condition selects.
 *
 * @throws StatementError if it takes too long
 */
export async function chosenSensors(
  sensors: readonly TaggedSensor[],
  condition: Condition,
  work: Work,
): Promise<readonly TaggedSensor[]> {
  work.addSensors(sensors.length)
  const chosen: TaggedSensor[] = []
  let sliceEnd = work.done + WORK_AT_ONCE
  for (const sensor of sensors) {
    if (condition(sensor.tags, work)) chosen.push(sensor)
    if (work.done < sliceEnd) continue
    await setImmediate()
    sliceEnd = work.done + WORK_AT_ONCE
  }
  return chosen
}

/**
 * Groups sensors by tags; the series are ordered by these.
 *
 * @param tags in alphabetical order
 * @returns `undefined` if a tag is unknown
 */
export function grouped(
  sensors: readonly TaggedSensor[],
  tags: readonly string[],
): readonly Group[] | undefined {
  if (!tags.every(isTag)) return undefined
  const groups = new Map<string, { tags: Group['tags']; sensors: TaggedSensor[] }>()
  for (const sensor of sensors) {
    const own = Object.fromEntries(tags.map((tag) => [tag, sensor.tags[tag]]))
    const key = JSON.stringify(Object.values(own))
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { tags: own, sensors: [sensor] })
    else group.sensors.push(sensor)
  }
  return [...groups.values()].toSorted((one, other) => compareTags(one.tags, other.tags, tags))
}

export function sensorsOf(groups: readonly Group[]): readonly Sensor[] {
  return groups.flatMap(({ sensors }) => sensors.map(({ state }) => state.sensor))
}

/** What a field of a sensor's measurements adds to them. */
export function compensationOf(field: string, { compensationCelsius }: Sensor): number {
  return field === 'raw' ? 0 : compensationCelsius
}

/**
 * Consecutive groups that are read together: up to a weight of `weightMax`, at least one.
 *
 * @param weightOf a group
 */
export function* inParts(
  groups: readonly Group[],
  weightOf: (group: Group) => number,
  weightMax: number,
): Iterable<readonly Group[]> {
  let part: Group[] = []
  let weight = 0
  for (const group of groups) {
    const more = weightOf(group)
    if (part.length > 0 && weight + more > weightMax) {
      yield part
      part = []
      weight = 0
    }
    part.push(group)
    weight += more
  }
  if (part.length > 0) yield part
}

function compareTags(one: Group['tags'], other: Group['tags'], tags: readonly string[]): number {
  for (const tag of tags) {
    const [left = '', right = ''] = [one[tag], other[tag]]
    if (left !== right) return left < right ? -1 : 1
  }
  return 0
}

/** Each sensor's alias, followed by its serial number if another sensor has the same alias. */
function namesOf(states: readonly SensorState[]): readonly string[] {
  const aliases = states.map(({ sensor }) => sensor.alias)
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const alias of aliases) (seen.has(alias) ? repeated : seen).add(alias)
  return states.map(({ sensor: { alias, serialNumber } }) =>
    repeated.has(alias) ? `${alias} (${serialNumber})` : alias,
  )
}
