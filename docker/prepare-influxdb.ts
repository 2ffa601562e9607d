// Runs once before everything else in docker-compose.yml: makes sure that InfluxDB is set up, has
// the bucket and grants the necessary access, and that every container finds its secrets in a
// volume. No secret is in the repository.
//
// It checks what exists and fixes what is wrong, whatever the cause: a first start, a crash of its
// own anywhere, an InfluxDB that is new, restored or changed by hand, or a file removed so that its
// secret is created again. Each secret is on disk before InfluxDB learns of it; a token that
// InfluxDB itself created is created again if it is lost.
//
// If InfluxDB does not respond for a minute but every secret exists, the other containers may
// start: the service accepts measurements meanwhile.

import { setTimeout } from 'node:timers/promises'
import { parseArgs, parseEnv } from 'node:util'
import { AdminUnknown, InfluxAdmin, InfluxAway, keepsEverything } from './influx-admin.ts'
import type { Access, Bucket, Names } from './influx-admin.ts'
import { SecretFiles } from './secret-files.ts'
import type { SecretFile } from './secret-files.ts'

const ADMIN = 'admin'
const NEEDED: readonly SecretFile[] = [
  'influxdb/admin-password',
  'influxdb/admin-token',
  'thermolog/.env',
  'grafana/admin-password',
  'grafana/influx-read-token',
  'grafana/thermolog-token',
  'prometheus/metrics-token',
]
const PATIENCE_MS = 60_000
const PAUSE_MS = 500
/** InfluxDB may still be working on the set-up that a killed `prepare` requested. */
const SET_UP_MS_MAX = 5_000

interface TokenKind {
  readonly description: string
  readonly access: readonly Access[]
}

const SERVICE: TokenKind = { description: 'thermolog: the service', access: ['read', 'write'] }
const GRAFANA: TokenKind = { description: 'Grafana: reads only', access: ['read'] }

export interface Preparation extends Names {
  /** Contains the folders `influxdb`, `thermolog`, `grafana` and `prometheus`. */
  readonly directory: string
  /** How long to wait for InfluxDB. */
  readonly patienceMs: number
}

/**
 * @returns what was done, in sentences
 * @throws Error if InfluxDB refuses, was set up by someone else, or does not respond although
 *   secrets have to be created
 */
export async function prepareInfluxdb(preparation: Preparation): Promise<readonly string[]> {
  const secrets = new SecretFiles(preparation.directory)
  const startMs = performance.now()
  const done: string[] = []
  while (true) {
    try {
      await makeGood(preparation, secrets, done)
      return done.length > 0 ? done : ['everything is in place']
    } catch (error) {
      const waitedMs = performance.now() - startMs
      const isAway = error instanceof InfluxAway
      if (isAway && waitedMs > preparation.patienceMs)
        return [...done, await goOnWithout(error, secrets)]
      if (!isAway && !(error instanceof AdminUnknown && waitedMs < SET_UP_MS_MAX)) throw error
    }
    await setTimeout(PAUSE_MS)
  }
}

async function goOnWithout(away: InfluxAway, secrets: SecretFiles): Promise<string> {
  const missing = await secrets.missing(NEEDED)
  if (missing.length > 0)
    throw new Error(`${away.message}, and ${missing.join(', ')} cannot be created without it`)
  return `WARNING: ${away.message}; all secrets exist, so the other containers may start`
}

// If it fails anywhere, it is run again from the top.
async function makeGood(names: Names, secrets: SecretFiles, done: string[]): Promise<void> {
  const adminPassword = await secrets.readOrMake('influxdb/admin-password')
  const adminToken = await secrets.readOrMake('influxdb/admin-token')
  await secrets.readOrMake('grafana/admin-password')
  // Opens nothing until `grafana-token.ts` puts a token there: Grafana does not start without.
  await secrets.readOrMake('grafana/thermolog-token')
  const metricsToken = await secrets.readOrMake('prometheus/metrics-token')
  const admin = new InfluxAdmin(names, adminToken)
  if (await admin.isEmpty()) {
    await admin.setUp(ADMIN, adminPassword)
    done.push('set up InfluxDB')
  }
  const bucket = await makeBucket(admin, names, done)
  const keepToken = async (kind: TokenKind, kept: string | undefined) => {
    if (kept !== undefined && (await admin.isTokenFor(bucket, kept, kind.access))) return kept
    done.push(`created a token: ${kind.description}`)
    return await admin.makeToken(bucket, kind.description, kind.access)
  }
  const keptSettings = await secrets.read('thermolog/.env')
  const settings = settingsText(names, {
    INFLUX_TOKEN: await keepToken(SERVICE, parseEnv(keptSettings ?? '')['INFLUX_TOKEN']),
    METRICS_TOKEN: metricsToken,
  })
  if (settings !== keptSettings) {
    await secrets.write('thermolog/.env', `${settings}\n`)
    done.push(
      'if the service is running already, `docker compose restart thermolog` lets it use this',
    )
  }
  const keptRead = await secrets.read('grafana/influx-read-token')
  const readToken = await keepToken(GRAFANA, keptRead)
  if (readToken !== keptRead) {
    await secrets.write('grafana/influx-read-token', readToken)
    done.push('if Grafana is running already, `docker compose restart grafana` lets it use this')
  }
}

async function makeBucket(admin: InfluxAdmin, names: Names, done: string[]): Promise<Bucket> {
  const found = await admin.findBucket()
  if (found === undefined) {
    done.push(`created the bucket ${names.influxBucket}`)
    return await admin.createBucket()
  }
  if (!keepsEverything(found)) {
    await admin.keepEverything(found)
    done.push(`set the bucket ${names.influxBucket} to keep everything, in shard groups of 30 days`)
  }
  return found
}

function settingsText(
  { url, organization, influxBucket }: Names,
  secrets: Readonly<Record<string, string>>,
): string {
  const settings = { INFLUX_URL: url, INFLUX_ORG: organization, INFLUX_BUCKET: influxBucket }
  return Object.entries({ ...settings, ...secrets })
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')
}

async function main(): Promise<void> {
  const option = { type: 'string', default: '' } as const
  const { values } = parseArgs({
    options: { url: option, org: option, bucket: option, directory: option },
  })
  const { url, org: organization, bucket: influxBucket, directory } = values
  const names = { url, organization, influxBucket }
  const done = await prepareInfluxdb({ ...names, directory, patienceMs: PATIENCE_MS })
  process.stdout.write(done.map((line) => `prepare: ${line}\n`).join(''))
}

if (import.meta.main) {
  try {
    await main()
  } catch (error) {
    process.stderr.write(`prepare: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
