// Checks that the bucket is fit to hold the measurements, at start and again when InfluxDB is first
// reached: faults are found before the journal fills up.

import { readFailure, InfluxUnreachable } from './connection.ts'
import type { InfluxAnswer, InfluxConnection } from './connection.ts'
import { SHARD_GROUP_MS } from './write-plan.ts'

export type BucketState =
  | { readonly kind: 'ready' }
  /** It was missing and has been created. */
  | { readonly kind: 'created' }
  /** It can be created, if the token may do so. */
  | { readonly kind: 'missing'; readonly problem: string; readonly remedy: string }
  /** Nothing is known yet; as far as can be seen, the settings are not at fault. */
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** It expires measurements: they must not be sent there. */
  | { readonly kind: 'expires'; readonly problem: string; readonly remedy: string }
  /** An operator must change something before anything can be written or read. */
  | { readonly kind: 'fault'; readonly problem: string; readonly remedy: string }

interface BucketAnswer {
  readonly id: string
  readonly retentionRules?: readonly { readonly everySeconds?: number }[]
}

const CREATE_COMMAND = 'influx bucket create --retention 0 --shard-group-duration 30d'

/** Whether a missing bucket is created, if the token may do so. */
interface Permission {
  readonly mayCreate: boolean
}

/** Checks the influx bucket and its rights. */
export async function checkInfluxBucket(
  connection: InfluxConnection,
  permission: Permission = { mayCreate: true },
): Promise<BucketState> {
  try {
    return await checkBucket(connection, permission)
  } catch (error) {
    if (!(error instanceof InfluxUnreachable)) throw error
    return { kind: 'unreachable', reason: error.message }
  }
}

async function checkBucket(
  connection: InfluxConnection,
  permission: Permission,
): Promise<BucketState> {
  const { organization: org, influxBucket: bucket } = connection.target
  const query = new URLSearchParams({ org, name: bucket }).toString()
  const answer = await connection.exchange({ method: 'GET', path: `/api/v2/buckets?${query}` })
  if (answer.status === 404) return await explainMissing(connection, answer, permission)
  if (answer.status !== 200) return explainRefusal(answer)
  const found = readList(answer, 'buckets') as readonly BucketAnswer[] | undefined
  if (found === undefined) return notInflux(answer)
  const [first] = found
  if (first === undefined) {
    return {
      kind: 'fault',
      problem: `INFLUX_TOKEN may not read the bucket "${bucket}"`,
      remedy: 'give a token that may read and write this bucket: histories are read with it too',
    }
  }
  return checkRetention(first, bucket) ?? (await checkWriting(connection))
}

function checkRetention(found: BucketAnswer, bucket: string): BucketState | undefined {
  const expiresAfter = Math.max(0, ...(found.retentionRules ?? []).map(secondsOf))
  if (expiresAfter === 0) return undefined
  return {
    kind: 'expires',
    problem: `the bucket "${bucket}" deletes measurements after ${expiresAfter} seconds`,
    remedy: `let it keep them: influx bucket update --id ${found.id} --retention 0`,
  }
}

function secondsOf({ everySeconds }: { readonly everySeconds?: number }): number {
  return everySeconds ?? 0
}

/** An empty write checks the right to write and does nothing else. */
async function checkWriting(connection: InfluxConnection): Promise<BucketState> {
  const { organization: org, influxBucket: bucket } = connection.target
  const path = `/api/v2/write?${new URLSearchParams({ org, bucket }).toString()}`
  const answer = await connection.exchange({ method: 'POST', path, body: '' })
  if (answer.status === 204) return { kind: 'ready' }
  if (answer.status !== 403) return explainRefusal(answer)
  return {
    kind: 'fault',
    problem: `INFLUX_TOKEN may not write to the bucket "${bucket}"`,
    remedy: 'give a token that may read and write this bucket',
  }
}

async function explainMissing(
  connection: InfluxConnection,
  answer: InfluxAnswer,
  permission: Permission,
): Promise<BucketState> {
  const { code, message } = readFailure(answer.body)
  if (code === undefined) return notInflux(answer)
  const { organization } = connection.target
  if (!message.includes('organization')) return await createBucket(connection, permission)
  return {
    kind: 'fault',
    problem: `InfluxDB has no organization "${organization}" (INFLUX_ORG)`,
    remedy: 'set INFLUX_ORG to the name that `influx org list` shows',
  }
}

async function createBucket(
  connection: InfluxConnection,
  { mayCreate }: Permission,
): Promise<BucketState> {
  const { organization: org, influxBucket: bucket } = connection.target
  const path = `/api/v2/orgs?${new URLSearchParams({ org }).toString()}`
  const orgs = await connection.exchange({ method: 'GET', path })
  const [found] = (readList(orgs, 'orgs') ?? []) as readonly { readonly id: string }[]
  const missing = `InfluxDB has no bucket "${bucket}" (INFLUX_BUCKET)`
  const remedy = `make it: ${CREATE_COMMAND} --name '${bucket}' --org '${org}'`
  if (found === undefined) {
    return { kind: 'fault', problem: `${missing}, or INFLUX_TOKEN is not for it`, remedy }
  }
  if (!mayCreate) return { kind: 'missing', problem: missing, remedy }
  const shardGroupDurationSeconds = SHARD_GROUP_MS / 1_000
  const rule = { type: 'expire', everySeconds: 0, shardGroupDurationSeconds }
  const answer = await connection.exchange({
    method: 'POST',
    path: '/api/v2/buckets',
    contentType: 'application/json',
    body: JSON.stringify({ orgID: found.id, name: bucket, retentionRules: [rule] }),
  })
  if (answer.status === 201) return { kind: 'created' }
  if (answer.status >= 500) return explainRefusal(answer)
  const { message } = readFailure(answer.body)
  return { kind: 'fault', problem: `${missing}, and it cannot be made: ${message}`, remedy }
}

function explainRefusal(answer: InfluxAnswer): BucketState {
  const { code, message } = readFailure(answer.body)
  const reason = `${message} (status ${answer.status})`
  if (answer.status >= 500 || answer.status === 429) return { kind: 'unreachable', reason }
  if (code === undefined) return notInflux(answer)
  if (answer.status === 401 || answer.status === 403) {
    return {
      kind: 'fault',
      problem: `InfluxDB does not accept INFLUX_TOKEN: ${reason}`,
      remedy: 'set INFLUX_TOKEN to a token that `influx auth list` shows as active',
    }
  }
  return {
    kind: 'fault',
    problem: `InfluxDB refuses: ${reason}`,
    remedy: 'see the log of InfluxDB',
  }
}

function notInflux({ status }: InfluxAnswer): BucketState {
  return {
    kind: 'fault',
    problem: `what answers at INFLUX_URL is no InfluxDB 2 (status ${status})`,
    remedy: 'set INFLUX_URL to its address, such as http://localhost:8086',
  }
}

function readList(answer: InfluxAnswer, name: string): readonly unknown[] | undefined {
  try {
    const list = (JSON.parse(answer.body) as Readonly<Record<string, unknown>> | null)?.[name]
    return Array.isArray(list) ? list : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
