// After a takeover, nothing that the server before may have given out is given out again: ids of
// sensors and users, numbers of rows, and the epoch, without which ETags and cursors mean nothing.
// If anything may be lost, the data also get a new id.

import { randomBytes, randomUUID } from 'node:crypto'
import type pg from 'pg'
import { idAfterRestore } from '../../domain/ids-after-restore.ts'
import type { Jump } from '../../domain/ids-after-restore.ts'
import { restoredTo } from '../../domain/restored-to.ts'
import { readRow, withConnection } from './connection.ts'
import { alignUsers } from './align-users.ts'
import {
  inTransaction,
  isLeftOpen,
  lockRecorded,
  lookAtServer,
  readStreams,
  recordAs,
  toRecord,
} from './recorded-server.ts'
import type { Look, Server } from './recorded-server.ts'
import { readShards } from './spread.ts'
import { recoverPrepared } from './workers.ts'
import { COORDINATOR, decidedOf } from './workers-text.ts'
import type { WorkersText } from './workers-text.ts'

/** Short, because the epoch is part of every ETag. */
const EPOCH_BYTES = 8
const ID_BYTES = 16

/**
 * The streams as found, and until when their owners may vouch for them: a connection that hangs is
 * given up only after twelve seconds.
 */
const NOTICE = `
  INSERT INTO takeovers (epoch, streams, complete_to_ms, undecided_until)
  VALUES ($1, $2, $3, statement_timestamp() + interval '15 seconds')
  ON CONFLICT (epoch) DO UPDATE SET streams = excluded.streams, vouched = '{}',
    complete_to_ms = excluded.complete_to_ms, undecided_until = excluded.undecided_until,
    is_decided = false`
/** In the shards $1. */
const NEWEST_ROW = `
  SELECT coalesce(
    (SELECT nullif(max(committed_at_ms), 0) FROM journal WHERE shard = ANY ($1::smallint[])),
    (SELECT max(last_seen_at_ms) FROM sensor_state WHERE shard = ANY ($1::smallint[])),
    0) AS "atMs"`
const DECIDE = 'UPDATE takeovers SET is_decided = true WHERE NOT is_decided'
const READ_WORKERS = 'SELECT workers FROM data_identity'
const RENEW_EPOCH = 'UPDATE data_identity SET epoch = $1, workers = $2'
const COMPLETE_TO = `
  SELECT i.restored_to_ms AS "previousMs", t.complete_to_ms AS "completeToMs"
  FROM data_identity AS i, takeovers AS t WHERE NOT t.is_decided`
const RENEW_ID = 'UPDATE data_identity SET id = $1, may_lack = false, restored_to_ms = $2'
/** In restored data, a used link may be unused again. */
const END_LINKS = 'DELETE FROM sign_in_links'
const READ_LAST_ID = 'SELECT coalesce(pg_sequence_last_value($1::regclass), 0) AS "lastId"'
const SET_LAST_ID = 'SELECT setval($1::regclass, $2)'

interface Sequence extends Jump {
  readonly name: string
}

/**
 * Users and sensors have four-byte ids: a million is more than a standby can lack. The ids of what
 * was set aside are left alone: only operators see them, and their use tells `verify` something.
 */
const SEQUENCES: readonly Sequence[] = [
  { name: 'users_id_seq', ids: 2 ** 20, randomIds: 2 ** 24 - 1 },
  { name: 'sensor_ids', ids: 2 ** 20, randomIds: 2 ** 24 - 1 },
  { name: 'access_tokens_id_seq', ids: 2 ** 32, randomIds: 2 ** 32 - 1 },
  { name: 'refused_id_seq', ids: 2 ** 32, randomIds: 2 ** 32 - 1 },
]

/**
 * Writes an empty row far ahead, so that forwarders pass the gap. Streams that no owner vouched for
 * are left, so that the next takeover does not wait for an owner that is gone.
 */
const READ_VOUCHED = 'SELECT vouched FROM takeovers WHERE NOT is_decided'
const MOVE_HEADS = `
  UPDATE streams SET head = head + 1099511627776, fence = fence + 1,
    lease_until = CASE WHEN stream_id = ANY ($1::int[]) THEN lease_until END`
