// The writing side of the embedded measurement store: measurements.db, one writing connection.
//
// A batch is one transaction, readable at once. Its commit does not sync, because readers would
// wait for the disk while the journal still has everything. `sync` syncs the log beside later
// transactions, everything written so far at once; only then the log may be moved into the file.
//
// An existing row stays as it is and is not counted again, so the summaries stay right for late,
// out-of-order and repeated measurements.
// Deleting a sensor takes as many bounded transactions as it has rows for; after a crash, the
// caller repeats the deletion.

import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { Statement, Transaction } from 'better-sqlite3'
import type { JournalPlace } from '../../ports/journal-queue.ts'
import type { MeasurementWriter, StoreBatch, ToSetAside } from '../../ports/measurement-store.ts'
import { StoreUnavailable } from '../../domain/errors.ts'
import { logBytesMax } from '../../domain/limits.ts'
import type { MeasurementColumns } from '../../domain/measurement-columns.ts'
import type { Connection } from '../database.ts'
import {
  damagedSeries,
  isDamage,
  isStorageFull,
  MEASUREMENTS_FILE,
  openForWriting,
} from '../database.ts'
import { hasRoomToMove } from '../log/empty-logs.ts'
import { LogKeeper } from '../log/log-keeper.ts'
import { BulkStatement } from '../bulk-statement.ts'
import { Rollups } from './rollups.ts'
import { MEASUREMENT_MIGRATIONS } from './schema.ts'
import { createSensorDeletions } from './sensor-deletion.ts'
import type { DeleteSomeRows } from './sensor-deletion.ts'
import { sensorRuns } from './write-order.ts'
import type { SensorRun } from './write-order.ts'

/** Keeps the newest pages of a thousand sensors in memory. */
const CACHE_KIB = 16_384

/** For new files. A batch writes two or three whole pages per sensor to the log. */
const PAGE_BYTES = 2_048

/** A page changed by several batches is copied into the file only once. */
const LOG_KEEPING = { bytesMax: logBytesMax.measurements, mode: 'PASSIVE' } as const

/** A deletion syncs what it has done after so many of its steps, so that the log stays short. */
const DELETIONS_PER_SYNC = 32

const MEASUREMENT_COLUMNS = 4
const INSERT = `
  INSERT INTO measurements (sensor_id, measured_at_ms, tie_break_ns, temp_celsius) VALUES`
const HAS_ANY = `
  SELECT 1 FROM measurements
  WHERE sensor_id = ? AND measured_at_ms >= ? AND measured_at_ms <= ? LIMIT 1`

const TEMP_AT = `
  SELECT temp_celsius FROM measurements
  WHERE sensor_id = ? AND measured_at_ms = ? AND tie_break_ns = ?`
const SET_WRITTEN = 'UPDATE written SET seq = max(seq, ?) WHERE id = 1'

/** Where a measurement has the place of another one, the ledger has given a tie-break twice. */
const TAKEN = 'another measurement is stored at its time and tie-break'

/** The columns to write, and the journal row that ends them. */
type WrittenBatch = StoreBatch & { readonly place?: JournalPlace }

export class SqliteMeasurementWriter implements MeasurementWriter {
  readonly #db: Connection
  readonly #file: string
  readonly #hasAny: Statement
  readonly #insertMissing: Statement
  readonly #insertNew: BulkStatement
  readonly #rollups: Rollups
  readonly #writeRuns: Transaction<(runs: SensorRun[], batch: WrittenBatch) => ToSetAside[]>
  readonly #tempAt
  readonly #setWritten
  readonly #keeper: LogKeeper
  readonly #deletions: readonly DeleteSomeRows[]
  #mayWrite = false
  #log: Promise<FileHandle> | undefined
  /** Why it is unknown what is on disk. */
  #syncFailure: Error | undefined

