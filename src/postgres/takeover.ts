// Noticing that another server has the data: a restored backup, or a promoted standby. Either may
// lack what the one before had, so nothing that it had given out is given again: ids of sensors and
// users, numbers of rows, and the epoch, without which ETags and cursors mean nothing.

import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { idAfterRestore, NO_IDS } from '../domain/ids-after-restore.ts'
import type { HighestIds, Jump } from '../domain/ids-after-restore.ts'
import { connectAlone, MoveUnfinished, readRow } from './connection.ts'
import { READ_DURABILITY } from './durability.ts'
import type { Durability, DurabilityRow } from './durability.ts'

const READ_IDENTITY = `
  SELECT timeline, system_identifier AS "systemIdentifier", is_local AS "isLocal",
    to_regclass('moving') IS NOT NULL AS "isMoving"
  FROM data_identity`

/** In bytes: the epoch is part of every ETag. */
const EPOCH_BYTES = 8
const ID_BYTES = 16

const RECORD = `
  UPDATE data_identity SET timeline = $1, system_identifier = $2, is_local = is_local OR $3`
const RENEW_EPOCH = 'UPDATE data_identity SET epoch = $1'
const RENEW_ID = `
  UPDATE data_identity SET id = $1, is_local = false,
    restored_to_ms = coalesce((SELECT max(committed_at_ms) FROM journal),
      (SELECT max(last_seen_at_ms) FROM sensor_state), 0)`
/** A link that was used may be unused in what was restored. */
const END_LINKS = 'DELETE FROM sign_in_links'
const READ_STORE = 'SELECT (SELECT name FROM measurement_store) AS name'
const READ_LAST_ID = 'SELECT coalesce(pg_sequence_last_value($1::regclass), 0) AS "lastId"'
const SET_LAST_ID = 'SELECT setval($1::regclass, $2)'

interface Sequence extends Jump {
  readonly name: string
  readonly inStore?: keyof HighestIds
}

/**
 * Users and sensors have four-byte ids: a million is more than a standby can lack. That anything
 * was ever set aside says something to `verify`, and its ids are seen by operators alone.
 */
const SEQUENCES: readonly Sequence[] = [
  { name: 'users_id_seq', inStore: 'userId', ids: 2 ** 20, randomIds: 2 ** 24 - 1 },
  { name: 'sensor_ids', inStore: 'sensorId', ids: 2 ** 20, randomIds: 2 ** 24 - 1 },
  { name: 'access_tokens_id_seq', ids: 2 ** 32, randomIds: 2 ** 32 - 1 },
  { name: 'refused_id_seq', ids: 2 ** 32, randomIds: 2 ** 32 - 1 },
]

/** Rows far ahead, with nothing in them: forwarders pass the gap. */
const MOVE_HEADS = `
  WITH moved AS (
    UPDATE streams SET head = head + 1099511627776, fence = fence + 1
    RETURNING bucket, stream_id, head
  )
  INSERT INTO journal (bucket, stream_id, seq, group_id, committed_at_ms, measurements)
  SELECT bucket, stream_id, head, gen_random_uuid(),
    coalesce((SELECT max(committed_at_ms) FROM journal), 0), 0
  FROM moved`

/** A forwarder may have a fence that this copy has yet to give out, and rows that it never had. */
const END_LEASES = `
  UPDATE stream_forwarded SET fence = fence + 1048576, owner = NULL, lease_until = NULL`

type Server = Pick<DurabilityRow, 'timeline' | 'systemIdentifier'>

interface Identity extends Server {
  readonly isLocal: boolean
  /** A data directory is being moved in. */
  readonly isMoving: boolean
}

/**
 * Says which ids are taken in the measurement store of this name, which may be apart from the
 * database; `undefined`: none is used yet.
 */
export type FindIdsInStore = (storeName: string | undefined) => Promise<HighestIds>

/**
 * Compares the server with the one that is recorded; to be done on every new connection, before
 * anything is read or written.
 *
 * @returns whether another server has taken over, and this is the first to notice
 * @throws MoveUnfinished, and whatever `findIdsInStore` throws: nothing has changed
 */
