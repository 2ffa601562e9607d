// The writing side of the embedded measurement store: measurements.db, one writing connection.
//
// A batch is one transaction, which can be read at once. It is not synced by itself: who reads
// would wait for the disk, while the journal still has everything. `sync` has the log synced beside
// the next transactions, all that was written until then at once.
//
// A row that is there already stays as it is and is not counted again, so the summaries are right
// for late, out-of-order and repeated measurements.
// Deleting a sensor takes as many bounded transactions as its rows need; a crash in between leaves
// the rest to the same deletion, which the caller asks for again.

import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { Statement, Transaction } from 'better-sqlite3'
import type {
  MeasurementColumns,
  MeasurementWriter,
  RejectedMeasurement,
  StoreBatch,
} from '../../ports/measurement-store.ts'
import { StoreUnavailable } from '../../domain/errors.ts'
import { damagedSeries, isDamage } from '../damaged-data.ts'
import { MEASUREMENTS_FILE, openForWriting } from '../database.ts'
import type { Connection } from '../database.ts'
import { BulkStatement } from './bulk-statement.ts'
import { Rollups } from './rollups.ts'
import { MEASUREMENT_MIGRATIONS } from './schema.ts'
import { createSensorDeletions } from './sensor-deletion.ts'
import type { DeleteSomeRows } from './sensor-deletion.ts'
import { sensorRuns } from './write-order.ts'
import type { SensorRun } from './write-order.ts'

/** The newest pages of a thousand sensors stay in memory. */
const CACHE_KIB = 16_384

/** Of a new file. A batch writes two or three of each sensor to the log, whole. */
const PAGE_BYTES = 2_048

/** Of log: a page that several batches change is copied into the file once for all. */
const CHECKPOINT_BYTES = 64 * 2 ** 20

const MEASUREMENT_COLUMNS = 4
const INSERT = `
  INSERT INTO measurements (sensor_id, measured_at_ms, tie_break_ns, temp_celsius) VALUES`
const HAS_ANY = `
  SELECT 1 FROM measurements
  WHERE sensor_id = ? AND measured_at_ms >= ? AND measured_at_ms <= ? LIMIT 1`

export class SqliteMeasurementWriter implements MeasurementWriter {
  readonly #file: string
  readonly #db: Connection
  readonly #hasAny: Statement
  readonly #insertMissing: Statement
  readonly #insertNew: BulkStatement
  readonly #rollups: Rollups
  readonly #insertAll: Transaction<(runs: SensorRun[], columns: MeasurementColumns) => void>
  readonly #deletions: readonly DeleteSomeRows[]
  #log: Promise<FileHandle> | undefined
  /** Why it is not known what is on disk. */
  #syncFailure: Error | undefined

  /** Opens `file`, creates it when missing. */
  constructor(file: string) {
    const db = openForWriting(file, MEASUREMENT_MIGRATIONS, PAGE_BYTES)
    // What the process before could not sync can be read, and need not be on disk: it is from here.
    db.pragma('wal_checkpoint(PASSIVE)')
    db.pragma('synchronous = NORMAL')
    // A statement of several rows keeps what it changes until its end, in a file by default.
    db.pragma('temp_store = MEMORY')
    db.pragma(`cache_size = -${CACHE_KIB}`)
    const pageBytes = Number(db.pragma('page_size', { simple: true }))
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_BYTES / pageBytes}`)
    this.#file = file
    this.#db = db
    this.#hasAny = db.prepare(HAS_ANY)
    this.#insertMissing = db.prepare(`${INSERT} (?, ?, ?, ?) ON CONFLICT DO NOTHING`)
    this.#insertNew = new BulkStatement(db, INSERT, MEASUREMENT_COLUMNS, '')
    this.#rollups = new Rollups(db)
    this.#insertAll = db.transaction((runs, columns) => this.#insertRuns(runs, columns))
    this.#deletions = createSensorDeletions(db)
  }

  /**
   * Refuses what belongs on damaged pages. Infos are not kept: what sensors are called is read from
   * the control data.
   */
  async write({ measurements }: StoreBatch): Promise<readonly RejectedMeasurement[]> {
    const runs = sensorRuns(measurements)
    if (runs.length === 0 || this.#insert(runs, measurements)) return []
    // Sensor by sensor: those whose pages are whole go on.
    return runs
      .filter((run) => !this.#insert([run], measurements))
      .flatMap(({ sensorId, indices }) => {
        const reason = damagedSeries(MEASUREMENTS_FILE, sensorId)
        return Array.from(indices, (index) => ({ index, reason }))
      })
  }

  // What SQLite has taken out of the log meanwhile it has synced before.
  async sync(): Promise<void> {
    if (this.#syncFailure !== undefined) throw this.#syncFailure
    try {
      // Opened once, also where a deletion syncs beside the forwarder.
      this.#log ??= open(`${this.#file}-wal`, 'r+')
      await (await this.#log).datasync()
    } catch (error) {
      // The system reports it once, and takes the same pages for written afterwards.
      this.#syncFailure = error as Error
      throw error
    }
  }

