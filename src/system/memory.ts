// What the event ledger needs of the memory that this process may have.

import { totalmem } from 'node:os'
import type { Log } from '../ports/system.ts'

/** Filters and what goes with them, in memory for good. */
const LEDGER_EVENT_BYTES = 2.2
/** All but the ledger, at full load. */
const SERVICE_BYTES = 400 * 2 ** 20

/** Of the control group, in bytes; `undefined`: none below the memory of the machine. */
export function memoryLimit(): number | undefined {
  const bytes = process.constrainedMemory()
  return bytes > 0 && bytes < totalmem() ? bytes : undefined
}

/** Logs what the ledger needs, if there is a limit. */
export function logMemory(log: Log, ledgerEvents: number, limitBytes: number | undefined): void {
  if (limitBytes === undefined) return
  const ledgerBytes = Math.round(ledgerEvents * LEDGER_EVENT_BYTES)
  const fields = { ledger_bytes: ledgerBytes, limit_bytes: limitBytes }
  if (ledgerBytes + SERVICE_BYTES <= limitBytes) log.info('memory', fields)
  else {
    const hint = 'raise MemoryHigh= of the unit, or the limit of the container'
    log.warn('memory is short: the ledger needs most of the limit', { ...fields, hint })
  }
}
