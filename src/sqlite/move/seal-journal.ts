// Sealing what the journal has that is not sealed yet, for a DATA_DIR that is about to be moved:
// then all events, times and tie-breaks are in ledger.db.

import { DataDirInUse } from '../../domain/errors.ts'
import { epochEvents } from '../../domain/limits.ts'
import { lockDataDir } from '../data-dir-lock.ts'
import type { DataDirLock } from '../data-dir-lock.ts'
import { CONTROL_FILE, damagedFile, LEDGER_FILE, openForReading, orDamaged } from '../database.ts'
import type { Connection } from '../database.ts'
import { bindLedger, readEventSecret } from '../event-key.ts'
import type { SealRequest } from '../ledger/ledger.ts'
import { openLedger } from '../ledger/schema.ts'
import { Sealer } from '../ledger/sealer.ts'
import { clearWitness } from '../log/witness.ts'

const SEALED_SEQ = 'SELECT seq FROM sealed WHERE id = 1'
const UNSEALED = `
  SELECT seq, measurements FROM journal WHERE seq > ? AND entries IS NOT NULL ORDER BY seq`
const UNFORWARDED = `
  SELECT (SELECT count(*) FROM sensor_deletions) + (SELECT count(*) FROM journal
    WHERE seq > (SELECT forwarded_seq FROM journal_watermark WHERE id = 1)
      AND entries IS NOT NULL)`

/**
 * Locks a directory of which everything accepted is in the measurement store, with no file open and
 * the whole ledger in ledger.db.
 *
 * @throws DataDirInUse also if something was accepted since @throws DamagedData
 */
export function lockSealed(dataDir: string): DataDirLock {
  const lock = lockDataDir(dataDir)
  try {
    if (!isDrained(dataDir)) {
      throw new DataDirInUse(`${dataDir} is in use by another Thermolog process`, true)
    }
    // Sealing closes the files, whose logs go with that.
    clearWitness(dataDir)
    sealJournal(dataDir)
    return lock
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Whether everything accepted is in the measurement store, and everything deleted is gone. */
function isDrained(dataDir: string): boolean {
  const control = openForReading(dataDir, CONTROL_FILE)
  try {
    return control.prepare<[], number>(UNFORWARDED).pluck().get() === 0
  } finally {
    control.close()
  }
}

/** Nobody else has the directory open. @throws DamagedData */
export function sealJournal(dataDir: string): void {
  const control = openForReading(dataDir, CONTROL_FILE)
  const ledger = openLedger(dataDir)
  try {
    orDamaged(damagedFile(LEDGER_FILE), () => {
      bindLedger(ledger, readEventSecret(control))
      const sealer = new Sealer(control, ledger, epochEvents)
      for (const stretch of unsealedStretches(control, ledger)) sealer.seal(stretch)
    })
  } finally {
    ledger.close()
    control.close()
  }
}

/** Of at most so many events as the sealer takes. */
function unsealedStretches(control: Connection, ledger: Connection): SealRequest[] {
  const sealedSeq = ledger.prepare<[], number>(SEALED_SEQ).pluck().get() ?? 0
  const rows = control.prepare<[number], { seq: number; measurements: number }>(UNSEALED)
  const stretches: { afterSeq: number; throughSeq: number }[] = []
  let events = Infinity
  for (const { seq, measurements } of rows.iterate(sealedSeq)) {
    events += measurements
    const last = stretches.at(-1)
    if (last !== undefined && events <= epochEvents) {
      last.throughSeq = seq
      continue
    }
    stretches.push({ afterSeq: last?.throughSeq ?? sealedSeq, throughSeq: seq })
    events = measurements
  }
  return stretches
}