  async deleteSensor({ sensorId }: { sensorId: number }): Promise<void> {
    try {
      for (const deleteSomeRows of this.#deletions) {
        while (deleteSomeRows(sensorId)) await setImmediate()
      }
    } catch (error) {
      if (!isDamage(error)) throw error
      throw new StoreUnavailable(damagedSeries(MEASUREMENTS_FILE, sensorId), { cause: error })
    }
    await this.sync()
  }

  /** It lives and dies with this process, and loses nothing. */
  async life(): Promise<string> {
    return 'embedded'
  }

  async close(): Promise<void> {
    await (await this.#log)?.close()
    this.#db.close()
  }

  /** @returns whether all were stored: else none was, for a page is damaged */
  #insert(runs: SensorRun[], columns: MeasurementColumns): boolean {
    try {
      this.#insertAll.immediate(runs, columns)
      return true
    } catch (error) {
      if (isDamage(error)) return false
      throw error
    }
  }

  #insertRuns(runs: SensorRun[], columns: MeasurementColumns): void {
    this.#insertNew.clear()
    this.#rollups.begin()
    for (const run of runs) {
      if (this.#isNew(run, columns)) this.#addNew(run, columns)
      else this.#addMissing(run, columns)
    }
    this.#insertNew.finish()
    this.#rollups.finish()
  }

  /** Whether nothing is stored between the run's first and last time: data come in order. */
  #isNew({ sensorId, indices }: SensorRun, { measuredAtMs }: MeasurementColumns): boolean {
    const firstMs = measuredAtMs[indices[0] as number]
    const lastMs = measuredAtMs[indices[indices.length - 1] as number]
    return this.#hasAny.get(sensorId, firstMs, lastMs) === undefined
  }

  #addNew({ sensorId, indices }: SensorRun, columns: MeasurementColumns): void {
    let lastMs = NaN
    let lastTieBreakNs = NaN
    for (const index of indices) {
      const atMs = columns.measuredAtMs[index] as number
      const tieBreakNs = columns.tieBreakNs[index] as number
      const celsius = columns.tempCelsius[index] as number
      if (atMs === lastMs && tieBreakNs === lastTieBreakNs) continue
      this.#insertNew.put(sensorId)
      this.#insertNew.put(atMs)
      this.#insertNew.put(tieBreakNs)
      this.#insertNew.put(celsius)
      this.#rollups.add(sensorId, atMs, celsius)
      lastMs = atMs
      lastTieBreakNs = tieBreakNs
    }
  }

  #addMissing({ sensorId, indices }: SensorRun, columns: MeasurementColumns): void {
    for (const index of indices) {
      const atMs = columns.measuredAtMs[index] as number
      const celsius = columns.tempCelsius[index] as number
      const tieBreakNs = columns.tieBreakNs[index]
      const { changes } = this.#insertMissing.run(sensorId, atMs, tieBreakNs, celsius)
      if (changes === 1) this.#rollups.add(sensorId, atMs, celsius)
    }
  }
}
