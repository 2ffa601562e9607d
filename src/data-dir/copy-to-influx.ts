// Moving the embedded measurement store into InfluxDB. A copy made beside
// a running service is only preliminary, because measurements keep arriving. The final one owns
// DATA_DIR, drains the journal, copies what is missing, and switches DATA_DIR to InfluxDB only if
// the counts of every sensor and day are equal on both sides. If it is killed, DATA_DIR still uses
// the embedded store, and running it again resumes the copy.

import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { storeNameOf } from '../core/measurement-store.ts'
import type { Core } from '../core/open-core.ts'
import { UnfitSettings } from '../config.ts'
import type { Config, InfluxConfig } from '../config.ts'
import { StoreUnavailable } from '../domain/errors.ts'
import { DAY_MS, SECOND_MS, formatInstant } from '../domain/time.ts'
import { checkInfluxBucket } from '../influx/bucket-check.ts'
import { InfluxConnection } from '../influx/connection.ts'
import { InfluxMeasurementWriter } from '../influx/measurement-writer.ts'
import { MeasurementCounts } from '../influx/point-counts.ts'
import { copyStore } from '../operations/copy-store.ts'
import type { CopyOutcome } from '../operations/copy-store.ts'
import { failed } from '../operations/operations.ts'
import type { StoreRecords, StoreSwitch } from '../ports/store-upkeep.ts'
import type { WorkProgress } from '../ports/system.ts'
import { MEASUREMENTS_FILE } from '../sqlite/database.ts'
import { StoredMeasurements } from '../sqlite/measurements/stored-measurements.ts'
import { drain } from './drain.ts'
import { openBeside } from './open-beside.ts'
import { commandLog, openOwn } from './open-own.ts'
import { systemClock } from '../system/clock.ts'

const INFLUX_SETTINGS = { socketsMax: 4, timeoutMs: 60 * SECOND_MS }

export interface StoreMove {
  /** `undefined`: DATA_DIR already used InfluxDB, nothing was done. */
  readonly outcome: CopyOutcome | undefined
  /** The store that DATA_DIR uses after the move. */
  readonly storeName: string
}

interface Copying {
  readonly config: Config
  readonly influx: InfluxConfig
  readonly store: StoreRecords
  readonly progress: WorkProgress
}

/** Copies what is there now, whether a service runs or not. DATA_DIR stays unchanged. */
export function copyForNow(config: Config, progress: WorkProgress): Promise<StoreMove> {
  return withRows(config, progress, async (copying) => (await copy(copying)).outcome)
}

/**
 * Copies everything and switches DATA_DIR to InfluxDB. Owns DATA_DIR meanwhile.
 *
 * @throws OperationError when the two sides still differ: DATA_DIR stays unchanged
 */
export function moveStore(config: Config, progress: WorkProgress): Promise<StoreMove> {
  return withRows(config, progress, async (copying) => {
    const core = await openOwn({ ...config, influx: undefined })
    try {
      await drain(core, progress)
      const { outcome, found } = await copy(copying)
      checkCounts(outcome)
      await switchStore(core, storeNameOf(config), await leftoversOf(copying.store, found))
      return outcome
    } finally {
      await core.close()
    }
  })
}

async function withRows(
  config: Config,
  progress: WorkProgress,
  work: (copying: Copying) => Promise<CopyOutcome>,
): Promise<StoreMove> {
  const { influx } = config
  if (influx === undefined) {
    throw new UnfitSettings(
      'no InfluxDB to copy to: set all four of INFLUX_URL, _ORG, _BUCKET and _TOKEN',
    )
  }
  const beside = openBeside(config.dataDir)
  const { store } = beside
  try {
    const storeName = storeNameOf(config)
    const embedded = storeNameOf({ ...config, influx: undefined })
    const inUse = (await store.readStoreName()) ?? embedded
    if (inUse === storeName) return { outcome: undefined, storeName }
    if (inUse !== embedded) {
      const what = 'only an embedded store can be copied'
      throw new UnfitSettings(`DATA_DIR keeps its measurements in ${inUse}: ${what}`)
    }
    return { outcome: await work({ config, influx, store, progress }), storeName }
  } finally {
    beside.close()
  }
}

