// What `prepare` asks and orders as the administrator of an InfluxDB 2.

import { SHARD_GROUP_MS } from '../src/influx/write-plan.ts'

const ANSWER_MS_MAX = 10_000
const KEEPS_EVERYTHING = {
  type: 'expire',
  everySeconds: 0,
  // Weekly shards, the usual size, would be too many for years of data.
  shardGroupDurationSeconds: SHARD_GROUP_MS / 1_000,
}

/** Whether the bucket never expires data and has the shard groups that suit the service. */
export function keepsEverything({ retentionRules: [rule] }: Bucket): boolean {
  const { everySeconds, shardGroupDurationSeconds } = KEEPS_EVERYTHING
  return (
    rule?.everySeconds === everySeconds &&
    rule.shardGroupDurationSeconds === shardGroupDurationSeconds
  )
}

/** InfluxDB does not respond, or not now; retrying may help. */
export class InfluxAway extends Error {}

/**
 * The administrator's token is unknown, or not known yet: a set-up under way also responds this
 * way.
 */
export class AdminUnknown extends Error {}

export interface Bucket {
  readonly id: string
  readonly orgID: string
  readonly retentionRules: readonly {
    readonly everySeconds: number
    readonly shardGroupDurationSeconds: number
  }[]
}

export interface Names {
  readonly url: string
  readonly organization: string
  readonly influxBucket: string
}

interface Order {
  readonly method?: 'POST' | 'PATCH' | 'DELETE'
  readonly token?: string
  readonly body?: object
}

export class InfluxAdmin {
  readonly #names: Names
  readonly #adminToken: string

  constructor(names: Names, adminToken: string) {
    this.#names = names
    this.#adminToken = adminToken
  }

  /** Whether InfluxDB has not been set up yet. */
  async isEmpty(): Promise<boolean> {
    return (await this.#ask<{ allowed: boolean }>('setup')).allowed
  }

  async setUp(username: string, password: string): Promise<void> {
    const { organization: org, influxBucket: bucket } = this.#names
    const body = { username, password, org, bucket, token: this.#adminToken }
    await this.#ask('setup', { method: 'POST', body: { ...body, retentionPeriodSeconds: 0 } })
  }

  /** @returns `undefined` if there is no such bucket */
  async findBucket(): Promise<Bucket | undefined> {
    const answer = await this.#send(this.#bucketPath(), { token: this.#adminToken })
    const isMissing = answer.status === 404 && (await answer.clone().text()).includes('bucket')
    if (isMissing) return undefined
    return (await read<{ buckets: Bucket[] }>(answer)).buckets[0]
  }

  async createBucket(): Promise<Bucket> {
    const { organization, influxBucket: name } = this.#names
    const { orgs } = await this.#order<{ orgs: { id: string }[] }>(
      `orgs?${query({ org: organization })}`,
    )
    const body = { orgID: orgs[0]?.id, name, retentionRules: [KEEPS_EVERYTHING] }
    return await this.#order('buckets', { method: 'POST', body })
  }

  /** Makes the bucket keep all data from now on. */
  async keepEverything({ id }: Bucket): Promise<void> {
    const body = { retentionRules: [KEEPS_EVERYTHING] }
    await this.#order(`buckets/${id}`, { method: 'PATCH', body })
  }

  /** Whether this token sees the bucket and, for a writer, may write to it. */
  async isTokenFor(bucket: Bucket, token: string, access: readonly Access[]): Promise<boolean> {
    const seen = await this.#send(this.#bucketPath(), { token })
    if (isRefusal(seen)) return false
    const { buckets } = await read<{ buckets: Bucket[] }>(seen)
    if (!buckets.some(({ id }) => id === bucket.id)) return false
    if (!access.includes('write')) return true
    const { organization: org, influxBucket } = this.#names
    // A write of no lines checks the permission to write and nothing else.
    const path = `write?${query({ org, bucket: influxBucket })}`
    const written = await this.#send(path, { method: 'POST', token })
    if (isRefusal(written)) return false
    await read(written)
    return true
  }

  /**
   * Creates a token and deletes those of the same description, which a crash may have left behind.
   */
  async makeToken(
    { id, orgID }: Bucket,
    description: string,
    access: readonly Access[],
  ): Promise<string> {
    const { authorizations } = await this.#order<{
      authorizations: { id: string; description: string }[]
    }>(`authorizations?${query({ orgID })}`)
    for (const old of authorizations.filter((other) => other.description === description)) {
      await this.#order(`authorizations/${old.id}`, { method: 'DELETE' })
    }
    const resource = { type: 'buckets', id, orgID }
    const permissions = access.map((action) => ({ action, resource }))
    const body = { orgID, description, permissions }
    const { token } = await this.#order<{ token: string }>('authorizations', {
      method: 'POST',
      body,
    })
    return token
  }

  #bucketPath(): string {
    const { organization: org, influxBucket: name } = this.#names
    return `buckets?${query({ org, name })}`
  }

  async #order<Answer>(path: string, order: Order = {}): Promise<Answer> {
    return await this.#ask(path, { ...order, token: this.#adminToken })
  }

  async #ask<Answer>(path: string, order: Order = {}): Promise<Answer> {
    return await read(await this.#send(path, order))
  }

  async #send(path: string, { method, token, body }: Order): Promise<Response> {
    const { url } = this.#names
    try {
      const answer = await fetch(`${url}/api/v2/${path}`, {
        method: method ?? 'GET',
        headers: token === undefined ? {} : { authorization: `Token ${token}` },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      })
      if (answer.status < 500) return answer
      throw new InfluxAway(`${url} answers with status ${answer.status}`)
    } catch (error) {
      if (error instanceof InfluxAway) throw error
      throw new InfluxAway(`${url} does not answer`, { cause: error })
    }
  }
}

export type Access = 'read' | 'write'

function query(parameters: Readonly<Record<string, string>>): string {
  return new URLSearchParams(parameters).toString()
}

// Not found: it may see no such bucket, or not the organization.
function isRefusal({ status }: Response): boolean {
  return status === 401 || status === 403 || status === 404
}

async function read<Answer>(answer: Response): Promise<Answer> {
  const text = await readText(answer)
  if (answer.ok) return (text === '' ? undefined : JSON.parse(text)) as Answer
  if (answer.status === 401) {
    throw new AdminUnknown(
      'InfluxDB does not know the token in influxdb/admin-token: was it set up by someone else, ' +
        'or the volume influxdb-secrets lost?',
    )
  }
  throw new Error(`InfluxDB refuses: ${text.trim()} (${new URL(answer.url).pathname})`)
}

async function readText(answer: Response): Promise<string> {
  try {
    return await answer.text()
  } catch (error) {
    throw new InfluxAway(`${answer.url} breaks off its answer`, { cause: error })
  }
}
