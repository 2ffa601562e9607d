// The first stream: its rows have what was set aside and is to be forwarded again. It is locked
// first, before sensors, as a group locks its own stream.

import { randomUUID } from 'node:crypto'
import type { JournalPlace } from '../../ports/journal-queue.ts'
import type { Sql } from '../server/database.ts'
import { SERVER_TIME_MS } from '../server/server-time.ts'

const LOCK = `
  SELECT stream_id AS stream, head + 1 AS seq FROM streams WHERE stream_id = 0 FOR UPDATE`
const INSERT = `
  INSERT INTO journal
    (stream_id, seq, group_id, committed_at_ms, measurements, entries)
  VALUES ($1, $2, $3, ${SERVER_TIME_MS}, $4, $5)`
const ADVANCE = 'UPDATE streams SET head = $2 WHERE stream_id = $1'

/** Locks the stream until the transaction ends. @returns the place of its next row */
export async function lockControlStream(sql: Sql): Promise<JournalPlace> {
  const [place] = await sql.rows<JournalPlace>(LOCK)
  if (place === undefined) throw new Error('BUG: the first stream is missing')
  return place
}

/** Journals measurements that are to be forwarded again. */
export async function journalEntries(
  sql: Sql,
  { stream, seq }: JournalPlace,
  { count, entries }: { readonly count: number; readonly entries: Buffer },
): Promise<void> {
  const place = [stream, seq]
  await sql.change(INSERT, [...place, randomUUID(), count, entries])
  await sql.change(ADVANCE, place)
}
