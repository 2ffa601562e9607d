// How tests find a real InfluxDB: INFLUX_TEST_URL with INFLUX_TEST_TOKEN and INFLUX_TEST_ORG, else
// `influxd` on PATH, else a container. One is shared by all tests of a run. Where there is none the
// tests that need it are left out; with REQUIRE_INFLUX=1 they fail.

import { randomUUID } from 'node:crypto'
import { InfluxConnection } from '../../src/influx/connection.ts'
import type { InfluxTarget } from '../../src/influx/connection.ts'
import type { Environment } from './command.ts'
import { atEndOfRun } from './end-of-run.ts'
import { hasInfluxd, InfluxServer } from './influxd.ts'
import type { TestInflux } from './influxd.ts'
import { leaveOut } from './left-out.ts'
import type { Missing } from './left-out.ts'

const CONTAINER_IMAGE = 'influxdb:2.7'
const CONTAINER_PORT = 8_086
const START_MS_MAX = 120_000

interface Found {
  readonly influx: TestInflux
  stop(): Promise<void>
}

let shared: Promise<Found | undefined> | undefined

/**
 * Says that the tests of the suite need InfluxDB.
 *
 * @returns where it is; to be called in tests and hooks, not before
 */
export function useInflux(): () => TestInflux {
  let influx: TestInflux | undefined
  before(async function () {
    this.timeout(START_MS_MAX)
    shared ??= findInflux()
    const found = await shared
    if (found === undefined) leaveOutSuite(this, 'influxd')
    influx = found.influx
  })
  return () => {
    if (influx === undefined) throw new Error('InfluxDB is looked for in a hook before the tests')
    return influx
  }
}

/**
 * Says that the tests of the suite need an InfluxDB that they may pause and kill.
 *
 * @param settings flags of influxd
 */
export function useInfluxServer(settings: readonly string[] = []): () => InfluxServer {
  let server: InfluxServer | undefined
  before(async function () {
    this.timeout(START_MS_MAX)
    if (!hasInfluxd()) leaveOutSuite(this, 'influxd to pause and kill')
    server = await InfluxServer.start(settings)
  })
  after(() => server?.stop())
  return () => {
    if (server === undefined) throw new Error('influxd is started in a hook before the tests')
    return server
  }
}

export interface BucketSettings {
  /** 0: for ever. */
  readonly expireSeconds?: number
}

/** Makes an influx bucket of a test's own. */
export async function newBucket(
  influx: TestInflux,
  { expireSeconds = 0 }: BucketSettings = {},
): Promise<InfluxTarget & { readonly bucketId: string; readonly organizationId: string }> {
  const { organization } = influx
  const { orgs } = await callInflux<{ orgs: { id: string }[] }>(
    influx,
    `orgs?${new URLSearchParams({ org: organization }).toString()}`,
  )
  const organizationId = orgs[0]?.id ?? ''
  const influxBucket = `test-${randomUUID()}`
  const rule = {
    type: 'expire',
    everySeconds: expireSeconds,
    shardGroupDurationSeconds: expireSeconds === 0 ? 30 * 86_400 : 3_600,
  }
  const bucket = { orgID: organizationId, name: influxBucket, retentionRules: [rule] }
  const { id: bucketId } = await callInflux<{ id: string }>(influx, 'buckets', bucket)
  const { url, influxToken } = influx
  return { url, organization, influxToken, influxBucket, bucketId, organizationId }
}

/** The settings of a service that keeps its measurements there. */
export function influxSettings(target: InfluxTarget): Environment {
  return {
    INFLUX_URL: target.url,
    INFLUX_ORG: target.organization,
    INFLUX_BUCKET: target.influxBucket,
    INFLUX_TOKEN: target.influxToken,
  }
}

/** Makes a token with just these rights to one bucket. */
export async function newToken(
  influx: TestInflux,
  bucket: { readonly bucketId: string; readonly organizationId: string },
  actions: readonly ('read' | 'write')[],
): Promise<string> {
  const orgID = bucket.organizationId
  const resource = { type: 'buckets', id: bucket.bucketId, orgID }
  const permissions = actions.map((action) => ({ action, resource }))
  const order = { orgID, permissions }
  return (await callInflux<{ token: string }>(influx, 'authorizations', order)).token
}

/** Writes what need not come from the service. @param lines with times in nanoseconds */
export async function writeLines(
  connection: InfluxConnection,
  lines: readonly string[],
): Promise<void> {
  const { organization: org, influxBucket: bucket } = connection.target
  const path = `/api/v2/write?${new URLSearchParams({ org, bucket }).toString()}`
  const { status, body } = await connection.exchange({
    method: 'POST',
    path,
    body: lines.join('\n'),
  })
  if (status !== 204) throw new Error(`InfluxDB: ${body}`)
}

/** A connection of a test; it is closed after it. */
export function connect(
  target: InfluxTarget,
  { timeoutMs = 10_000, socketsMax = 4 } = {},
): InfluxConnection {
  const connection = new InfluxConnection(target, { timeoutMs, socketsMax })
  opened.push(connection)
  return connection
}

const opened: InfluxConnection[] = []

afterEach(() => {
  for (const connection of opened.splice(0)) connection.close()
})

atEndOfRun(async () => {
  await (await shared)?.stop()
})

function leaveOutSuite(context: Mocha.Context, missing: Missing): never {
  if (process.env['REQUIRE_INFLUX'] === '1') throw new Error(`REQUIRE_INFLUX=1, but no ${missing}`)
  return leaveOut(context, missing)
}

async function findInflux(): Promise<Found | undefined> {
  const url = process.env['INFLUX_TEST_URL']
  if (url !== undefined) {
    const organization = process.env['INFLUX_TEST_ORG'] ?? ''
    const influxToken = process.env['INFLUX_TEST_TOKEN'] ?? ''
    return { influx: { url, organization, influxToken }, stop: async () => undefined }
  }
  if (hasInfluxd()) {
    const server = await InfluxServer.start()
    return { influx: server, stop: () => server.stop() }
  }
  return await startContainer()
}

async function startContainer(): Promise<Found | undefined> {
  const organization = 'test-organization'
  const influxToken = 'test-token-of-all-rights'
  try {
    const { GenericContainer, Wait } = await import('testcontainers')
    const container = await new GenericContainer(CONTAINER_IMAGE)
      .withExposedPorts(CONTAINER_PORT)
      .withEnvironment({
        DOCKER_INFLUXDB_INIT_MODE: 'setup',
        DOCKER_INFLUXDB_INIT_USERNAME: 'test',
        DOCKER_INFLUXDB_INIT_PASSWORD: 'test-password',
        DOCKER_INFLUXDB_INIT_ORG: organization,
        DOCKER_INFLUXDB_INIT_BUCKET: 'unused',
        DOCKER_INFLUXDB_INIT_ADMIN_TOKEN: influxToken,
      })
      .withWaitStrategy(Wait.forHttp('/health', CONTAINER_PORT))
      .start()
    const url = `http://${container.getHost()}:${container.getMappedPort(CONTAINER_PORT)}`
    const stop = async () => void (await container.stop())
    return { influx: { url, organization, influxToken }, stop }
  } catch {
    return undefined
  }
}

async function callInflux<Answer>(
  influx: TestInflux,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const answer = await fetch(`${influx.url}/api/v2/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Token ${influx.influxToken}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`InfluxDB: ${path}: ${await answer.text()}`)
  return (await answer.json()) as Answer
}
