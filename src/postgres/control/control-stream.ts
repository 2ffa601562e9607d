// The first stream of a shard: its rows have what was set aside and is to be forwarded again. It is
// locked first, before sensors, as a group locks its own stream.

import { randomUUID } from 'node:crypto'
import { shardOfStream } from '../../domain/shard.ts'
import type { JournalPlace } from '../../ports/journal-queue.ts'
import type { Sql } from '../server/database.ts'
import { SERVER_TIME_MS } from '../server/server-time.ts'
import { numberInShard } from '../server/spread.ts'

const LOCK = `
  SELECT stream_id AS stream, head + 1 AS seq FROM streams
  WHERE shard = $1 AND ${numberInShard('stream_id')} = 0 FOR UPDATE`
const INSERT = `
  INSERT INTO journal
    (shard, stream_id, seq, group_id, committed_at_ms, measurements, entries)
  VALUES ($1, $2, $3, $4, ${SERVER_TIME_MS}, $5, $6)`
const ADVANCE = 'UPDATE streams SET head = $3 WHERE shard = $1 AND stream_id = $2'

/** Locks the stream until the transaction ends. @returns the place of its next row */
export async function lockControlStream(sql: Sql, shard: number): Promise<JournalPlace> {
  const [place] = await sql.rows<JournalPlace>(LOCK, [shard])
  if (place === undefined) throw new Error('BUG: a shard has no stream')
  return place
}

/** Journals measurements that are to be forwarded again. */
export async function journalEntries(
  sql: Sql,
  { stream, seq }: JournalPlace,
  { count, entries }: { readonly count: number; readonly entries: Buffer },
): Promise<void> {
  const place = [shardOfStream(stream), stream, seq]
  await sql.change(INSERT, [...place, randomUUID(), count, entries])
  await sql.change(ADVANCE, place)
}