/** @returns the outcome, and the sensors that have measurements in InfluxDB */
async function copy({ config, influx, store, progress }: Copying) {
  const connection = new InfluxConnection(influx, INFLUX_SETTINGS)
  const source = new StoredMeasurements(join(config.dataDir, MEASUREMENTS_FILE))
  const target = new MeasurementCounts(connection)
  try {
    await checkBucket(connection)
    const checkBucketAgain = () => checkInfluxBucket(connection)
    const outcome = await copyStore({
      sensors: await store.listSensorInfos(),
      source,
      target,
      writer: new InfluxMeasurementWriter({
        connection,
        checkBucket: checkBucketAgain,
        clock: systemClock,
        log: commandLog(),
      }),
      progress,
      pause: (durationMs) => setTimeout(durationMs),
      random: Math.random,
    })
    return { outcome, found: await countDeleted(target, store) }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    throw failed(error.message, 'Run the command again: it resumes where it stopped.', {
      cause: error,
    })
  } finally {
    source.close()
    connection.close()
  }
}

async function checkBucket(connection: InfluxConnection): Promise<void> {
  const state = await checkInfluxBucket(connection)
  if (state.kind === 'expires' || state.kind === 'fault') {
    throw new UnfitSettings(`${state.problem}: ${state.remedy}`)
  }
  if (state.kind === 'unreachable') {
    throw failed(`InfluxDB cannot be reached: ${state.reason}`, 'Nothing was copied.')
  }
}

type DaysOfSensors = ReadonlyMap<number, ReadonlyMap<number, number>>

/** The days of all sensors that are in InfluxDB but no longer exist. */
async function countDeleted(
  target: MeasurementCounts,
  store: StoreRecords,
): Promise<DaysOfSensors> {
  const live = new Set((await store.listSensorInfos()).map(({ sensorId }) => sensorId))
  const days = new Map<number, ReadonlyMap<number, number>>()
  for (const sensorId of await target.sensorIds()) {
    if (!live.has(sensorId)) days.set(sensorId, await target.countByDay(sensorId))
  }
  return days
}

/** What an earlier copy transferred of sensors deleted since. */
async function leftoversOf(
  store: StoreRecords,
  found: DaysOfSensors,
): Promise<StoreSwitch['leftovers']> {
  return Promise.all(
    Array.from(found, async ([sensorId, days]) => {
      const userId = await store.findOwnerOfDeleted(sensorId)
      if (userId === undefined) {
        const hint = 'Set INFLUX_BUCKET to a bucket that nothing else writes to.'
        throw failed(
          `the bucket has measurements of a sensor ${sensorId}, which Thermolog does not know`,
          hint,
        )
      }
      const edges = [...days.keys()]
      const range = { startMs: Math.min(...edges), stopMs: Math.max(...edges) + DAY_MS }
      return { userId, sensorId, range }
    }),
  )
}

function checkCounts({ mismatchedDays, mismatches, refusal }: CopyOutcome): void {
  if (mismatchedDays === 0) return
  const named = mismatches.map(
    ({ sensorId, dayMs, inSource, inTarget }) =>
      `  sensor ${sensorId}, ${formatInstant(dayMs).slice(0, 10)}: ` +
      `${inSource} here, ${inTarget} in InfluxDB`,
  )
  const more = mismatchedDays - mismatches.length
  if (more > 0) named.push(`  and ${more} more`)
  if (refusal !== undefined) named.push(`  InfluxDB refused some: ${refusal}`)
  const hint =
    'DATA_DIR keeps using the embedded store. Delete from the bucket what Thermolog did not ' +
    'write, or set INFLUX_BUCKET to an empty one, and run the command again.'
  throw failed(`days with different numbers of measurements:\n${named.join('\n')}`, hint)
}

async function switchStore(
  { storeUpkeep, storeName }: Core,
  to: string,
  leftovers: StoreSwitch['leftovers'],
): Promise<void> {
  const isSwitched = await storeUpkeep.switchStore({ from: storeName, to, leftovers })
  if (!isSwitched) throw new Error(`BUG: DATA_DIR was not using the store ${storeName}`)
}
