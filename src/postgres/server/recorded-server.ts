// The server recorded as having the data, to compare with the one that has them.

import type pg from 'pg'
import { MoveUnfinished, readRow, withConnection } from './connection.ts'
import { READ_DURABILITY } from './durability.ts'
import type { Durability, DurabilityRow } from './durability.ts'
import { SERVER_TIME_MS } from './server-time.ts'
import type { FoundData, StreamsText } from './seen-streams.ts'
import { havePrepared, readWorkers, serversOf, STREAMS_TEXT } from './workers.ts'
import type { Worker } from './workers.ts'
import { COORDINATOR, noticedIn, recordedWith, serverIn } from './workers-text.ts'
import type { WorkersText } from './workers-text.ts'

/** Without the tables: Citus may have another node read these. */
const READ_SERVER = `
  SELECT s.*, to_regclass('pg_dist_node') IS NOT NULL AS "hasCitus" FROM (${READ_DURABILITY}) AS s`
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

type ServerName = Pick<DurabilityRow, 'timeline' | 'systemIdentifier'>

export interface Server extends ServerName {
  readonly workers: readonly Worker[]
}

export interface RecordedServer extends ServerName, FoundData {
  readonly workers: WorkersText
  readonly restoredToMs: number | null
  /** Whether another server may lack something that was acknowledged. */
  readonly mayLack: boolean
  /** Another server was noticed; what it lacks is not decided yet. */
  readonly isUndecided: boolean
  readonly serverTimeMs: number
}

/** The server that has the data, and the recorded one. */
export interface Look {
  readonly server: Server
  readonly recorded: RecordedServer
}

async function readServer(client: pg.ClientBase): Promise<Server> {
  type Row = DurabilityRow & { readonly hasCitus: boolean }
  const { hasCitus, ...row } = await readRow<Row>(client, READ_SERVER)
  return { ...row, workers: hasCitus ? await readWorkers(client) : [] }
}

/** @param epoch the caller's @throws MoveUnfinished */
export async function lookAtServer(client: pg.ClientBase, epoch?: string): Promise<Look> {
  type Row = Omit<RecordedServer, 'unknownShards'> & { readonly isMoving: boolean }
  const server = await readServer(client)
  const { workers } = server
  // The streams before the epoch: those that a decision has moved are not of the epoch before it.
  const [text, ...streams] =
    workers.length === 0 ? [READ_RECORDED] : [READ_RECORDED_WITH, streamsOf(workers)]
  const { rows } = await client.query<Row>(text, [epoch ?? null, ...streams])
  const [recorded] = rows
  if (recorded === undefined) throw new Error('BUG: the database has no identity')
  if (recorded.isMoving) throw new MoveUnfinished()
  return { server, recorded: { ...recorded, unknownShards: shardsAway(workers) } }
}

/** All streams, of workers that are there. */
export async function readStreams(
  client: pg.ClientBase,
  { workers }: Server,
): Promise<StreamsText> {
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
  const { workers } = await readRow<Pick<RecordedServer, 'workers'>>(client, READ_WORKERS)
  const server = await readServer(client)
  const found = { ...server, workers: recordedWith(workers, serversOf(server.workers), []) }
  await recordAs(client, found, durability === 'local')
}

/** What is to be recorded of a server, some of whose nodes were not noticed before. */
export function toRecord({ server, recorded }: Look, others: readonly number[]): RecordOf {
  const { timeline, systemIdentifier, workers } = server
  // Without Citus there is only one that can be another.
  const noticed = workers.length === 0 ? [] : others
  const all = recordedWith(recorded.workers, serversOf(workers), noticed)
  return { timeline, systemIdentifier, workers: all }
}

type RecordOf = ServerName & Pick<RecordedServer, 'workers'>

export async function recordAs(
  client: pg.ClientBase,
  { timeline, systemIdentifier, workers }: RecordOf,
  mayLack: boolean,
): Promise<void> {
  await client.query(RECORD, [timeline, systemIdentifier, workers, mayLack])
}

/** Whether no node is another server than the recorded one, and nothing has to be decided. */
export function isSameServer(look: Look): boolean {
  const { timeline, isUndecided } = look.recorded
  return timeline !== null && !isUndecided && othersIn(look).length === 0
}

/** Whether, besides, every worker that answers is recorded. */
export function isSettled(look: Look): boolean {
  const areAllRecorded = look.server.workers.every(({ group, answer }) => {
    return answer === null || serverIn(look.recorded.workers, group) === answer.server
  })
  return areAllRecorded && isSameServer(look)
}

/**
 * The nodes that are other servers than those recorded, by the numbers of Citus; before the first
 * record, none. A worker is compared with its own copy of the record, which is as old as its data:
 * by the coordinator's, two restores of one backup look the same.
 */
export function othersIn({ server, recorded }: Look): readonly number[] {
  if (recorded.timeline === null) return []
  const isSame =
    recorded.timeline === server.timeline && recorded.systemIdentifier === server.systemIdentifier
  const noticed = noticedIn(recorded.workers)
  const isBelieved = isSame && !noticed.includes(COORDINATOR)
  const workers = server.workers.flatMap((worker) => {
    const { group } = worker
    const mayDiffer = !isBelieved || noticed.includes(group)
    return isOther(worker) || (!mayDiffer && differs(worker, recorded)) ? [group] : []
  })
  return isSame ? workers : [COORDINATOR, ...workers]
}

function isOther({ group, answer }: Worker): boolean {
  if (answer === null) return false
  return (serverIn(answer.recorded ?? '', group) ?? answer.server) !== answer.server
}

/** Whether a worker or its copy of the record differs from the coordinator's. */
function differs({ group, answer }: Worker, { epoch, workers }: RecordedServer): boolean {
  if (answer === null) return false
  const recorded = serverIn(workers, group)
  if (answer.epoch !== epoch || serverIn(answer.recorded ?? '', group) !== recorded) return true
  return (recorded ?? answer.server) !== answer.server
}

/** Whether copies of the record are of different ages: then a node lacks a takeover. */
export function isEpochDisputed({ server: { workers }, recorded: { epoch } }: Look): boolean {
  return workers.some(({ answer }) => answer !== null && answer.epoch !== epoch)
}

/** Whether transactions over nodes were left that are neither done nor undone. */
export function isLeftOpen({ server: { workers } }: Look): boolean {
  return havePrepared(workers)
}

/** @throws MoveUnfinished */
export async function refuseUnfinishedMove(databaseUrl: string): Promise<void> {
  await withConnection(databaseUrl, (client) => lookAtServer(client))
}
