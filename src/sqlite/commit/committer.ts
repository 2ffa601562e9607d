// Commits groups in the commit thread: decides a group, writes it in one transaction at
// synchronous=FULL, answers. It owns the only writing connection to control.db.
//
// After a crash, whatever was answered is in the journal; whatever was not is there whole or not at
// all, and its sender sends it again. A journal row is deleted once it is forwarded to the
// measurement store, sealed in the ledger and, if the store may lose data, no longer needed for a
// replay.

import type { Clock } from '../../ports/system.ts'
import { SensorDirectory } from './sensor-directory.ts'
import type { Connection } from '../database.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { GroupDecider } from './group-decider.ts'
import type { GroupDecision } from './group-decider.ts'
import type { AcceptanceRules } from '../../domain/acceptance.ts'
import type { GroupFrame, GroupResult } from './group-frame.ts'
import { GroupTransaction } from './group-transaction.ts'

/** Rows deleted per commit: more than one group adds, so that deleting keeps pace. */
const ROWS_DELETED_PER_COMMIT = 16

const SET_WATERMARK = `
  UPDATE journal_watermark SET forwarded_seq = ? WHERE id = 1 AND forwarded_seq < ?`
const OLDEST_ROWS = `
  SELECT seq, committed_at_ms AS committedAtMs, measurements FROM journal ORDER BY seq LIMIT ?`
const DELETE_ROW = 'DELETE FROM journal WHERE seq = ?'
const COUNT_ENTRIES = 'SELECT total(measurements) FROM journal'

/** How long forwarded rows are kept, for writing them to the store again. */
export interface ReplayRetention {
  readonly keptMs: number
  /** At least this many measurements are kept, however old. */
  readonly measurementsMin: number
  /** Beyond this many, the oldest are deleted, however young. */
  readonly measurementsMax: number
}

/** What was deleted from the journal along with the watermark. */
interface Settled {
  readonly measurements: number
  /** Whether there may be more rows to delete. */
  readonly hasMore: boolean
}

interface OldestRow {
  seq: number
  committedAtMs: number
  measurements: number
}

export class Committer {
  readonly sensors: SensorDirectory
  readonly #db: Connection
  readonly #ledger: Ledger
  readonly #clock: Clock
  readonly #decider: GroupDecider
  readonly #transaction: GroupTransaction
  readonly #setWatermark
  readonly #oldestRows
  readonly #deleteRow
  readonly #retention: ReplayRetention | undefined
  #entries: number
  #forwardedSeq: number
  #storedWatermark: number
  /** Whether finished rows from before the last stored watermark may still exist. */
  #hasRowsDone = true

  constructor(
    db: Connection,
    ledger: Ledger,
    clock: Clock,
    settings: AcceptanceRules & { readonly replayRetention: ReplayRetention | undefined },
  ) {
    this.#db = db
    this.#ledger = ledger
    this.sensors = new SensorDirectory(db)
    this.#clock = clock
    this.#decider = new GroupDecider(ledger, this.sensors, settings)
    this.#transaction = new GroupTransaction(db, settings)
    this.#setWatermark = db.prepare<[number, number]>(SET_WATERMARK)
    this.#oldestRows = db.prepare<[number], OldestRow>(OLDEST_ROWS)
    this.#deleteRow = db.prepare<[number]>(DELETE_ROW)
    this.#retention = settings.replayRetention
    this.#entries = db.prepare<[], number>(COUNT_ENTRIES).pluck().get() ?? 0
    this.#forwardedSeq = readWatermark(db)
    this.#storedWatermark = this.#forwardedSeq
  }

  /**
   * Decides and commits a group. Returns after fsync.
   *
   * @throws SqliteError `SQLITE_FULL`: nothing of the group is stored and the ledger is as before;
   * any other error: whether the group is stored is unknown, and the process must stop
   */
  commit(frame: GroupFrame): GroupResult {
    this.#ledger.makeRoom(frame.elementCount)
    const { current } = this.#ledger.hot
    const firstRecord = current.count
    const decision = this.#decider.decide(frame)
    const seq = current.count === firstRecord ? 0 : this.#write(decision, firstRecord)
    const { keptSerialNumbers, rejections, conflicts } = decision
    return { seq, keptSerialNumbers, rejections, conflicts }
  }

  /** Every row up to `seq` is in the measurement store. Saved with the next commit. */
  noteForwarded(seq: number): void {
    this.#forwardedSeq = Math.max(this.#forwardedSeq, seq)
  }

  /** Saves the watermark and deletes finished rows, if no commit does so. */
  tidy(): void {
    if (!this.#hasToSettle) return
    this.#noteSettled(this.#db.transaction(() => this.#settle()).immediate())
  }

  #write(decision: GroupDecision, firstRecord: number): number {
    const { current } = this.#ledger.hot
    const changes = {
      epoch: current,
      firstRecord,
      newSensors: this.sensors.pending,
      lastSeenAtMs: decision.lastSeenAtMs,
      committedAtMs: this.#clock.nowMs(),
    }
    let seq: number
    let settled: Settled | undefined
    try {
      seq = this.#db
        .transaction(() => {
          if (this.#hasToSettle) settled = this.#settle()
          return this.#transaction.write(changes)
        })
        .immediate()
    } catch (cause) {
      current.truncate(firstRecord)
      this.sensors.truncatePending(0)
      throw cause
    }
    if (settled !== undefined) this.#noteSettled(settled)
    this.#entries += current.count - firstRecord
    this.sensors.settlePending()
    this.#ledger.noteCommitted(seq)
    return seq
  }

  get #hasToSettle(): boolean {
    return this.#hasRowsDone || this.#forwardedSeq !== this.#storedWatermark
  }

  #settle(): Settled {
    this.#setWatermark.run(this.#forwardedSeq, this.#forwardedSeq)
    const doneSeq = Math.min(this.#forwardedSeq, this.#ledger.sealedSeq)
    let measurements = 0
    let rows = 0
    for (const row of this.#oldestRows.all(ROWS_DELETED_PER_COMMIT)) {
      if (row.seq > doneSeq || this.#isKeptForReplay(row, measurements)) break
      this.#deleteRow.run(row.seq)
      measurements += row.measurements
      rows++
    }
    return { measurements, hasMore: rows === ROWS_DELETED_PER_COMMIT }
  }

  #noteSettled({ measurements, hasMore }: Settled): void {
    this.#entries -= measurements
    this.#storedWatermark = this.#forwardedSeq
    this.#hasRowsDone = hasMore
  }

  #isKeptForReplay({ committedAtMs, measurements }: OldestRow, deleted: number): boolean {
    if (this.#retention === undefined) return false
    const { keptMs, measurementsMin, measurementsMax } = this.#retention
    const kept = this.#entries - deleted
    if (kept - measurements < measurementsMin) return true
    return kept <= measurementsMax && committedAtMs > this.#clock.nowMs() - keptMs
  }
}

function readWatermark(db: Connection): number {
  const select = 'SELECT forwarded_seq FROM journal_watermark WHERE id = 1'
  return db.prepare<[], number>(select).pluck().get() ?? 0
}
