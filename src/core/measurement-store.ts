// The measurement store of the settings: its name, reading it, and refusing one that does not fit.

import { join } from 'node:path'
import { UnfitSettings } from '../config.ts'
import type { Config } from '../config.ts'
import { journalEntryBytes } from '../domain/limits.ts'
import { DAY_MS, SECOND_MS } from '../domain/time.ts'
import { checkInfluxBucket } from '../influx/bucket-check.ts'
import { InfluxConnection } from '../influx/connection.ts'
import { InfluxMeasurementReader } from '../influx/measurement-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import type { StoreRecords } from '../ports/store-upkeep.ts'
import type { Log } from '../ports/system.ts'
import { EMBEDDED_STORE } from '../sqlite/backup/data-snapshot.ts'
import { MEASUREMENTS_FILE } from '../sqlite/database.ts'
import { SqliteMeasurementReader } from '../sqlite/measurements/measurement-reader.ts'

/** What InfluxDB took in this time is written again when it has started anew. */
const REPLAY_KEPT_MS = DAY_MS
const REPLAY_MEASUREMENTS_MIN = 1_000_000

/** A start waits no longer for InfluxDB to say how its bucket is. */
const INFLUX_CHECK = { socketsMax: 1, timeoutMs: 5 * SECOND_MS }

/**
 * Reads of histories at once. Who reads has an answer or 503 in ten seconds, two of which a history
 * may have waited for what is on its way.
 */
const INFLUX_READS = { socketsMax: 8, timeoutMs: 8 * SECOND_MS }

/** The store by what does not change when its server moves. */
export function storeNameOf({ influx }: Config): string {
  return influx === undefined
    ? EMBEDDED_STORE
    : `InfluxDB, organization ${influx.organization}, bucket ${influx.influxBucket}`
}

/**
 * Measurements that are in one store must not be looked for in another.
 *
 * @throws UnfitSettings when they are in another one
 */
export async function adoptStore(controlWriter: ControlWriter, wanted: string): Promise<void> {
  const inUse = await controlWriter.adoptStore(wanted)
  if (inUse === wanted) return
  throw new UnfitSettings(
    `DATA_DIR keeps its measurements in another store (${inUse}) than the settings say ` +
      `(${wanted}): set the old one again, or move them with \`thermolog store copy\``,
  )
}

/**
 * For what only reads and adopts no store.
 *
 * @throws UnfitSettings when DATA_DIR keeps its measurements in another store than the settings say
 */
export async function refuseOtherStore(config: Config, store: StoreRecords): Promise<void> {
  const inUse = await store.readStoreName()
  const wanted = storeNameOf(config)
  if (inUse === undefined || inUse === wanted) return
  throw new UnfitSettings(
    `DATA_DIR keeps its measurements in another store (${inUse}) than the settings say (${wanted})`,
  )
}

/** Reads the measurement store of the settings. */
export function openReader({ dataDir, influx }: Config): MeasurementReader {
  return influx === undefined
    ? new SqliteMeasurementReader(join(dataDir, MEASUREMENTS_FILE))
    : new InfluxMeasurementReader(new InfluxConnection(influx, INFLUX_READS))
}

/** The service starts without InfluxDB, but never on a bucket that forgets. */
export async function checkBucket({ influx }: Config, log: Log): Promise<void> {
  if (influx === undefined) return
  const connection = new InfluxConnection(influx, INFLUX_CHECK)
  const state = await checkInfluxBucket(connection)
  connection.close()
  if (state.kind === 'expires') throw new UnfitSettings(`${state.problem}: ${state.remedy}`)
  if (state.kind === 'created') log.info('made the bucket', { bucket: influx.influxBucket })
  if (state.kind === 'fault') log.error(state.problem, { remedy: state.remedy })
  if (state.kind === 'unreachable') {
    log.warn('InfluxDB is out of reach; the journal keeps measurements', { error: state.reason })
  }
}

/** How long rows stay in the journal that the store has: it may lose them. */
export function retentionOf({ influx, journalBytesMax }: Config) {
  if (influx === undefined) return undefined
  return {
    keptMs: REPLAY_KEPT_MS,
    measurementsMin: REPLAY_MEASUREMENTS_MIN,
    // The other half is for what is not forwarded yet.
    measurementsMax: Math.max(
      REPLAY_MEASUREMENTS_MIN,
      Math.floor(journalBytesMax / 2 / journalEntryBytes),
    ),
  }
}
