// Moving the measurements of a DATA_DIR from the embedded store into InfluxDB. All of them are
// written, whatever an earlier move that was interrupted has written: writing a measurement again
// changes nothing. Then both sides are counted, and only if they have the same does DATA_DIR use
// InfluxDB; until then it uses the embedded store.

import { storeNameOf } from '../core/measurement-store.ts'
import { UnfitSettings } from '../config.ts'
import type { Config } from '../config.ts'
import { StoreUnavailable } from '../domain/errors.ts'
import { columnsOver, ENTRY_BYTES } from '../domain/measurement-columns.ts'
import type { MeasurementColumns } from '../domain/measurement-columns.ts'
import { DAY_MS } from '../domain/time.ts'
import { failed } from '../operations/failure.ts'
import type { SensorInfo } from '../ports/measurement-store.ts'
import type { CountedDay, MovedValue } from '../ports/moved-data.ts'
import type { StoreRecords, StoreSwitch } from '../ports/store-upkeep.ts'
import type { WorkProgress } from '../ports/system.ts'
import { MovedData } from '../sqlite/move/moved-data.ts'
import { compareMovedDays } from './compare-days.ts'
import { InfluxTarget } from './influx-target.ts'
import { openBeside } from './open-beside.ts'
import { openDrained, readStoreInUse } from './own-drained.ts'

interface MoveOutcome {
  /** How many were moved; `undefined`: DATA_DIR already used InfluxDB, nothing was done. */
  readonly measurements: number | undefined
  /** The store that DATA_DIR uses now. */
  readonly storeName: string
}

interface Moving {
  readonly store: StoreRecords
  readonly target: InfluxTarget
  readonly progress: WorkProgress
}

interface Moved {
  readonly data: MovedData
  /** By id. */
  readonly sensors: ReadonlyMap<number, SensorInfo>
}

/**
 * Moves every measurement, and the sensors' names. Owns DATA_DIR meanwhile.
 *
 * @throws UnfitSettings if InfluxDB cannot take them, or DATA_DIR has them in another one
 * @throws OperationError when it was interrupted, or the two sides differ: DATA_DIR keeps its store
 */
export async function moveToInflux(config: Config, progress: WorkProgress): Promise<MoveOutcome> {
  const { influx } = config
  if (influx === undefined) {
    throw new UnfitSettings(
      'no InfluxDB to move to: set all four of INFLUX_URL, _ORG, _BUCKET and _TOKEN',
    )
  }
  const storeName = storeNameOf(config)
  const { store, close } = openBeside(config.dataDir)
  const target = new InfluxTarget(influx)
  try {
    const isThere = (await readStoreInUse(store)) === storeName
    const measurements = isThere ? undefined : await move(config, { store, target, progress })
    return { measurements, storeName }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    throw failed(error.message, 'Run the command again: it begins anew.', { cause: error })
  } finally {
    target.close()
    close()
  }
}

/** @returns the number of measurements */
async function move(config: Config, moving: Moving): Promise<number> {
  const { store, target, progress } = moving
  const core = await openDrained(config, progress)
  try {
    await target.checkBucket()
    const infos = await store.listSensorInfos()
    const sensors = new Map(infos.map((info) => [info.sensorId, info]))
    const data = new MovedData(config.dataDir)
    try {
      const measurements = await writeAll({ data, sensors }, moving)
      const sensorIds = await target.sensorIds()
      const isLive = (id: number) => sensors.has(id)
      await checkCounts(data, sensorIds.filter(isLive), moving)
      const gone = sensorIds.filter((id) => !isLive(id))
      const leftovers = await findLeftovers(gone, moving)
      const change = { from: core.storeName, to: storeNameOf(config), leftovers }
      const isSwitched = await core.storeChoice?.switchStore(change)
      if (isSwitched !== true) throw new Error(`BUG: DATA_DIR was not using ${core.storeName}`)
      return measurements
    } finally {
      data.close()
    }
  } finally {
    await core.close()
  }
}

/** @returns the number of measurements */
async function writeAll({ data, sensors }: Moved, { target, progress }: Moving): Promise<number> {
  const { measurements } = data
  const total = measurements.total()
  progress.begin('moving measurements', total, 'measurement')
  for (const rows of measurements.pages()) {
    await target.write({ measurements: columnsOf(rows, sensors), sensorInfos: [] })
    progress.advance(rows.length)
  }
  await target.write({ measurements: columnsOf([], sensors), sensorInfos: [...sensors.values()] })
  return total
}

function columnsOf(
  rows: readonly (readonly MovedValue[])[],
  sensors: Moved['sensors'],
): MeasurementColumns {
  const columns = columnsOver(new ArrayBuffer(rows.length * ENTRY_BYTES), 0, rows.length)
  rows.forEach((row, at) => {
    const [sensorId = 0, measuredAtMs = 0, tieBreakNs = 0, tempCelsius = 0] = row.map(Number)
    const sensor = sensors.get(sensorId)
    if (sensor === undefined) {
      throw new Error(`there are measurements of no sensor ${sensorId}: see \`thermolog verify\``)
    }
    columns.userId[at] = sensor.userId
    columns.sensorId[at] = sensorId
    columns.measuredAtMs[at] = measuredAtMs
    columns.tieBreakNs[at] = tieBreakNs
    columns.tempCelsius[at] = tempCelsius
  })
  return columns
}

/** @param sensorIds those that have measurements in InfluxDB, ascending */
async function checkCounts(
  data: MovedData,
  sensorIds: readonly number[],
  { target, progress }: Moving,
): Promise<void> {
  async function* countDays(): AsyncGenerator<CountedDay> {
    for (const sensorId of sensorIds) {
      const days = [...(await target.countByDay(sensorId))].sort(([one], [other]) => one - other)
      yield* days.map(([dayMs, count]) => ({ sensorId, day: dayMs / DAY_MS, measurements: count }))
    }
  }
  const sides = { source: data, target: { name: 'InfluxDB', countDays } }
  const differences = [...(await compareMovedDays(sides, progress))]
  if (target.refusal !== undefined) differences.push(`InfluxDB refused some: ${target.refusal}`)
  if (differences.length === 0) return
  const hint =
    'DATA_DIR keeps using the embedded store. Delete from the bucket what Thermolog did not ' +
    'write, or set INFLUX_BUCKET to an empty one, and run the command again.'
  throw failed(`the two sides differ:\n  ${differences.join('\n  ')}`, hint)
}

/** What an earlier move wrote of sensors that were deleted since. */
async function findLeftovers(
  sensorIds: readonly number[],
  { target, store }: Moving,
): Promise<StoreSwitch['leftovers']> {
  const leftovers: StoreSwitch['leftovers'][number][] = []
  for (const sensorId of sensorIds) {
    const userId = await store.findOwnerOfDeleted(sensorId)
    if (userId === undefined) {
      throw failed(
        `the bucket has measurements of a sensor ${sensorId}, which Thermolog does not know`,
        'Set INFLUX_BUCKET to a bucket that nothing else writes to.',
      )
    }
    const days = [...(await target.countByDay(sensorId)).keys()]
    const range = { startMs: Math.min(...days), stopMs: Math.max(...days) + DAY_MS }
    leftovers.push({ userId, sensorId, range })
  }
  return leftovers
}
