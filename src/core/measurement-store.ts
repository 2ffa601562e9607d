// The measurement store of the settings: its name, reading it, and refusing one that does not fit
// DATA_DIR.

import { join } from 'node:path'
import { UnfitSettings } from '../config.ts'
import type { Config } from '../config.ts'
import { SECOND_MS } from '../domain/time.ts'
import { InfluxConnection } from '../influx/connection.ts'
import { InfluxMeasurementReader } from '../influx/measurement-reader.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import type { StoreRecords, StoreUpkeep } from '../ports/store-upkeep.ts'
import { EMBEDDED_STORE, MEASUREMENTS_FILE } from '../sqlite/database.ts'
import { SqliteMeasurementReader } from '../sqlite/measurements/measurement-reader.ts'

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
export async function adoptStore(upkeep: StoreUpkeep, wanted: string): Promise<void> {
  const inUse = await upkeep.adoptStore(wanted)
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

/**
 * Opens it for reading.
 *
 * @param onDamaged is told what of the embedded store cannot be read
 */
export function openReader(
  { dataDir, influx }: Config,
  onDamaged?: (problem: string) => void,
): MeasurementReader {
  return influx === undefined
    ? new SqliteMeasurementReader(join(dataDir, MEASUREMENTS_FILE), onDamaged)
    : new InfluxMeasurementReader(new InfluxConnection(influx, INFLUX_READS))
}
