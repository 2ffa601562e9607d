// Answers SHOW: what one can query.

import { setImmediate } from 'node:timers/promises'
import { MEASUREMENTS, TAGS, isTag } from './vocabulary.ts'
import type { Show, ShowTagValues } from './statement.ts'
import type { Measurement, Tag } from './vocabulary.ts'
import { knownSeries, limited } from './series-text.ts'
import type { Row } from './row-text.ts'
import type { Series } from './series-text.ts'
import type { TaggedSensor } from './tagged-sensors.ts'

const NAMES = Object.keys(MEASUREMENTS) as Measurement[]
const DATABASE = 'thermolog'
/** Name, duration, duration of a shard group, replicas, default. */
const POLICY: Row = ['autogen', '0s', '168h0m0s', 1, true]
const POLICY_COLUMNS = ['name', 'duration', 'shardGroupDuration', 'replicaN', 'default']

const SHOWN: Readonly<Record<Show['kind'], (show: Show) => readonly Series[]>> = {
  databases: () => [knownSeries('databases', ['name'], [[DATABASE]])],
  'retention policies': () => [knownSeries('', POLICY_COLUMNS, [POLICY])],
  measurements: ({ isMeant, limit }) => {
    const rows = NAMES.filter(isMeant).map((name) => [name])
    return [knownSeries('measurements', ['name'], rows.slice(0, limit))]
  },
  'field keys': ({ measurement, limit }) =>
    namesOf(measurement).map((name) => {
      const rows = Object.entries(MEASUREMENTS[name])
      return knownSeries(name, ['fieldKey', 'fieldType'], rows.slice(0, limit))
    }),
  'tag keys': ({ measurement, limit }) =>
    namesOf(measurement).map((name) => {
      const rows = TAGS.map((tag) => [tag])
      return knownSeries(name, ['tagKey'], rows.slice(0, limit))
    }),
}

export function showSeries(show: Show): readonly Series[] {
  return SHOWN[show.kind](show)
}

/** @param sensors of each measurement that are meant */
export function tagValueSeries(
  { measurement, keys, limit }: ShowTagValues,
  sensors: Readonly<Record<Measurement, readonly TaggedSensor[]>>,
): readonly Series[] {
  const known = [...new Set(keys.filter(isTag))].toSorted()
  return namesOf(measurement).map((name) => {
    const rows = limited(tagRows(known, sensors[name]), limit)
    return { name, tags: {}, columns: ['key', 'value'], rows }
  })
}

/** Made when they are written: a client may never take those of many sensors. */
async function* tagRows(
  tags: readonly Tag[],
  sensors: readonly TaggedSensor[],
): AsyncIterable<readonly Row[]> {
  for (const tag of tags) {
    const values = new Set(sensors.map((sensor) => sensor.tags[tag]))
    yield [...values].toSorted().map((value) => [tag, value])
    await setImmediate()
  }
}

function namesOf(measurement: string | undefined): readonly Measurement[] {
  return measurement === undefined ? NAMES : NAMES.filter((name) => name === measurement)
}
