// A restore: the data get a new identity, and nothing that the server before may have given out is
// given out again: ids of sensors, users and tokens, numbers of rows, and the epoch, without which
// ETags and cursors mean nothing. Daemons learn of it by the id, and send again what may be lost.

import { randomBytes, randomUUID } from 'node:crypto'
import type pg from 'pg'
import { idAfterRestore } from '../../domain/ids-after-restore.ts'
import type { Jump } from '../../domain/ids-after-restore.ts'
import { restoredTo } from '../../domain/restored-to.ts'
import { OtherData, readRow, withConnection } from './connection.ts'
import { isEarlier, isKnownServer, readData } from './recorded-server.ts'
import type { DataRow, KnownData } from './recorded-server.ts'
import { SERVER_TIME_MS } from './server-time.ts'

const ID_BYTES = 16
/** Short, because the epoch is part of every ETag. */
const EPOCH_TIME_DIGITS = 12
const EPOCH_RANDOM_BYTES = 3

const BEGIN = 'BEGIN; SET LOCAL synchronous_commit = local'
/** Other processes wait here, and then find it done. */
const LOCK = 'SELECT 1 FROM data_identity FOR UPDATE'
const RECORD = 'UPDATE data_identity SET timeline = $1, system_identifier = $2'
const RENEW = 'UPDATE data_identity SET id = $1, epoch = $2, restored_to_ms = $3'
/** A clock may have been ahead. */
const READ_TIMES = `
  SELECT ${SERVER_TIME_MS} AS "nowMs",
    (SELECT coalesce(least(max(at_ms), ${SERVER_TIME_MS}), 0) FROM beats) AS "lastBeatMs"`
const FORGET_BEATS = 'DELETE FROM beats'
/** In restored data, a used link may be unused again. */
const END_LINKS = 'DELETE FROM sign_in_links'

interface Sequence extends Jump {
  readonly name: string
}

/**
 * Users and sensors have four-byte ids: a million is more than a copy can lack. The ids of what was
 * set aside are left alone: only operators see them, and their use tells `verify` something.
 */
const SEQUENCES: readonly Sequence[] = [
  { name: 'users_id_seq', ids: 2 ** 20, randomIds: 2 ** 24 - 1 },
  { name: 'sensor_ids', ids: 2 ** 20, randomIds: 2 ** 24 - 1 },
  { name: 'access_tokens_id_seq', ids: 2 ** 32, randomIds: 2 ** 32 - 1 },
  { name: 'refused_id_seq', ids: 2 ** 32, randomIds: 2 ** 32 - 1 },
]
const READ_LAST_ID = 'SELECT coalesce(pg_sequence_last_value($1::regclass), 0) AS "lastId"'
const SET_LAST_ID = 'SELECT setval($1::regclass, $2)'

const MOVE_HEADS = `
  UPDATE streams SET head = head + 1099511627776, fence = fence + 1, lease_until = NULL`
/** An empty row far ahead, so that forwarders pass the gap. */
const MARK_GAPS = `
  INSERT INTO journal (stream_id, seq, group_id, committed_at_ms, measurements)
  SELECT stream_id, head, $1::uuid,
    coalesce((SELECT max(committed_at_ms) FROM journal), 0), 0 FROM streams`
/** A forwarder may have rows that this copy never had. */
const END_LEASES = `
  UPDATE stream_forwarded SET fence = DEFAULT, owner = NULL, lease_until = NULL`

const EARLIER =
  'it has the data of before a restore: stop it if it once was the primary, or run ' +
  '`thermolog database restored` if they were put back'

/**
 * Compares the server with the recorded one, and its data with what this process knows: before
 * anything else on every new connection.
 *
 * @returns whether this process found a restore @throws MoveUnfinished
 * @throws OtherData: not all yet, or those of before a restore, to which nobody goes back unasked
 */
export async function noticeRestore(client: pg.ClientBase, known: KnownData): Promise<boolean> {
  for (let isRestored = false; ;) {
    const { reached } = known
    const found = await readFit(client, known)
    if (isKnownServer(found, reached)) {
      known.note(found)
      return isRestored
    }
    isRestored = await inTransaction(client, () => decide(client, known))
  }
}

async function readFit(client: pg.ClientBase, { process, reached }: KnownData): Promise<DataRow> {
  const found = await readData(client, process)
  if (found.isRecorded && isEarlier(found, reached)) throw new OtherData(EARLIER)
  return found
}

async function decide(client: pg.ClientBase, known: KnownData): Promise<boolean> {
  await client.query(LOCK)
  const row = await readFit(client, known)
  const isRestore = !row.isUnrecorded && !isKnownServer(row, known.reached)
  if (row.isUnrecorded) await recordServer(client, row)
  else if (isRestore) await renew(client, row, known)
  return isRestore
}

/** Declares the data a restored copy, for servers that do not show it. @throws MoveUnfinished */
export async function declareRestored(databaseUrl: string): Promise<void> {
  await withConnection(databaseUrl, (client) =>
    inTransaction(client, async () => {
      await client.query(LOCK)
      await renew(client, await readData(client))
    }),
  )
}

/** Records the server as the one that has the data. */
export async function recordServer(
  client: pg.ClientBase,
  { timeline, systemIdentifier }: Pick<DataRow, 'timeline' | 'systemIdentifier'>,
): Promise<void> {
  await client.query(RECORD, [timeline, systemIdentifier])
}

async function renew(client: pg.ClientBase, row: DataRow, known?: KnownData): Promise<void> {
  type Times = { readonly nowMs: number; readonly lastBeatMs: number }
  const { nowMs, lastBeatMs } = await readRow<Times>(client, READ_TIMES)
  const id = randomBytes(ID_BYTES).toString('hex')
  const epoch = epochAfter([row.epoch, known?.reached?.epoch ?? ''], nowMs)
  await client.query(RENEW, [id, epoch, restoredTo(row.restoredToMs, lastBeatMs)])
  await recordServer(client, row)
  await client.query(FORGET_BEATS)
  await client.query(END_LINKS)
  await client.query(MOVE_HEADS)
  await client.query(MARK_GAPS, [randomUUID()])
  await client.query(END_LEASES)
  for (const { name, ...jump } of SEQUENCES) {
    const { lastId } = await readRow<{ lastId: number }>(client, READ_LAST_ID, [name])
    await client.query(SET_LAST_ID, [name, idAfterRestore([lastId], jump)])
  }
}

/** Begins with a time: so it is greater than those known, also when clocks were moved. */
function epochAfter(known: readonly string[], nowMs: number): string {
  const timesMs = known.map((one) => parseInt(`0${one.slice(0, EPOCH_TIME_DIGITS)}`, 16) + 1)
  const time = Math.max(nowMs, ...timesMs).toString(16)
  return time.padStart(EPOCH_TIME_DIGITS, '0') + randomBytes(EPOCH_RANDOM_BYTES).toString('hex')
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
