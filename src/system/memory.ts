// What the event ledger needs of the memory that this process may have.

import { totalmem } from 'node:os'
import type { Log } from '../ports/system.ts'

/** Filters and what goes with them. */
const LEDGER_EVENT_BYTES = 2.2
/** All but the ledger: at rest, and at full load. */
const RESTING_BYTES = 180 * 2 ** 20
const LOADED_BYTES = 400 * 2 ** 20

/**
 * Of the control group, in bytes; `undefined`: none below the memory of the machine. Of v2 it is
 * the smaller of `memory.high` (MemoryHigh) and `memory.max` (MemoryMax, a container's limit);
 * those of groups around it do not count.
 */
export function memoryLimit(): number | undefined {
  const bytes = process.constrainedMemory()
  return bytes > 0 && bytes < totalmem() ? bytes : undefined
}

/** Of the filters, which stay in memory. */
export function ledgerMemoryBytes(sealedEvents: number): number {
  return Math.round(sealedEvents * LEDGER_EVENT_BYTES)
}

/** Of the service without load. */
export function restingMemoryBytes(sealedEvents: number): number {
  return RESTING_BYTES + ledgerMemoryBytes(sealedEvents)
}

/** Of the service at full load. */
export function neededMemoryBytes(sealedEvents: number): number {
  return LOADED_BYTES + ledgerMemoryBytes(sealedEvents)
}

/** Logs what the ledger needs, if there is a limit. */
export function logMemory(log: Log, ledgerEvents: number, limitBytes: number | undefined): void {
  if (limitBytes === undefined) return
  const fields = { ledger_bytes: ledgerMemoryBytes(ledgerEvents), limit_bytes: limitBytes }
  if (neededMemoryBytes(ledgerEvents) <= limitBytes) log.info('memory', fields)
  else {
    const hint = 'raise MemoryHigh= of the unit, or the limit of the container'
    log.warn('memory is short: the ledger needs most of the limit', { ...fields, hint })
  }
}
