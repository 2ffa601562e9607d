// What `thermolog verify` checks in a database, in order: the journal, the ledger and the control
// data against each other, then the measurements against them. It only reads, beside services.

import { setImmediate, setTimeout } from 'node:timers/promises'
import { HOUR_MS } from '../domain/time.ts'
import { usage } from '../operations/check-arguments.ts'
import { verifyDeletedSensors } from '../operations/verify/verify-deleted-sensors.ts'
import { verifySensors } from '../operations/verify/verify-counts.ts'
import { verifySummaries } from '../operations/verify/verify-summaries.ts'
import { connectAlone } from '../postgres/connection.ts'
import { Database } from '../postgres/database.ts'
import { PostgresMeasurementReader } from '../postgres/measurements/measurement-reader.ts'
import { readSchemaState } from '../postgres/migrate.ts'
import { refuseUnfinishedMove } from '../postgres/server/recorded-server.ts'
import { createAccounts } from '../postgres/verify/accounts.ts'
import { checkControl } from '../postgres/verify/control-check.ts'
import { checkStreams } from '../postgres/verify/journal-check.ts'
import { checkLedger, checkTieBreaks } from '../postgres/verify/ledger-check.ts'
import { PostgresStoreAudit } from '../postgres/verify/store-audit.ts'
import { Findings } from './verdict.ts'
import type { Verdict, VerifyProgress } from './verdict.ts'

const CONNECTIONS = 2
/** Some statements read all there is. */
const STATEMENT_MS_MAX = 6 * HOUR_MS

/**
 * Checks everything; it may take minutes.
 *
 * @throws OperationError if there is nothing in it @throws MoveUnfinished
 */
export async function verifyDatabase(
  databaseUrl: string,
  progress: VerifyProgress,
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

async function hasSchema(databaseUrl: string): Promise<boolean> {
  const client = await connectAlone(databaseUrl, false)
  try {
    return (await readSchemaState(client)).version > 0
  } finally {
    await client.end()
  }
}

async function verify(database: Database, progress: VerifyProgress): Promise<Verdict> {
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
  const advance = (measurements: number) => progress.advance(measurements)
  const total = await control.total()
  progress.begin('counting', total, 'measurements')
  const counts = await verifySensors({ control, store, reader, pause: setTimeout, report, advance })
  progress.begin('checking summaries', total, 'measurements')
  await verifySummaries({ control, store, report, advance, rest: setImmediate })
  await verifyDeletedSensors({ control, store, report })
  const { findings, findingsTotal } = all
  return { findings, findingsTotal, events, ...counts }
}
