// The server recorded as having the data, to compare with the one that has them.

import type pg from 'pg'
import { connectAlone, MoveUnfinished, readRow } from './connection.ts'
import { READ_DURABILITY } from './durability.ts'
import type { Durability, DurabilityRow } from './durability.ts'
import { SERVER_TIME_MS } from './server-time.ts'
import type { FoundData } from './seen-streams.ts'

/** A `StreamsText`. */
export const STREAMS = `
  (SELECT string_agg(concat_ws(':', stream_id, head, fence), ',' ORDER BY stream_id)
    FROM streams WHERE shard = 0)`

/** `$1`: the caller's epoch, or null. */
export const READ_RECORDED = `
  SELECT i.id, i.epoch, i.restored_to_ms AS "restoredToMs", i.may_lack AS "mayLack", i.timeline,
    i.system_identifier AS "systemIdentifier", to_regclass('moving') IS NOT NULL AS "isMoving",
    EXISTS (SELECT 1 FROM takeovers WHERE NOT is_decided) AS "isUndecided",
    CASE WHEN i.epoch = $1::text THEN ${STREAMS}
      ELSE (SELECT streams FROM takeovers WHERE epoch = $1::text) END AS "streamsThen",
    ${SERVER_TIME_MS} AS "serverTimeMs"
  FROM data_identity AS i`
const BEGIN = 'BEGIN; SET LOCAL synchronous_commit = local'
const LOCK = 'SELECT 1 FROM data_identity FOR UPDATE'
const RECORD = `
  UPDATE data_identity
  SET timeline = $1, system_identifier = $2, may_lack = may_lack OR $3`

export type Server = Pick<DurabilityRow, 'timeline' | 'systemIdentifier'>

export interface RecordedServer extends Server, FoundData {
  readonly restoredToMs: number | null
  /** Whether another server may lack something that was acknowledged. */
  readonly mayLack: boolean
  /** Another server was noticed; what it lacks is not decided yet. */
  readonly isUndecided: boolean
  readonly serverTimeMs: number
}

export async function readServer(client: pg.ClientBase): Promise<Server> {
  return readRow<Server>(client, READ_DURABILITY)
}

/** @param epoch the caller's @throws MoveUnfinished */
export async function readRecorded(client: pg.ClientBase, epoch?: string): Promise<RecordedServer> {
  type Row = RecordedServer & { readonly isMoving: boolean }
  const { rows } = await client.query<Row>(READ_RECORDED, [epoch ?? null])
  const [recorded] = rows
  if (recorded === undefined) throw new Error('BUG: the database has no identity')
  if (recorded.isMoving) throw new MoveUnfinished()
  return recorded
}

/** Does not wait for a standby: nothing is acknowledged here, and later commits wait for both. */
export async function inTransaction<Result>(
  client: pg.ClientBase,
  work: () => Promise<Result>,
): Promise<Result> {
  await client.query(BEGIN)
  const result = await work()
  await client.query('COMMIT')
  return result
}

/** Keeps other processes from deciding until the transaction ends. */
export async function lockRecorded(client: pg.ClientBase): Promise<void> {
  await client.query(LOCK)
}

/** Records the server that has the data. */
export async function recordServer(client: pg.ClientBase, durability: Durability): Promise<void> {
  await recordAs(client, await readServer(client), durability === 'local')
}

export async function recordAs(
  client: pg.ClientBase,
  { timeline, systemIdentifier }: Server,
  mayLack: boolean,
): Promise<void> {
  await client.query(RECORD, [timeline, systemIdentifier, mayLack])
}

export function isSameServer(recorded: Server, server: Server): boolean {
  return (
    recorded.timeline === server.timeline && recorded.systemIdentifier === server.systemIdentifier
  )
}

/** Whether another server is recorded; before the first one, none is. */
export function isOtherServer(recorded: Server, server: Server): boolean {
  return recorded.timeline !== null && !isSameServer(recorded, server)
}

/** @throws MoveUnfinished */
export async function refuseUnfinishedMove(databaseUrl: string): Promise<void> {
  const client = await connectAlone(databaseUrl, false)
  try {
    await readRecorded(client)
  } finally {
    await client.end()
  }
}
