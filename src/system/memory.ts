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

/** What the service needs at full load, in bytes. */
export function memoryNeed(ledgerEvents: number): number {
  return SERVICE_BYTES + Math.round(ledgerEvents * LEDGER_EVENT_BYTES)
}

/** Logs what the ledger needs, if there is a limit. */
export function logMemory(log: Log, ledgerEvents: number, limitBytes: number | undefined): void {
  if (limitBytes === undefined) return
  const neededBytes = memoryNeed(ledgerEvents)
  const fields = { ledger_bytes: neededBytes - SERVICE_BYTES, limit_bytes: limitBytes }
  if (neededBytes <= limitBytes) log.info('memory', fields)
  else {
    const hint = 'raise MemoryHigh= of the unit, or the limit of the container'
    log.warn('memory is short: the ledger needs most of the limit', { ...fields, hint })
  }
}
