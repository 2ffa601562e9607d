// What `thermolog verify` checks in a database, in order: the journal, the ledger and the control
// data against each other, then the measurements against them. It only reads, beside services.

import type { InfluxConfig } from '../config.ts'
import { openInfluxReader } from '../core/influx-store.ts'
import { refuseOtherStore } from '../core/measurement-store.ts'
import type { Report } from '../domain/finding.ts'
import { HOUR_MS } from '../domain/time.ts'
import { usage } from '../operations/operations.ts'
import type { SensorsChecked } from '../operations/verify/verify-counts.ts'
import type { WorkProgress } from '../ports/system.ts'
import { createStoreRecords } from '../postgres/control/control-reader.ts'
import { Database } from '../postgres/server/database.ts'
import { PostgresMeasurementReader } from '../postgres/measurements/measurement-reader.ts'
import { refuseUnfinishedMove } from '../postgres/server/recorded-server.ts'
import { ShardServers } from '../postgres/server/shard-servers.ts'
import { createAccounts } from '../postgres/verify/accounts.ts'
import { checkControl } from '../postgres/verify/control-check.ts'
import { checkStreams } from '../postgres/verify/journal-check.ts'
import { checkLedger, checkTieBreaks } from '../postgres/verify/ledger-check.ts'
import { PostgresStoreAudit } from '../postgres/verify/store-audit.ts'
import { systemClock } from '../system/clock.ts'
import { hasSchema } from './database-server.ts'
import type { DatabaseSettings } from './database-server.ts'
import { Findings, reportUnreachable } from './verdict.ts'
import type { Verdict } from './verdict.ts'
import { openInfluxCounts, verifyStore } from './verify-store.ts'

const CONNECTIONS = 2
/** Some statements read all there is. */
const STATEMENT_MS_MAX = 6 * HOUR_MS

/**
 * Checks everything; it may take minutes.
 *
 * @throws OperationError if there is nothing in it @throws MoveUnfinished
 * @throws UnfitSettings if the measurements are in another store than the settings say
 */
export async function verifyDatabase(
  config: DatabaseSettings,
  progress: WorkProgress,
): Promise<Verdict> {
  const { url: databaseUrl } = config.database
  if (!(await hasSchema(databaseUrl))) {
    throw usage('the database of DATABASE_URL has no data', '`thermolog serve` starts new ones.')
  }
  await refuseUnfinishedMove(databaseUrl)
  const database = new Database(databaseUrl, CONNECTIONS, { statementMsMax: STATEMENT_MS_MAX })
  let servers: ShardServers | undefined
  try {
    await refuseOtherStore(config, createStoreRecords(database))
    servers = await ShardServers.find(database, databaseUrl, { clock: systemClock })
    return await verify(servers, config.influx, progress)
  } finally {
    await servers?.close()
    await database.close()
  }
}

async function verify(
  servers: ShardServers,
  influx: InfluxConfig | undefined,
  progress: WorkProgress,
): Promise<Verdict> {
  const all = new Findings()
  const { report } = all
  const { main: database } = servers
  const control = createAccounts(database)
  progress.begin('checking the ledger', 1, 'ledger')
  await checkStreams(database, report)
  await checkControl(database, report)
  const events = await checkLedger(database, await control.mayHaveDropped(), report)
  await checkTieBreaks(database, report)
  const counts = await checkStore(servers, influx, { control, report, progress })
  const { findings, findingsTotal } = all
  return { findings, findingsTotal, events, ...counts }
}

interface Checking {
  readonly control: ReturnType<typeof createAccounts>
  readonly report: Report
  readonly progress: WorkProgress
}

async function checkStore(
  servers: ShardServers,
  influx: InfluxConfig | undefined,
  { progress, ...of }: Checking,
): Promise<SensorsChecked> {
  if (influx === undefined) {
    const store = new PostgresStoreAudit(servers)
    const reader = new PostgresMeasurementReader(servers)
    return verifyStore({ ...of, store, audit: store, reader }, progress)
  }
  const store = openInfluxCounts(influx)
  const reader = openInfluxReader(influx)
  try {
    return await verifyStore({ ...of, store, audit: undefined, reader }, progress)
  } catch (error) {
    reportUnreachable(error, store.name, of.report)
    return { sensors: 0, measurements: 0, moving: 0 }
  } finally {
    await reader.close()
    store.close()
  }
}
