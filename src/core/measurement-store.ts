// The measurement store of a DATA_DIR in the settings: names it, opens it for reading, refuses one
// that does not match the data, decides how much of the journal is kept for it, and which ids it
// knows.

import { join } from 'node:path'
import { UnfitSettings } from '../config.ts'
import type { Config } from '../config.ts'
import { NO_IDS } from '../domain/ids-after-restore.ts'
import type { HighestIds } from '../domain/ids-after-restore.ts'
import { journalEntryBytes } from '../domain/limits.ts'
import { DAY_MS } from '../domain/time.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import type { StoreChoice, StoreRecords } from '../ports/store-upkeep.ts'
import type { Log } from '../ports/system.ts'
import { EMBEDDED_STORE, MEASUREMENTS_FILE } from '../sqlite/database.ts'
import { SqliteMeasurementReader } from '../sqlite/measurements/measurement-reader.ts'

/** What InfluxDB accepted in this period is written again after it restarts. */
const REPLAY_KEPT_MS = DAY_MS
const REPLAY_MEASUREMENTS_MIN = 1_000_000

/** Names the store by properties that survive a move of its server. */
export function storeNameOf({ influx }: Pick<Config, 'influx'>): string {
  if (influx === undefined) return EMBEDDED_STORE
  return `InfluxDB, organization ${influx.organization}, bucket ${influx.influxBucket}`
}

/**
 * Refuses a store that does not have the measurements.
 *
 * @returns the name of the store
 * @throws UnfitSettings if the data have their measurements in another store, or if it expires them
 */
export async function adoptStore(choice: StoreChoice, config: Config, log: Log): Promise<string> {
  const wanted = storeNameOf(config)
  const inUse = await choice.adoptStore(wanted)
  if (inUse === wanted) {
    if (config.influx !== undefined) await (await loadInflux()).checkBucket(config.influx, log)
    return wanted
  }
  throw new UnfitSettings(
    `${saidOf(config, inUse)}: set the old one again, ` +
      'or move them with `thermolog move --to influx`',
  )
}

/**
 * For commands that only read and therefore do not set the store.
 *
 * @throws UnfitSettings if DATA_DIR keeps its measurements in another store than the settings say
 */
export async function refuseOtherStore(
  config: Pick<Config, 'influx'>,
  store: StoreRecords,
): Promise<void> {
  const inUse = await store.readStoreName()
  const wanted = storeNameOf(config)
  if (inUse !== undefined && inUse !== wanted) throw new UnfitSettings(saidOf(config, inUse))
}

function saidOf(config: Pick<Config, 'influx'>, inUse: string): string {
  return (
    `DATA_DIR keeps its measurements in another store (${inUse}) ` +
    `than the settings say (${storeNameOf(config)})`
  )
}

/**
 * Opens the store for reading.
 *
 * @param onDamaged receives what the embedded store cannot read
 */
export async function openReader(
  { dataDir, influx }: Pick<Config, 'dataDir' | 'influx'>,
  onDamaged?: (problem: string) => void,
): Promise<MeasurementReader> {
  if (influx !== undefined) return (await loadInflux()).openInfluxReader(influx)
  return new SqliteMeasurementReader(join(dataDir, MEASUREMENTS_FILE), onDamaged)
}

/** InfluxDB's client is loaded only when needed: it takes a tenth of a command's time. */
function loadInflux() {
  return import('./influx-store.ts')
}

/** How long forwarded rows stay in the journal in case the store loses them. */
export function retentionOf({
  influx,
  journalBytesMax,
}: Pick<Config, 'influx' | 'journalBytesMax'>) {
  if (influx === undefined) return undefined
  // The other half is for rows not yet forwarded.
  const halfOfJournal = Math.floor(journalBytesMax / 2 / journalEntryBytes)
  return {
    keptMs: REPLAY_KEPT_MS,
    measurementsMin: REPLAY_MEASUREMENTS_MIN,
    measurementsMax: Math.max(REPLAY_MEASUREMENTS_MIN, halfOfJournal),
  }
}

/**
 * The highest ids in the store of restored data, needed before ids are assigned again.
 * Only InfluxDB is asked: the embedded store is part of the restored data.
 *
 * @param inUse the store's name according to the data; `undefined`: they have not used one
 * @throws UnfitSettings if the settings name another store, or no usable bucket
 * @throws ServiceError `overloaded`: InfluxDB is unreachable
 */
export async function readIdsInStore(
  config: Pick<Config, 'influx'>,
  inUse: string | undefined,
): Promise<HighestIds> {
  const { influx } = config
  if (inUse === undefined || inUse === EMBEDDED_STORE) return NO_IDS
  if (influx === undefined || inUse !== storeNameOf(config)) {
    throw new UnfitSettings(
      `the measurements are in another store (${inUse}) than the settings say ` +
        `(${storeNameOf(config)}): set INFLUX_URL, _ORG, _BUCKET and _TOKEN as for the service, ` +
        'because ids that already have measurements there must not be assigned again',
    )
  }
  const { readInfluxIds } = await loadInflux()
  return readInfluxIds(influx)
}