export async function noticeTakeover(
  client: pg.ClientBase,
  durability: Durability,
  findIdsInStore: FindIdsInStore,
): Promise<boolean> {
  const server = await readRow<Server>(client, READ_DURABILITY)
  const isLocal = durability === 'local'
  const known = await readRow<Identity>(client, READ_IDENTITY)
  if (known.isMoving) throw new MoveUnfinished()
  if (isSameServer(known, server) && (known.isLocal || !isLocal)) return false
  const mayLack = isOtherServer(known, server) && known.isLocal
  const idsInStore = mayLack ? await askStore(client, findIdsInStore) : NO_IDS
  await client.query('BEGIN')
  const locked = await readRow<Identity>(client, `${READ_IDENTITY} FOR UPDATE`)
  const isTakenOver = isOtherServer(locked, server)
  if (isTakenOver) await renew(client, locked.isLocal, idsInStore)
  await client.query(RECORD, [server.timeline, server.systemIdentifier, isLocal])
  await client.query('COMMIT')
  return isTakenOver
}

/**
 * Takes the data for a restored copy, where no server tells that they are: they get a new identity,
 * and nothing that was given out since the copy is given again.
 *
 * @throws MoveUnfinished, and whatever `findIdsInStore` throws: nothing has changed
 */
export async function declareRestored(
  databaseUrl: string,
  findIdsInStore: FindIdsInStore,
): Promise<void> {
  const client = await connectAlone(databaseUrl, false)
  try {
    const idsInStore = await askStore(client, findIdsInStore)
    await client.query('BEGIN')
    const { isMoving } = await readRow<Identity>(client, `${READ_IDENTITY} FOR UPDATE`)
    if (isMoving) throw new MoveUnfinished()
    await renew(client, true, idsInStore)
    await client.query('COMMIT')
  } finally {
    await client.end()
  }
}

/** Records the server that data have been moved to. */
export async function recordServer(client: pg.ClientBase, durability: Durability): Promise<void> {
  const server = await readRow<Server>(client, READ_DURABILITY)
  const values = [server.timeline, server.systemIdentifier, durability === 'local']
  await client.query(RECORD, values)
}

/** @throws MoveUnfinished */
export async function refuseUnfinishedMove(databaseUrl: string): Promise<void> {
  const client = await connectAlone(databaseUrl, false)
  try {
    if ((await readRow<Identity>(client, READ_IDENTITY)).isMoving) throw new MoveUnfinished()
  } finally {
    await client.end()
  }
}

function isSameServer(known: Identity, server: Server): boolean {
  return known.timeline === server.timeline && known.systemIdentifier === server.systemIdentifier
}

/** None is recorded before the first one. */
function isOtherServer(known: Identity, server: Server): boolean {
  return known.timeline !== null && !isSameServer(known, server)
}

/** Outside of a transaction: it takes as long as the store does. */
async function askStore(
  client: pg.ClientBase,
  findIdsInStore: FindIdsInStore,
): Promise<HighestIds> {
  const { name } = await readRow<{ name: string | null }>(client, READ_STORE)
  return findIdsInStore(name ?? undefined)
}

/** @param isOther whether anything that was acknowledged may be missing */
async function renew(
  client: pg.ClientBase,
  isOther: boolean,
  idsInStore: HighestIds,
): Promise<void> {
  await client.query(RENEW_EPOCH, [randomBytes(EPOCH_BYTES).toString('hex')])
  if (isOther) {
    await client.query(RENEW_ID, [randomBytes(ID_BYTES).toString('hex')])
    await client.query(END_LINKS)
  }
  for (const { name, inStore, ids, randomIds } of SEQUENCES) {
    const { rows } = await client.query<{ lastId: number }>(READ_LAST_ID, [name])
    const known = [rows[0]?.lastId ?? 0, inStore === undefined ? 0 : idsInStore[inStore]]
    const jump = { ids, randomIds: isOther ? randomIds : 0 }
    await client.query(SET_LAST_ID, [name, idAfterRestore(known, jump)])
  }
  await client.query(MOVE_HEADS)
  await client.query(END_LEASES)
}
