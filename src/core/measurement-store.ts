// The measurement store in the settings: naming it, opening it for reading, and refusing one that
// does not fit DATA_DIR.

import { join } from 'node:path'
import { UnfitSettings } from '../config.ts'
import type { Config, InfluxConfig } from '../config.ts'
import { SECOND_MS } from '../domain/time.ts'
import { InfluxConnection } from '../influx/connection.ts'
import { InfluxMeasurementReader } from '../influx/measurement-reader.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import type { StoreRecords, StoreUpkeep } from '../ports/store-upkeep.ts'
import { EMBEDDED_STORE, MEASUREMENTS_FILE } from '../sqlite/database.ts'
import { SqliteMeasurementReader } from '../sqlite/measurements/measurement-reader.ts'

/**
 * Concurrent reads for histories. A reader gets an answer or 503 within ten seconds, of which a
 * history may already have waited two for measurements on their way.
 */
const INFLUX_READS = { socketsMax: 8, timeoutMs: 8 * SECOND_MS }

/** Names the store by what stays the same when its server moves. */
export function storeNameOf({ influx, database }: Pick<Config, 'influx' | 'database'>): string {
  if (influx !== undefined) {
    return `InfluxDB, organization ${influx.organization}, bucket ${influx.influxBucket}`
  }
  return database === undefined ? EMBEDDED_STORE : 'PostgreSQL'
}

/**
 * Refuses to look for measurements in a store that does not have them.
 *
 * @returns the name of the store
 * @throws UnfitSettings if the data have their measurements in another store
 */
export async function adoptStore(upkeep: StoreUpkeep, config: Config): Promise<string> {
  const wanted = storeNameOf(config)
  const inUse = await upkeep.adoptStore(wanted)
  if (inUse === wanted) return wanted
  const isOfFiles = config.database === undefined
  throw new UnfitSettings(
    `${isOfFiles ? 'DATA_DIR' : 'the database'} keeps its measurements in another store ` +
      `(${inUse}) than the settings say (${wanted}): set the old one again` +
      (isOfFiles ? ', or move them with `thermolog store copy`' : ''),
  )
}

/**
 * For commands that only read, and so do not set the store.
 *
 * @throws UnfitSettings if DATA_DIR keeps its measurements in another store than the settings say
 */
export async function refuseOtherStore(config: Config, store: StoreRecords): Promise<void> {
  const inUse = await store.readStoreName()
  const wanted = storeNameOf(config)
  if (inUse === undefined || inUse === wanted) return
  throw new UnfitSettings(
    `DATA_DIR keeps its measurements in another store (${inUse}) than the settings say (${wanted})`,
  )
}

/**
 * Opens the store for reading.
 *
 * @param onDamaged gets what the embedded store cannot read
 */
export function openReader(
  { dataDir, influx }: Pick<Config, 'dataDir' | 'influx'>,
  onDamaged?: (problem: string) => void,
): MeasurementReader {
  return influx === undefined
    ? new SqliteMeasurementReader(join(dataDir, MEASUREMENTS_FILE), onDamaged)
    : openInfluxReader(influx)
}

export function openInfluxReader(influx: InfluxConfig): MeasurementReader {
  return new InfluxMeasurementReader(new InfluxConnection(influx, INFLUX_READS))
}
