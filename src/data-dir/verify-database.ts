// What `thermolog verify` checks in a database, in order: the journal, the ledger and the control
// data against each other, then the measurements against them. It only reads, beside services.

import type { DatabaseConfig } from '../config.ts'
import { HOUR_MS } from '../domain/time.ts'
import { usage } from '../operations/failure.ts'
import type { WorkProgress } from '../ports/system.ts'
import { Database } from '../postgres/server/database.ts'
import { PostgresMeasurementReader } from '../postgres/measurements/measurement-reader.ts'
import { refuseUnfinishedMove } from '../postgres/server/recorded-server.ts'
import { createAccounts } from '../postgres/verify/accounts.ts'
import { checkControl } from '../postgres/verify/control-check.ts'
import { checkStreams } from '../postgres/verify/journal-check.ts'
import { checkLedger, checkTieBreaks } from '../postgres/verify/ledger-check.ts'
import { PostgresStoreAudit } from '../postgres/verify/store-audit.ts'
import { hasSchema } from './database-server.ts'
import { Findings } from './verdict.ts'
import type { Verdict } from './verdict.ts'
import { verifyStore } from './verify-store.ts'

const CONNECTIONS = 2
/** Some statements read all there is. */
const STATEMENT_MS_MAX = 6 * HOUR_MS

/**
 * Checks everything; it may take minutes.
 *
 * @throws OperationError if there is nothing in it @throws MoveUnfinished
 */
export async function verifyDatabase(
  { url: databaseUrl }: DatabaseConfig,
  progress: WorkProgress,
): Promise<Verdict> {
  if (!(await hasSchema(databaseUrl))) {
    throw usage('the database of DATABASE_URL has no data', '`thermolog serve` starts new ones.')
  }
  await refuseUnfinishedMove(databaseUrl)
  const database = new Database(databaseUrl, CONNECTIONS, { statementMsMax: STATEMENT_MS_MAX })
  try {
    return await verify(database, progress)
  } finally {
    await database.close()
  }
}

async function verify(database: Database, progress: WorkProgress): Promise<Verdict> {
  const all = new Findings()
  const { report } = all
  const control = createAccounts(database)
  progress.begin('checking the ledger', 1, 'ledger')
  await checkStreams(database, report)
  await checkControl(database, report)
  const events = await checkLedger(database, await control.mayHaveDropped(), report)
  await checkTieBreaks(database, report)
  const store = new PostgresStoreAudit(database)
  const reader = new PostgresMeasurementReader(database)
  const counts = await verifyStore({ control, report, store, audit: store, reader }, progress)
  const { findings, findingsTotal } = all
  return { findings, findingsTotal, events, ...counts }
}
