// The measurement store of processes on PostgreSQL: tables of the same database, or InfluxDB.

import type { Config } from '../config.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../domain/time.ts'
import { checkInfluxBucket } from '../influx/bucket-check.ts'
import { InfluxConnection } from '../influx/connection.ts'
import { InfluxMeasurementWriter } from '../influx/measurement-writer.ts'
import type { SensorDeletionsSettings } from '../ingest/sensor-deletions.ts'
import type { MeasurementReader, MeasurementWriter } from '../ports/measurement-store.ts'
import type { Clock, Log } from '../ports/system.ts'
import type { Database } from '../postgres/database.ts'
import { ENTRY_BYTES } from '../postgres/journal-entries.ts'
import type { ReplayRetention } from '../postgres/journal/journal-pruning.ts'
import { PostgresMeasurementReader } from '../postgres/measurements/measurement-reader.ts'
import { PostgresMeasurementWriter } from '../postgres/measurements/measurement-writer.ts'
import { openInfluxReader } from './measurement-store.ts'

export interface DatabaseStore {
  readonly reader: MeasurementReader
  readonly openWriter: () => MeasurementWriter
  /** Whether it is another server, which may lose what it has just taken. */
  readonly isApart: boolean
  readonly batchMeasurementsMax: number
  readonly deletions: SensorDeletionsSettings
  /** What of the journal is kept for it. */
  readonly retention: ReplayRetention | undefined
}

/** Concurrent requests (for two writes and a deletion), and how long each may take. */
const INFLUX_WRITES = { socketsMax: 8, timeoutMs: 30 * SECOND_MS }

const DELETIONS = { passGapMs: 10 * MINUTE_MS, lookEveryMs: SECOND_MS }

export function databaseStore(
  { influx, journalBytesMax }: Config,
  of: { readonly database: Database; readonly clock: Clock; readonly log: Log },
): DatabaseStore {
  const { database } = of
  if (influx === undefined) {
    return {
      reader: new PostgresMeasurementReader(database),
      openWriter: () => new PostgresMeasurementWriter(database),
      isApart: false,
      // Enough for summaries to pay: 181,000 rows a second were measured with 5,000.
      batchMeasurementsMax: 8_000,
      deletions: { ...DELETIONS, passesMin: 1 },
      retention: undefined,
    }
  }
  return {
    reader: openInfluxReader(influx),
    openWriter: () => {
      const connection = new InfluxConnection(influx, INFLUX_WRITES)
      const checkBucket = () => checkInfluxBucket(connection)
      return new InfluxMeasurementWriter({ ...of, connection, checkBucket })
    },
    isApart: true,
    // Three requests, which are prepared between two submissions.
    batchMeasurementsMax: 15_000,
    // InfluxDB can bring back what it has deleted.
    deletions: { ...DELETIONS, passesMin: 2 },
    retention: {
      keptMs: DAY_MS,
      // The other half is for rows not yet forwarded.
      measurementsMax: Math.floor(journalBytesMax / 2 / ENTRY_BYTES),
    },
  }
}
