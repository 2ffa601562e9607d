// The server recorded as having the data, to compare with the one that has them.

import type pg from 'pg'
import { connectAlone, MoveUnfinished, readRow } from './connection.ts'
import { READ_DURABILITY } from './durability.ts'
import type { Durability, DurabilityRow } from './durability.ts'
import { SERVER_TIME_MS } from './server-time.ts'
import type { FoundData, StreamsText } from './seen-streams.ts'
import {
  areRecorded,
  isOneOther,
  readWorkers,
  recordedWith,
  STREAMS_TEXT,
  workersText,
} from './workers.ts'
import type { Worker, WorkersText } from './workers.ts'

/** `$1`: the caller's epoch, or null. */
const readRecordedWith = (streams: string) => `
  SELECT i.id, i.epoch, i.restored_to_ms AS "restoredToMs", i.may_lack AS "mayLack", i.timeline,
    i.system_identifier AS "systemIdentifier", i.workers,
    to_regclass('moving') IS NOT NULL AS "isMoving",
    EXISTS (SELECT 1 FROM takeovers WHERE NOT is_decided) AS "isUndecided",
    CASE WHEN i.epoch = $1::text THEN ${streams}
      ELSE (SELECT streams FROM takeovers WHERE epoch = $1::text) END AS "streamsThen",
    ${SERVER_TIME_MS} AS "serverTimeMs"
  FROM data_identity AS i`
const STREAMS = `SELECT ${STREAMS_TEXT} AS streams FROM streams`
const READ_RECORDED = readRecordedWith(`(${STREAMS})`)
/** With the streams of the workers, which are asked one by one. */
const READ_RECORDED_WITH = readRecordedWith('$2')
const BEGIN = 'BEGIN; SET LOCAL synchronous_commit = local'
const LOCK = 'SELECT 1 FROM data_identity FOR UPDATE'
const READ_WORKERS = 'SELECT workers FROM data_identity'
const RECORD = `
  UPDATE data_identity
  SET timeline = $1, system_identifier = $2, workers = $3, may_lack = may_lack OR $4`

export interface Server extends Pick<DurabilityRow, 'timeline' | 'systemIdentifier'> {
  readonly workers: WorkersText
}

export interface RecordedServer extends Server, FoundData {
  readonly restoredToMs: number | null
  /** Whether another server may lack something that was acknowledged. */
  readonly mayLack: boolean
  /** Another server was noticed; what it lacks is not decided yet. */
  readonly isUndecided: boolean
  readonly serverTimeMs: number
}

export async function readServer(client: pg.ClientBase): Promise<Server> {
  const workers = workersText(await readWorkers(client))
  return { ...(await readRow<DurabilityRow>(client, READ_DURABILITY)), workers }
}

/** @param epoch the caller's @throws MoveUnfinished */
export async function readRecorded(client: pg.ClientBase, epoch?: string): Promise<RecordedServer> {
  type Row = Omit<RecordedServer, 'unknownShards'> & { readonly isMoving: boolean }
  const workers = await readWorkers(client)
  const [text, ...streams] =
    workers.length === 0 ? [READ_RECORDED] : [READ_RECORDED_WITH, streamsOf(workers)]
  const { rows } = await client.query<Row>(text, [epoch ?? null, ...streams])
  const [recorded] = rows
  if (recorded === undefined) throw new Error('BUG: the database has no identity')
  if (recorded.isMoving) throw new MoveUnfinished()
  return { ...recorded, unknownShards: shardsAway(workers) }
}

/** All streams, of workers that are there. */
export async function readStreams(client: pg.ClientBase): Promise<StreamsText> {
  const workers = await readWorkers(client)
  if (workers.length > 0) return streamsOf(workers)
  return (await readRow<{ streams: StreamsText }>(client, STREAMS)).streams
}

function streamsOf(workers: readonly Worker[]): StreamsText {
  return workers.flatMap(({ answer }) => answer?.streams ?? []).join(',')
}

function shardsAway(workers: readonly Worker[]): readonly number[] {
  return workers.flatMap(({ answer, shards }) => (answer === null ? shards : []))
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

/** Records the server that has the data. Of workers that are away, what is recorded stays. */
export async function recordServer(client: pg.ClientBase, durability: Durability): Promise<void> {
  await recordAs(client, await readServer(client), durability === 'local')
}

export async function recordAs(
  client: pg.ClientBase,
  { timeline, systemIdentifier, workers }: Server,
  mayLack: boolean,
): Promise<void> {
  const { workers: recorded } = await readRow<Pick<Server, 'workers'>>(client, READ_WORKERS)
  const all = recordedWith(workers, recorded)
  await client.query(RECORD, [timeline, systemIdentifier, all, mayLack])
}

export function isSameServer(recorded: Server, server: Server): boolean {
  return (
    recorded.timeline === server.timeline &&
    recorded.systemIdentifier === server.systemIdentifier &&
    areRecorded(server.workers, recorded.workers)
  )
}

/** Whether another server is recorded; before the first one, none is. */
export function isOtherServer(recorded: Server, server: Server): boolean {
  if (recorded.timeline === null) return false
  return (
    recorded.timeline !== server.timeline ||
    recorded.systemIdentifier !== server.systemIdentifier ||
    isOneOther(server.workers, recorded.workers)
  )
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
