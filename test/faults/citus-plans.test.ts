// Goal: what a lane commits, and what forwards it, is the work of one worker, whatever the other
// nodes do. Method: the plan of each statement on that worker; and submissions while all others are
// frozen.

import { expect } from 'chai'
import pg from 'pg'
import { HOUR_MS } from '../../src/domain/time.ts'
import { revisionStatements } from '../../src/postgres/stream/history-revisions.ts'
import * as forwarding from '../../src/postgres/journal/journal-statements.ts'
import * as sql from '../../src/postgres/stream/lane-statements.ts'
import { ShardTables } from '../../src/postgres/stream/shard-tables.ts'
import {
  accept,
  measurement,
  newUser,
  NOW_MS,
  PERMISSIVE,
  statuses,
  submission,
} from '../contract/open-data.ts'
import type { OpenData } from '../contract/open-data.ts'
import { useCitusCluster } from '../support/citus.ts'
import { ask } from '../support/lanes.ts'
import { openProcess } from '../support/postgres-process.ts'
import { newMigratedDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { within } from '../support/until.ts'

/** Not of a shard. */
const OF_COORDINATOR = ['TAKE_SENSOR_IDS', 'TAKE_SET_ASIDE_IDS']
/** Not of a lane, but of a process. */
const { LEAVE_STREAMS, ...ofLanes } = sql
const revisions = revisionStatements({ shard: 0, ids: [] }, NOW_MS)
const STATEMENTS = [
  ...Object.entries(ofLanes).filter(([name]) => !OF_COORDINATOR.includes(name)),
  ...revisions.map(({ text }, at) => [`revision ${at}`, text] as const),
]
const FORWARDING = Object.entries({ ...forwarding, LEAVE_STREAMS }).filter(
  ([name]) => !OF_COORDINATOR.includes(name),
)
const SHARDS_AT = `
  SELECT shard FROM shards JOIN pg_dist_shard_placement
    ON shardid = get_shard_id_for_distribution_column('shards', shard)
  WHERE nodeport = $1`

const VALUES: Readonly<Record<string, string>> = { uuid: 'gen_random_uuid()' }
const ANSWER_MS_MAX = 5_000
/** New ones, an old one, and one of the same time. */
const EVENTS = [0, 1, -400 * HOUR_MS, 2, 2, -300 * HOUR_MS, 3].map((afterMs, at) => {
  return { eventId: `event ${at}`, measuredAtMs: NOW_MS + afterMs }
})

describe('what lanes send to a worker', () => {
  const citus = useCitusCluster()
  let database: TestDatabase
  let data: OpenData | undefined
  let port: string
  let workerUrl: string
  /** Of the worker. */
  let shards: readonly number[]

  before(async () => {
    database = await newMigratedDatabase(citus())
    workerUrl = citus().workers[0]?.url(database.name) ?? ''
    ;({ port } = new URL(workerUrl))
    const found = await ask<{ shard: number }>(database.url, SHARDS_AT, port)
    shards = found.map(({ shard }) => shard)
  })
  afterEach(() => data?.close())

  const plansOf = async (statements: readonly (readonly [string, string])[], isOfLane: boolean) => {
    const worker = new pg.Client({ connectionString: workerUrl })
    await worker.connect()
    await worker.query('SET citus.explain_all_tasks = on')
    await worker.query('SET citus.enable_manual_changes_to_shards = on')
    const tables = isOfLane ? await ShardTables.find(worker, shards[0] ?? 0) : undefined
    const plans = new Map<string, unknown>()
    for (const [name, text] of statements) {
      plans.set(name, await planOf(worker, tables?.inShard(text) ?? text, shards))
    }
    await worker.end()
    return plans
  }
  const nodesOf = (plan: unknown) =>
    valuesOf(plan, 'Node').map((node) => /port=(\d+)/.exec(String(node))?.[1])

  it('is of tables of that worker alone', async () => {
    for (const [name, plan] of await plansOf(STATEMENTS, true)) {
      expect(valuesOf(plan, 'Custom Plan Provider'), name).to.deep.equal([])
      const tables = valuesOf(plan, 'Relation Name')
      if (name !== 'INSERT_ROW') expect(tables, name).not.to.deep.equal([])
      for (const table of tables) expect(table, name).to.match(/_\d+$/)
    }
  })

  it('is forwarded by that worker alone', async () => {
    const plans = await plansOf(FORWARDING, false)
    for (const [name, plan] of plans) expect(nodesOf(plan), name).to.satisfy(areAll(port))
    expect(valuesOf(plans.get('LEAVE_STREAMS'), 'Task Count')).to.deep.equal([shards.length])
  })

  it('is acknowledged while all other nodes are frozen, and stored once', async () => {
    const opened = await openProcess(database.url, PERMISSIVE)
    data = opened
    let userId: number
    do userId = await newUser(opened)
    while (!shards.includes(opened.committer.queueOf(userId)))
    const sent = EVENTS.map((event) => submission(userId, measurement(event)))
    const [first, ...others] = sent
    if (first === undefined) throw new Error('there is nothing to send')
    // Connects the lane, and registers the sensor, whose id the coordinator gives.
    expect(statuses(await accept(opened, first))).to.deep.equal(['created'])
    const frozen = [citus().coordinator, ...citus().workers.slice(1)]
    try {
      for (const node of frozen) node.freeze()
      for (const one of others) {
        const receipt = await within('it is acknowledged', accept(opened, one), ANSWER_MS_MAX)
        expect(statuses(receipt)).to.deep.equal(['created'])
      }
      for (const one of sent)
        expect(statuses(await accept(opened, one))).to.deep.equal(['duplicate'])
    } finally {
      for (const node of frozen) node.thaw()
    }
    const known = 'SELECT 1 FROM ledger WHERE user_id = $1'
    expect(await ask(database.url, known, userId)).to.have.lengthOf(sent.length)
    for (const one of sent) expect(statuses(await accept(opened, one))).to.deep.equal(['duplicate'])
  })
})

const areAll = (expected: unknown) => (found: readonly unknown[]) =>
  found.length > 0 && found.every((one) => one === expected)

/** All that a plan says under this name, at any depth. */
function valuesOf(plan: unknown, name: string): unknown[] {
  const found: unknown[] = []
  JSON.stringify(plan, (key, value: unknown) => {
    if (key === name) found.push(value)
    return value
  })
  return found
}

/** With empty arrays, and some value for all but the shard, or the shards. */
async function planOf(
  client: pg.Client,
  text: string,
  shards: readonly number[],
): Promise<unknown> {
  await client.query(`PREPARE planned AS ${text}`)
  const { rows } = await client.query<{ types: string[] }>(
    `SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'planned'`,
  )
  const [first = '', ...types] = rows[0]?.types ?? []
  const values = types.map((type) => (type.endsWith('[]') ? `'{}'` : (VALUES[type] ?? `'0'`)))
  const own = first.endsWith('[]') ? `'{${shards.join(',')}}'` : (shards[0] ?? 0)
  const order = `EXECUTE planned (${[own, ...values].join(', ')})`
  const explained = await client.query<{ 'QUERY PLAN': unknown }>(`EXPLAIN (FORMAT JSON) ${order}`)
  await client.query('DEALLOCATE planned')
  return explained.rows[0]?.['QUERY PLAN']
}
