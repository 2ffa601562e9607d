// What runs once before everything else of docker-compose.yml: sets up InfluxDB, makes the bucket,
// a token for the service, one for Grafana that can only read, and one for Prometheus to ask the
// service with, and leaves them in a volume for each of those who need them. No secret is in the
// repository.
//
// May be run at every start, and again after a crash anywhere: what is there stays. Each secret is
// on disk before InfluxDB learns of it, or is made anew. A new, empty InfluxDB gets new tokens.

import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { SHARD_GROUP_MS } from '../src/influx/write-plan.ts'

const ADMIN = 'admin'
const OWNER_ONLY = 0o600
/** Grafana and Prometheus run as other users; the volumes are their own. */
const ALL_MAY_READ = 0o644

export interface Preparation {
  readonly url: string
  readonly organization: string
  readonly influxBucket: string
  /** Gets the folders `influxdb`, `thermolog`, `grafana` and `prometheus`. */
  readonly directory: string
}

interface Place {
  readonly url: string
  readonly adminToken: string
  readonly orgId: string
  readonly bucketId: string
}

/** @throws Error when InfluxDB refuses, or was set up by someone else */
export async function prepareInfluxdb(preparation: Preparation): Promise<void> {
  const { url, organization, influxBucket, directory } = preparation
  const adminPassword = await keepSecret(join(directory, 'influxdb/admin-password'), OWNER_ONLY)
  const adminToken = await keepSecret(join(directory, 'influxdb/admin-token'), OWNER_ONLY)
  await keepSecret(join(directory, 'grafana/admin-password'), ALL_MAY_READ)
  const metricsToken = await keepSecret(join(directory, 'prometheus/metrics-token'), ALL_MAY_READ)
  const { allowed: isEmpty } = await call<{ allowed: boolean }>(`${url}/api/v2/setup`)
  if (isEmpty) {
    await call(`${url}/api/v2/setup`, {
      method: 'POST',
      body: JSON.stringify({
        username: ADMIN,
        password: adminPassword,
        org: organization,
        bucket: influxBucket,
        token: adminToken,
        retentionPeriodSeconds: 0,
      }),
    })
  }
  const place = await find(preparation, adminToken)
  if (isEmpty) await setShardGroups(place)
  const settingsFile = join(directory, 'thermolog/.env')
  if (isEmpty || !(await isThere(settingsFile))) {
    const influxToken = await createToken(place, 'thermolog: the service', ['read', 'write'])
    const settings = [
      `INFLUX_URL=${url}`,
      `INFLUX_ORG=${organization}`,
      `INFLUX_BUCKET=${influxBucket}`,
      `INFLUX_TOKEN=${influxToken}`,
    ]
    await keep(settingsFile, `${settings.join('\n')}\n`, OWNER_ONLY)
  }
  await keepMetricsToken(settingsFile, metricsToken)
  const readTokenFile = join(directory, 'grafana/influx-read-token')
  if (isEmpty || !(await isThere(readTokenFile))) {
    await keep(
      readTokenFile,
      await createToken(place, 'Grafana: reads only', ['read']),
      ALL_MAY_READ,
    )
  }
}

// The settings may be of a version that made no such token.
async function keepMetricsToken(settingsFile: string, metricsToken: string): Promise<void> {
  const text = await readFile(settingsFile, 'utf8')
  const others = text.replace(/^METRICS_TOKEN=.*\n/m, '')
  const wanted = `${others}METRICS_TOKEN=${metricsToken}\n`
  if (wanted !== text) await keep(settingsFile, wanted, OWNER_ONLY)
}

async function find(
  { url, organization, influxBucket }: Preparation,
  adminToken: string,
): Promise<Place> {
  const query = new URLSearchParams({ org: organization, name: influxBucket }).toString()
  const { buckets } = await call<{ buckets: { id: string; orgID: string }[] }>(
    `${url}/api/v2/buckets?${query}`,
    { token: adminToken },
  )
  const [bucket] = buckets
  if (bucket === undefined) throw new Error(`InfluxDB has no bucket ${influxBucket}`)
  return { url, adminToken, orgId: bucket.orgID, bucketId: bucket.id }
}

// The set-up cannot say it. Shards of the usual week would be too many for years of data.
async function setShardGroups({ url, adminToken, bucketId }: Place): Promise<void> {
  const shardGroupDurationSeconds = SHARD_GROUP_MS / 1_000
  const rule = { type: 'expire', everySeconds: 0, shardGroupDurationSeconds }
  await call(`${url}/api/v2/buckets/${bucketId}`, {
    method: 'PATCH',
    token: adminToken,
    body: JSON.stringify({ retentionRules: [rule] }),
  })
}

async function createToken(
  { url, adminToken, orgId, bucketId }: Place,
  description: string,
  actions: readonly ('read' | 'write')[],
): Promise<string> {
  const resource = { type: 'buckets', id: bucketId, orgID: orgId }
  const permissions = actions.map((action) => ({ action, resource }))
  const { token } = await call<{ token: string }>(`${url}/api/v2/authorizations`, {
    method: 'POST',
    token: adminToken,
    body: JSON.stringify({ orgID: orgId, description, permissions }),
  })
  return token
}

interface Order {
  readonly method?: 'POST' | 'PATCH'
  readonly token?: string
  readonly body?: string
}

async function call<Answer>(url: string, { method, token, body }: Order = {}): Promise<Answer> {
  const answer = await fetch(url, {
    method: method ?? 'GET',
    headers: token === undefined ? {} : { authorization: `Token ${token}` },
    body: body ?? null,
  })
  if (answer.ok) return (await answer.json()) as Answer
  const hint = answer.status === 401 ? ' (was it set up by someone else?)' : ''
  throw new Error(`InfluxDB: ${new URL(url).pathname}: ${await answer.text()}${hint}`)
}

/** @returns the secret of this file, which gets one when it is not there */
async function keepSecret(path: string, mode: number): Promise<string> {
  const kept = await readIfThere(path)
  if (kept !== undefined) return kept
  const secret = randomBytes(32).toString('base64url')
  await keep(path, secret, mode)
  return secret
}

// Whole or not at all, and on disk before anything else happens.
async function keep(path: string, text: string, mode: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const unfinished = `${path}.unfinished`
  await writeFile(unfinished, text, { mode, flush: true })
  await rename(unfinished, path)
}

async function isThere(path: string): Promise<boolean> {
  return (await readIfThere(path)) !== undefined
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

if (import.meta.main) {
  const option = { type: 'string', default: '' } as const
  const { values } = parseArgs({
    options: { url: option, org: option, bucket: option, directory: option },
  })
  const { url, org, bucket, directory } = values
  await prepareInfluxdb({ url, organization: org, influxBucket: bucket, directory })
  process.stdout.write('InfluxDB is set up; secrets are in their volumes\n')
}
