// Moving the embedded measurement store into InfluxDB. Beside a running service a copy can only be
// a first one: measurements go on coming. The last one owns DATA_DIR, lets the journal run empty,
// copies what is missing, and has DATA_DIR use InfluxDB only when the counts of every sensor and
// day are the same on both sides. Killed anywhere, DATA_DIR still uses the embedded store, and the
// same again goes on where it was.

import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { storeNameOf } from '../core/measurement-store.ts'
import { openCore } from '../core/open-core.ts'
import type { Core } from '../core/open-core.ts'
import { UnfitSettings } from '../config.ts'
import type { Config, InfluxConfig } from '../config.ts'
import { StoreUnavailable } from '../domain/errors.ts'
import type { SensorId } from '../domain/sensor.ts'
import { DAY_MS, SECOND_MS, formatInstant } from '../domain/time.ts'
import { checkInfluxBucket } from '../influx/bucket-check.ts'
import { InfluxConnection } from '../influx/connection.ts'
import { InfluxMeasurementWriter } from '../influx/measurement-writer.ts'
import { MeasurementCounts } from '../influx/point-counts.ts'
import { copyStore } from '../operations/copy-store.ts'
import type { CopyOutcome, CopyProgress } from '../operations/copy-store.ts'
import { failed } from '../operations/operations.ts'
import type { StoreRecords, StoreSwitch } from '../ports/store-upkeep.ts'
import { MEASUREMENTS_FILE } from '../sqlite/database.ts'
import { StoredMeasurements } from '../sqlite/measurements/stored-measurements.ts'
import { openBeside } from './open-beside.ts'
import { systemClock } from '../system/clock.ts'
import { createLog, standardError } from '../system/log.ts'

const INFLUX_SETTINGS = { socketsMax: 4, timeoutMs: 60 * SECOND_MS }
const DRAIN_LOOK_EVERY_MS = 50

export interface StoreMove {
  /** `undefined`: DATA_DIR used InfluxDB already, nothing was done. */
  readonly outcome: CopyOutcome | undefined
  /** What DATA_DIR uses when the move is through. */
  readonly storeName: string
}

interface Copying {
  readonly config: Config
  readonly influx: InfluxConfig
  readonly store: StoreRecords
  readonly progress: CopyProgress
}

/** Copies what is there now, beside a running service or not. DATA_DIR goes on as it was. */
export function copyForNow(config: Config, progress: CopyProgress): Promise<StoreMove> {
  return withRows(config, progress, async (copying) => (await copy(copying)).outcome)
}

/**
 * Copies everything and has DATA_DIR use InfluxDB from then on. Owns DATA_DIR meanwhile.
 *
 * @throws OperationError when the two sides differ after all: DATA_DIR goes on as it was
 */
export function moveStore(config: Config, progress: CopyProgress): Promise<StoreMove> {
  return withRows(config, progress, async (copying) => {
    const clock = systemClock
    const log = createLog(clock, { level: 'error', component: 'command' }, standardError)
    const embedded: Config = { ...config, influx: undefined, logLevel: 'silent' }
    const core = await openCore(embedded, { clock, log })
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
  progress: CopyProgress,
  work: (copying: Copying) => Promise<CopyOutcome>,
): Promise<StoreMove> {
  const { influx } = config
  if (influx === undefined) {
    throw new UnfitSettings('INFLUX_URL and its companions say where to copy to: set all four')
  }
  const beside = openBeside(config.dataDir)
  const { store } = beside
  try {
    const storeName = storeNameOf(config)
    const embedded = storeNameOf({ ...config, influx: undefined })
    const inUse = (await store.readStoreName()) ?? embedded
    if (inUse === storeName) return { outcome: undefined, storeName }
    if (inUse !== embedded) {
      const what = 'only those of the embedded store can be copied'
      throw new UnfitSettings(`DATA_DIR keeps its measurements in ${inUse}: ${what}`)
    }
    return { outcome: await work({ config, influx, store, progress }), storeName }
  } finally {
    beside.close()
  }
}

/** Until all that was acknowledged is in the embedded store, and all deleted is gone from it. */
async function drain({ progress: stored, control, forwarding }: Core, progress: CopyProgress) {
  const left = async () => stored.backlog().entries + (await control.countSensorDeletions())
  let entries = await left()
  progress.begin('emptying the journal', entries)
  while (entries > 0) {
    if (!forwarding.isStoreWorking) {
      throw failed('the embedded store takes nothing from the journal', 'Is the disk full?')
    }
    await setTimeout(DRAIN_LOOK_EVERY_MS)
    const before = entries
    entries = await left()
    progress.advance(before - entries)
  }
}

/** @returns the outcome, and which sensors InfluxDB has measurements of */
async function copy({ config, influx, store, progress }: Copying) {
  const connection = new InfluxConnection(influx, INFLUX_SETTINGS)
  const log = createLog(systemClock, { level: 'error', component: 'command' }, standardError)
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
        log,
      }),
      progress,
      pause: (durationMs) => setTimeout(durationMs),
      random: Math.random,
    })
    return { outcome, found: await countDeleted(target, store) }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    throw failed(error.message, 'Run the command again: it goes on where it stopped.', {
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
    throw failed(`InfluxDB is out of reach: ${state.reason}`, 'Nothing was copied.')
  }
}

type DaysOfSensors = ReadonlyMap<SensorId, ReadonlyMap<number, number>>

/** The days of all sensors that InfluxDB has and that are not live. */
async function countDeleted(
  target: MeasurementCounts,
  store: StoreRecords,
): Promise<DaysOfSensors> {
  const live = new Set((await store.listSensorInfos()).map(({ sensorId }) => sensorId))
  const days = new Map<SensorId, ReadonlyMap<number, number>>()
  for (const sensorId of await target.sensorIds()) {
    if (!live.has(sensorId)) days.set(sensorId, await target.countByDay(sensorId))
  }
  return days
}

/** What an earlier copy has brought over of sensors that were deleted since. */
async function leftoversOf(
  store: StoreRecords,
  found: DaysOfSensors,
): Promise<StoreSwitch['leftovers']> {
  return Promise.all(
    Array.from(found, async ([sensorId, days]) => {
      const userId = await store.findOwnerOfDeleted(sensorId)
      if (userId === undefined) {
        const hint = 'Name a bucket in INFLUX_BUCKET that nothing else writes to.'
        throw failed(`the bucket has measurements of a sensor ${sensorId}, which is not ours`, hint)
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
    'DATA_DIR goes on with the embedded store. Delete what is in the bucket and not ours, ' +
    'or name an empty bucket, and run the command again.'
  throw failed(`days with another number of measurements:\n${named.join('\n')}`, hint)
}

async function switchStore(
  { controlWriter, storeName }: Core,
  to: string,
  leftovers: StoreSwitch['leftovers'],
): Promise<void> {
  const isSwitched = await controlWriter.switchStore({ from: storeName, to, leftovers })
  if (!isSwitched) throw new Error(`BUG: DATA_DIR was not using the store ${storeName}`)
}
