// The event ledger for the commit thread: the hot part in memory, the times of the sealed part on
// disk, and the passage from one to the other. What the sealed part has under the keys of a group,
// the look-up thread has already found.
//
// Who writes what: the commit thread only writes the journal (control.db). When an epoch is full,
// the seal thread reads that stretch of the journal and writes it to ledger.db in key order, in one
// transaction with the mark up to which the journal is sealed. After a crash, the hot part is
// rebuilt from the journal rows after that mark; earlier rows are no longer needed.

import { assert } from '../../domain/errors.ts'
import type { Connection } from '../database.ts'
import { giveBack } from '../../bytes/give-back.ts'
import { decodeEntries } from '../journal-row.ts'
import { KEY_WORDS } from '../event-key.ts'
import { HotLedger } from './hot-ledger.ts'
import { SealedTimes } from './sealed-times.ts'

/** Journal rows (afterSeq, throughSeq] are to be sealed as one run. */
export interface SealRequest {
  readonly afterSeq: number
  readonly throughSeq: number
}

const SEALED_SEQ = 'SELECT seq FROM sealed WHERE id = 1'
const UNSEALED_ROWS = `
  SELECT seq, entries FROM journal
  WHERE seq > ? AND entries IS NOT NULL AND is_repeated = 0 ORDER BY seq`

export class Ledger {
  readonly hot: HotLedger
  readonly sealedTimes: SealedTimes
  readonly #requestSeal: (request: SealRequest) => void
  #sealedSeq: number
  #lastSeq: number
  #requestedSeq: number

  /** @param epochCapacity events sealed together; at least the size of the largest group */
  constructor(
    connections: { control: Connection; ledger: Connection },
    epochCapacity: number,
    requestSeal: (request: SealRequest) => void,
  ) {
    this.hot = new HotLedger(epochCapacity)
    this.sealedTimes = new SealedTimes(connections.ledger)
    this.#requestSeal = requestSeal
    this.#sealedSeq = connections.ledger.prepare<[], number>(SEALED_SEQ).pluck().get() ?? 0
    this.#lastSeq = this.#sealedSeq
    this.#requestedSeq = this.#sealedSeq
    this.#rebuild(connections.control)
  }

  /** Every journal row up to this one is sealed. */
  get sealedSeq(): number {
    return this.#sealedSeq
  }

  /** Makes room for a group of this many events. */
  makeRoom(events: number): void {
    const { current } = this.hot
    assert(events <= current.capacity, `a group of ${events} events does not fit into an epoch`)
    if (current.count + events <= current.capacity) return
    this.hot.startEpoch()
    this.#requestSeal({ afterSeq: this.#requestedSeq, throughSeq: this.#lastSeq })
    this.#requestedSeq = this.#lastSeq
  }

  /** The newest events of the current epoch are in journal row `seq`. */
  noteCommitted(seq: number): void {
    this.#lastSeq = seq
  }

  /** A stretch of the journal is sealed; groups from now on have been looked up in it. */
  noteSealed(throughSeq: number): void {
    this.sealedTimes.noteSealed()
    this.#sealedSeq = throughSeq
    this.hot.dropOldestEpoch()
  }

  #rebuild(control: Connection): void {
    const rows = control.prepare<[number], { seq: number; entries: Buffer }>(UNSEALED_ROWS)
    for (const { seq, entries } of rows.iterate(this.#sealedSeq)) {
      const columns = decodeEntries(entries)
      this.makeRoom(columns.count)
      for (let at = 0; at < columns.count; at++) {
        const event = {
          userId: columns.userId[at] ?? 0,
          sensorId: columns.sensorId[at] ?? 0,
          measuredAtMs: columns.measuredAtMs[at] ?? 0,
          tieBreakNs: columns.tieBreakNs[at] ?? 0,
          tempCelsius: columns.tempCelsius[at] ?? 0,
          hasEventId: columns.hasEventId[at] ?? 0,
        }
        this.hot.current.add(event, columns.keys, at * KEY_WORDS)
      }
      this.#lastSeq = seq
      giveBack(entries)
    }
  }
}
