// Other servers: that of DATABASE_URL, InfluxDB, and identity providers, each of which is asked
// whether the service can use it, and for its time.

import type { DatabaseConfig, IdentityProviderConfig, InfluxConfig } from '../config.ts'
import { checkInfluxBucket } from '../influx/bucket-check.ts'
import { InfluxConnection, InfluxUnreachable } from '../influx/connection.ts'
import { discover } from '../oidc/discovery.ts'
import { systemClock } from '../system/clock.ts'
import { ANSWER_MS_MAX, Check, reasonOf } from './check.ts'
import type { CheckResult } from './check.ts'
import { clockOf } from './clock-check.ts'
import type { OtherClock } from './clock-check.ts'

interface ServerResult {
  readonly results: readonly CheckResult[]
  /** `undefined`: it did not report its time. */
  readonly clock?: OtherClock | undefined
}

const databaseCheck = new Check('database')
const influxCheck = new Check('influxdb')
const providerCheck = new Check('provider')

export async function checkDatabase({ url, durability }: DatabaseConfig): Promise<ServerResult> {
  try {
    // PostgreSQL's driver is loaded only when needed.
    const { checkServer } = await import('../postgres/server/server-check.ts')
    const { countingFault } = await import('../postgres/stream/counting-check.ts')
    const limit = { statementMsMax: ANSWER_MS_MAX }
    const { version, name, faults, warnings, timeMs } = await checkServer(url, durability, limit)
    const clock = { server: 'the database', aheadMs: timeMs - systemClock.nowMs() }
    const counting = faults.length > 0 ? undefined : await countingFault(url, limit)
    const all = counting === undefined ? faults : [...faults, counting]
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
    const remedy = 'start the server, or set DATABASE_URL to the one that runs'
    const message = `the database of DATABASE_URL cannot be used: ${reasonOf(error)}`
    return { results: [databaseCheck.wrong(message, remedy)] }
  }
}

export async function checkInflux(influx: InfluxConfig): Promise<ServerResult> {
  const connection = new InfluxConnection(influx, { socketsMax: 1, timeoutMs: ANSWER_MS_MAX })
  try {
    const state = await checkInfluxBucket(connection, { mayCreate: false })
    if (state.kind === 'unreachable') {
      const remedy = 'start it, or set INFLUX_URL; until then the journal keeps measurements'
      return { results: [influxCheck.wrong(state.reason, remedy)] }
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
    return { results: [influxCheck.wrong(message, remedy)] }
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

/** Whether it is reachable and is the issuer in the settings. */
export async function checkProvider({ id, issuer }: IdentityProviderConfig): Promise<ServerResult> {
  const name = id.toUpperCase()
  try {
    const { date } = await discover(issuer, AbortSignal.timeout(ANSWER_MS_MAX))
    return {
      results: [providerCheck.ok(`${name} at ${issuer} answers`)],
      clock: clockOf(`the identity provider ${name}`, date),
    }
  } catch (error) {
    const message = `the identity provider ${name} at ${issuer} cannot be used: ${reasonOf(error)}`
    const remedy = `set IDP_${name}_ISSUER to what it calls itself, or make it reachable from here`
    return { results: [providerCheck.wrong(message, remedy)] }
  }
}
