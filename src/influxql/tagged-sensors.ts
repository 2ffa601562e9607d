// A user's sensors with their tags, as they are now: chosen by a condition, grouped into series.

import { setImmediate } from 'node:timers/promises'
import type { Sensor } from '../domain/sensor.ts'
import type { SensorState } from '../sensors/sensors.ts'
import type { Condition } from './condition.ts'
import type { Work } from './limits.ts'
import { isTag } from './vocabulary.ts'
import type { Tags } from './vocabulary.ts'

/** Work before that of others runs: some milliseconds. */
const WORK_AT_ONCE = 100_000

/** What making a sensor's tags takes, in the same measure. */
const TAGS_WORK = 500

export interface TaggedSensor {
  readonly state: SensorState
  readonly tags: Tags
}

/** One series of an answer: the sensors whose tags are equal. */
export interface Group {
  /** Those grouped by. */
  readonly tags: Readonly<Record<string, string>>
  readonly sensors: readonly TaggedSensor[]
}

/**
 * The sensors that are meant.
 *
 * @param states all of the user's
 * @throws StatementError if it takes too long to tell
 */
export async function chosenSensors(
  states: readonly SensorState[],
  condition: Condition,
  work: Work,
): Promise<readonly TaggedSensor[]> {
  const names = namesOf(states)
  const chosen: TaggedSensor[] = []
  let sliceEnd = WORK_AT_ONCE
  for (const [at, state] of states.entries()) {
    const { id, serialNumber: sn, alias } = state.sensor
    const name = names[at] ?? alias
    const tags = { alias, choice: `${name} #${id}`, name, sensor_id: String(id), sn }
    if (condition(tags, work)) chosen.push({ state, tags })
    const done = work.done + (at + 1) * TAGS_WORK
    if (done < sliceEnd) continue
    await setImmediate()
    sliceEnd = done + WORK_AT_ONCE
  }
  return chosen
}

/**
 * Groups sensors by tags; the series come in the order of these.
 *
 * @param tags in alphabetical order
 * @returns `undefined` if one of them is unknown
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

/**
 * Consecutive groups that are read together: as many as weigh `weightMax`, one at least.
 *
 * @param weightOf what a group takes
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

/** Each sensor's alias, with its serial number behind it where two sensors have the same. */
function namesOf(states: readonly SensorState[]): readonly string[] {
  const aliases = states.map(({ sensor }) => sensor.alias)
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const alias of aliases) (seen.has(alias) ? repeated : seen).add(alias)
  return states.map(({ sensor: { alias, serialNumber } }) =>
    repeated.has(alias) ? `${alias} (${serialNumber})` : alias,
  )
}