  /** Opens `file`, creating it if necessary. */
  constructor(file: string) {
    const db = openForWriting(file, MEASUREMENT_MIGRATIONS, PAGE_BYTES)
    db.pragma('synchronous = NORMAL')
    // Statements with several rows keep their undo data until they end, by default in a file.
    db.pragma('temp_store = MEMORY')
    db.pragma(`cache_size = -${CACHE_KIB}`)
    this.#db = db
    this.#keeper = new LogKeeper(db, LOG_KEEPING)
    this.#file = file
    this.#hasAny = db.prepare(HAS_ANY)
    this.#insertMissing = db.prepare(`${INSERT} (?, ?, ?, ?) ON CONFLICT DO NOTHING`)
    this.#insertNew = new BulkStatement(db, INSERT, MEASUREMENT_COLUMNS, '')
    this.#rollups = new Rollups(db)
    this.#tempAt = db.prepare<[number, number, number], number>(TEMP_AT).pluck()
    this.#setWritten = db.prepare<[number]>(SET_WRITTEN)
    this.#writeRuns = db.transaction((runs, { measurements, place }) => {
      if (place !== undefined) this.#setWritten.run(place.seq)
      return this.#insertRuns(runs, measurements)
    })
    this.#deletions = createSensorDeletions(db)
  }

  /**
   * Not taken: what belongs on damaged pages, and what has the place of another measurement. Infos
   * are ignored: sensor names are read from the control data.
   */
  async write(batch: WrittenBatch): Promise<readonly ToSetAside[]> {
    this.#beginWriting()
    if (this.#keeper.isFarAhead) await this.sync()
    const runs = sensorRuns(batch.measurements)
    const write = (some: SensorRun[]) => unlessDamaged(() => this.#writeRuns.immediate(some, batch))
    // One sensor at a time: those with whole pages go on.
    return write(runs) ?? runs.flatMap((run) => write([run]) ?? damagedRun(run))
  }

  async sync(): Promise<void> {
    if (this.#syncFailure !== undefined) throw this.#syncFailure
    const position = this.#keeper.position()
    try {
      // Opened once, also when a deletion syncs beside the forwarder.
      this.#log ??= open(`${this.#file}-wal`, 'r+')
      await (await this.#log).datasync()
    } catch (error) {
      // The system reports a failed sync once, and then treats the same pages as written.
      this.#syncFailure = error as Error
      throw error
    }
    this.#keeper.noteDurable(position)
  }

  async deleteSensor({ sensorId }: { sensorId: number }): Promise<void> {
    this.#beginWriting()
    try {
      for (const deleteSomeRows of this.#deletions) await this.#deleteAll(deleteSomeRows, sensorId)
    } catch (error) {
      if (!isDamage(error)) throw error
      throw new StoreUnavailable(damagedSeries(MEASUREMENTS_FILE, sensorId), { cause: error })
    }
    await this.sync()
  }

  async close(): Promise<void> {
    await (await this.#log)?.close()
    this.#keeper.close()
  }

  /**
   * What the previous process did not sync is readable but perhaps not on disk: it is moved into
   * the file, synced, before anything else is written. Without room for that, histories are still
   * read.
   *
   * @throws StoreUnavailable
   */
  #beginWriting(): void {
    if (this.#mayWrite) return
    if (!hasRoomToMove(this.#db)) throw new StoreUnavailable('the disk is full')
    try {
      this.#db.pragma('wal_checkpoint(PASSIVE)')
    } catch (error) {
      if (!isStorageFull(error)) this.#syncFailure = error as Error
      throw error
    }
    this.#mayWrite = true
  }

  async #deleteAll(deleteSomeRows: DeleteSomeRows, sensorId: number): Promise<void> {
    for (let step = 1; deleteSomeRows(sensorId); step++) {
      if (step % DELETIONS_PER_SYNC === 0) await this.sync()
      else await setImmediate()
    }
  }

  #insertRuns(runs: SensorRun[], columns: MeasurementColumns): ToSetAside[] {
    const toSetAside: ToSetAside[] = []
    this.#insertNew.clear()
    this.#rollups.begin()
    for (const run of runs) {
      if (this.#isNew(run, columns)) this.#addNew(run, columns)
      else this.#addMissing(run, columns, toSetAside)
    }
    this.#insertNew.finish()
    this.#rollups.finish()
    return toSetAside
  }

  /**
   * Whether nothing is stored between the run's first and last time, as when data arrive in order.
   */
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

  #addMissing(
    { sensorId, indices }: SensorRun,
    columns: MeasurementColumns,
    toSetAside: ToSetAside[],
  ): void {
    for (const index of indices) {
      const atMs = columns.measuredAtMs[index] as number
      const celsius = columns.tempCelsius[index] as number
      const tieBreakNs = columns.tieBreakNs[index] as number
      const { changes } = this.#insertMissing.run(sensorId, atMs, tieBreakNs, celsius)
      if (changes === 1) this.#rollups.add(sensorId, atMs, celsius)
      else if (this.#tempAt.get(sensorId, atMs, tieBreakNs) !== celsius) {
        toSetAside.push({ index, reason: TAKEN })
      }
    }
  }
}

/** @returns `undefined` if nothing was stored, because a page is damaged */
function unlessDamaged<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

function damagedRun({ sensorId, indices }: SensorRun): ToSetAside[] {
  const reason = damagedSeries(MEASUREMENTS_FILE, sensorId)
  return Array.from(indices, (index) => ({ index, reason }))
}
