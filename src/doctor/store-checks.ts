// Where the data are: DATA_DIR's own records, the server of DATABASE_URL, and InfluxDB. Changes
// nothing.

import { UnfitSettings } from '../config.ts'
import type { Config, InfluxConfig } from '../config.ts'
import { refuseOtherStore, storeNameOf } from '../core/measurement-store.ts'
import type { DatabaseSettings } from '../data-dir/database-server.ts'
import { openBeside } from '../data-dir/open-beside.ts'
import { isUpgradeDue } from '../data-dir/upgrade.ts'
import { checkInfluxBucket } from '../influx/bucket-check.ts'
import { InfluxConnection, InfluxUnreachable } from '../influx/connection.ts'
import { grouped } from '../domain/grouped.ts'
import { FilesAtRest } from '../sqlite/verify/files-at-rest.ts'
import { systemClock } from '../system/clock.ts'
import { ANSWER_MS_MAX, Check, reasonOf, VERIFY } from './check.ts'
import type { CheckResult } from './check.ts'
import type { OtherClock } from './clock-check.ts'

export interface ServerResult {
  readonly results: readonly CheckResult[]
  /** `undefined`: it did not report its time. */
  readonly clock: OtherClock | undefined
}

const dataCheck = new Check('data')
const databaseCheck = new Check('database')
const influxCheck = new Check('influxdb')

/** Whether the service could start with the files, and they match the settings. */
export async function checkData(config: Config): Promise<readonly CheckResult[]> {
  const { dataDir } = config
  try {
    if (await isUpgradeDue(dataDir)) {
      const remedy =
        'restart the service, or see `thermolog database migrate`: a backup comes first'
      return [dataCheck.warning('the files have the format of an older version', remedy)]
    }
    const files = new FilesAtRest(dataDir)
    files.close()
    if (files.findings.length === 0) return [await checkControl(config)]
    return files.findings.map(({ where, problem, remedy }) => {
      return dataCheck.wrong(`${where}: ${problem}`, remedy)
    })
  } catch (error) {
    return [dataCheck.wrong(reasonOf(error), VERIFY)]
  }
}

/** @throws Error if it cannot be read, or names another store than the settings */
async function checkControl(config: Config): Promise<CheckResult> {
  const beside = openBeside(config.dataDir)
  try {
    await refuseOtherStore(config, beside.store)
    const setAside = await beside.control.countSetAside()
    if (setAside === 0) return dataCheck.ok(`measurements are kept: ${storeNameOf(config)}`)
    const refused = `${grouped(setAside)} measurements were refused by the measurement store`
    return dataCheck.warning(refused, 'see `thermolog journal list`')
  } finally {
    beside.close()
  }
}

export async function checkDatabase(config: DatabaseSettings): Promise<ServerResult> {
  const { url, durability } = config.database
  try {
    // PostgreSQL's driver is loaded only when needed.
    const { checkServer } = await import('../postgres/server/server-check.ts')
    const { countingFault } = await import('../postgres/stream/counting-check.ts')
    const { refuseOtherStoreOf } = await import('../data-dir/database-server.ts')
    const limit = { statementMsMax: ANSWER_MS_MAX }
    const { version, name, faults, warnings, timeMs } = await checkServer(url, durability, limit)
    const clock = { server: 'the database', aheadMs: timeMs - systemClock.nowMs() }
    const counting = faults.length > 0 ? undefined : await countingFault(url, limit)
    const all = counting === undefined ? faults : [...faults, counting]
    if (all.length === 0) await refuseOtherStoreOf(config, ANSWER_MS_MAX)
    const seen = `PostgreSQL ${version}, database ${name}`
    const remedy = 'see docs/scaling.md; `thermolog database check` looks again'
    return {
      results: [
        ...all.map((fault) => databaseCheck.wrong(`${seen}: ${fault}`, remedy)),
        ...warnings.map((warning) => databaseCheck.warning(`${seen}: ${warning}`, remedy)),
        ...(all.length > 0 ? [] : [databaseCheck.ok(`${seen}, DURABILITY=${durability}`)]),
      ],
      clock,
    }
  } catch (error) {
    if (error instanceof UnfitSettings) {
      const remedy = 'set INFLUX_* as for the service'
      return { results: [databaseCheck.wrong(error.message, remedy)], clock: undefined }
    }
    const remedy = 'start the server, or set DATABASE_URL to the one that runs'
    const message = `the database of DATABASE_URL cannot be used: ${reasonOf(error)}`
    return { results: [databaseCheck.wrong(message, remedy)], clock: undefined }
  }
}

export async function checkInflux(influx: InfluxConfig): Promise<ServerResult> {
  const connection = new InfluxConnection(influx, { socketsMax: 1, timeoutMs: ANSWER_MS_MAX })
  try {
    const state = await checkInfluxBucket(connection, { mayCreate: false })
    if (state.kind === 'unreachable') {
      const remedy = 'start it, or set INFLUX_URL; until then the journal keeps measurements'
      return { results: [influxCheck.wrong(state.reason, remedy)], clock: undefined }
    }
    const clock = await readClock(connection)
    if (state.kind === 'ready' || state.kind === 'created') {
      const ready = `InfluxDB at ${influx.url} can be written and read: "${influx.influxBucket}"`
      return { results: [influxCheck.ok(ready)], clock }
    }
    const { kind, problem, remedy } = state
    const result =
      kind === 'missing'
        ? influxCheck.warning(`${problem}: the service makes it at its start`, remedy)
        : influxCheck.wrong(problem, remedy)
    return { results: [result], clock }
  } catch (error) {
    const message = `InfluxDB at ${influx.url} cannot be asked: ${reasonOf(error)}`
    const remedy = 'look for what does not belong in INFLUX_URL and INFLUX_TOKEN'
    return { results: [influxCheck.wrong(message, remedy)], clock: undefined }
  } finally {
    connection.close()
  }
}

async function readClock(connection: InfluxConnection): Promise<OtherClock | undefined> {
  try {
    const { headers } = await connection.exchange({ method: 'GET', path: '/ping' })
    return headers.age === undefined ? clockOf('InfluxDB', headers.date) : undefined
  } catch (error) {
    if (error instanceof InfluxUnreachable) return undefined
    throw error
  }
}

/** @param date the header of a response that has just arrived; has whole seconds */
export function clockOf(server: string, date: string | null | undefined): OtherClock | undefined {
  const aheadMs = Date.parse(date ?? '') - systemClock.nowMs()
  return Number.isNaN(aheadMs) ? undefined : { server, aheadMs }
}