const READ_LAST_MS = 'SELECT coalesce(max(committed_at_ms), 0) AS "atMs" FROM journal'
const MARK_GAPS = `
  INSERT INTO journal (shard, stream_id, seq, group_id, committed_at_ms, measurements)
  SELECT shard, stream_id, head, $1::uuid, $2::bigint, 0 FROM streams`

/** A forwarder may have a later fence than this copy, and rows that this copy never had. */
const END_LEASES = `
  UPDATE stream_forwarded SET fence = fence + 1048576, owner = NULL, lease_until = NULL`

interface CompleteTo {
  readonly previousMs: number | null
  readonly completeToMs: number
}

/** `promotion`: nothing is lacking; `restore`: something may be. */
export type Takeover = 'promotion' | 'restore'

/** Records the streams as found, before any of them advances: alike on all nodes. */
export async function noticeFound(
  client: pg.ClientBase,
  { server, recorded }: Look,
  completeToMs: number,
): Promise<void> {
  await client.query(NOTICE, [recorded.epoch, await readStreams(client, server), completeToMs])
}

/**
 * Up to when the data are complete if these nodes are other servers: each worker among them up to
 * its own newest row. Rows of the rest say nothing of what these lack.
 *
 * @param groups of the nodes
 */
export async function findCompleteToMs(
  client: pg.ClientBase,
  { workers }: Server,
  groups: readonly number[],
): Promise<number> {
  const others = workers.filter(({ group, shards }) => groups.includes(group) && shards.length > 0)
  const parts = others.length > 0 ? others : [{ shards: (await readShards(client)).numbers }]
  let completeToMs = Infinity
  for (const { shards } of parts) {
    const { rows } = await client.query<{ atMs: number }>(NEWEST_ROW, [shards])
    completeToMs = Math.min(completeToMs, rows[0]?.atMs ?? 0)
  }
  return completeToMs
}

/** Decides the takeover. */
export async function renew(client: pg.ClientBase, takeover: Takeover): Promise<void> {
  const isRestore = takeover === 'restore'
  if (isRestore) {
    const { previousMs, completeToMs } = await readRow<CompleteTo>(client, COMPLETE_TO)
    const restoredToMs = restoredTo(previousMs, completeToMs)
    await client.query(RENEW_ID, [randomBytes(ID_BYTES).toString('hex'), restoredToMs])
    await client.query(END_LINKS)
  }
  await moveHeads(client)
  await client.query(END_LEASES)
  await client.query(DECIDE)
  const { workers } = await readRow<{ workers: WorkersText }>(client, READ_WORKERS)
  const epoch = randomBytes(EPOCH_BYTES).toString('hex')
  await client.query(RENEW_EPOCH, [epoch, decidedOf(workers)])
  for (const { name, ids, randomIds } of SEQUENCES) {
    const { rows } = await client.query<{ lastId: number }>(READ_LAST_ID, [name])
    const jump = { ids, randomIds: isRestore ? randomIds : 0 }
    await client.query(SET_LAST_ID, [name, idAfterRestore([rows[0]?.lastId ?? 0], jump)])
  }
}

async function moveHeads(client: pg.ClientBase): Promise<void> {
  const { vouched } = await readRow<{ vouched: number[] }>(client, READ_VOUCHED)
  await client.query(MOVE_HEADS, [vouched])
  const { atMs } = await readRow<{ atMs: number }>(client, READ_LAST_MS)
  await client.query(MARK_GAPS, [randomUUID(), atMs])
}

/**
 * Declares the data a restored copy, for servers that do not show it: gives them a new identity,
 * and nothing given out since the copy is given out again.
 *
 * @throws MoveUnfinished: nothing has changed
 */
export async function declareRestored(databaseUrl: string): Promise<void> {
  await withConnection(databaseUrl, async (client) => {
    const before = await lookAtServer(client)
    if (isLeftOpen(before)) await recoverPrepared(client)
    await inTransaction(client, async () => {
      await lockRecorded(client)
      const look = await lookAtServer(client)
      // Any node may be the one.
      const all = [COORDINATOR, ...look.server.workers.map(({ group }) => group)]
      await alignUsers(client, look, all)
      if (!look.recorded.isUndecided) {
        await noticeFound(client, look, await findCompleteToMs(client, look.server, all))
      }
      await recordAs(client, toRecord(look, []), false)
      await renew(client, 'restore')
    })
  })
}
