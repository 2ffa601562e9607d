// `thermolog journal`: measurements set aside because the measurement store would not take them.

import { counted } from '../domain/grouped.ts'
import { formatInstant } from '../domain/time.ts'
import type { SetAsideMeasurement } from '../ports/store-upkeep.ts'
import { choiceOf, chosenIds } from './chosen-ids.ts'
import { operatorCommand } from './context.ts'
import type { Context } from './context.ts'

/** The rest is counted but not listed. */
const LISTED_MAX = 10_000
const ITEM = 'set-aside measurement'
const ITEMS = 'set-aside measurements'

const list = operatorCommand({
  path: 'journal list',
  help: 'list them with the reason the store gave',
  example: 'thermolog journal list --json',
  json: 'print JSON',
  arguments: {},
  run: async ({ control }) => ({
    count: await control.countSetAside(),
    measurements: await control.listSetAside(0, LISTED_MAX),
  }),
  present: ({ count, measurements }) => {
    const rows = measurements.map(present)
    const more = count - rows.length
    return {
      json: rows,
      lines: [{ rows, whenEmpty: 'nothing is set aside' }],
      notes: more > 0 ? [`and ${more} more`] : [],
    }
  },
})

const retry = operatorCommand({
  path: 'journal retry',
  help: 'write them to the store again',
  example: 'thermolog journal retry --all',
  ...choiceOf('journal retry', ITEMS),
  run: async ({ control, storeUpkeep }, values) => {
    const ids = await chosenIds(values, known(control, 'journal retry'))
    return { count: await storeUpkeep.retrySetAside(ids) }
  },
  present: ({ count }) => ({
    notes: [`${counted(count, 'measurement')} queued for the store again`],
  }),
})

const drop = operatorCommand({
  path: 'journal drop',
  help: 'delete them permanently',
  example: 'thermolog journal drop 3 4',
  ...choiceOf('journal drop', ITEMS),
  deletes: async ({ control }, values) => {
    const ids = await chosenIds(values, known(control, 'journal drop'))
    const count = ids?.length ?? (await control.countSetAside())
    return count === 0 ? undefined : counted(count, ITEM)
  },
  run: async ({ control, storeUpkeep }, values) => {
    const ids = await chosenIds(values, known(control, 'journal drop'))
    return { count: await storeUpkeep.dropSetAside(ids) }
  },
  present: ({ count }) => ({ notes: [`deleted ${counted(count, ITEM)}`] }),
})

export const commands = [list, retry, drop] as const

function known(control: Context['control'], path: string) {
  const from = async (id: number) => (await control.listSetAside(id - 1, 1))[0]
  return { path, item: ITEM, from }
}

function present(measurement: SetAsideMeasurement) {
  return {
    id: measurement.id,
    sensor_id: measurement.sensorId,
    timestamp: formatInstant(measurement.measuredAtMs),
    temp: measurement.tempCelsius,
    set_aside_at: formatInstant(measurement.setAsideAtMs),
    reason: measurement.reason,
  }
}
