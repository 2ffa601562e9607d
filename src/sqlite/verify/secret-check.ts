// Checks that the secret for event keys is whole, and that it belongs to the journal and the
// ledger.

import { RESTORE_BACKUP } from '../../domain/finding.ts'
import type { Report } from '../../domain/finding.ts'
import { CONTROL_FILE, isDiskFault, LEDGER_FILE } from '../database.ts'
import type { Connection } from '../database.ts'
import { readEventSecret, refuseOtherLedger } from '../event-key.ts'

export function checkSecret(control: Connection, ledger: Connection, report: Report): void {
  let where = CONTROL_FILE
  try {
    const secret = readEventSecret(control)
    where = LEDGER_FILE
    refuseOtherLedger(ledger, secret)
  } catch (error) {
    if (isDiskFault(error) || !(error instanceof Error)) throw error
    report({ check: 'ledger', where, problem: error.message, remedy: RESTORE_BACKUP })
  }
}
