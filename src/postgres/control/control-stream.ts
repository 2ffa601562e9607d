// The first stream of a shard: changes of its sensors other than submissions write their rows of
// the journal there. It is locked first, before users and sensors, as a group locks its own stream.

import { randomUUID } from 'node:crypto'
import { shardOfStream } from '../../domain/shard.ts'
import type { UserShard } from '../../domain/shard.ts'
import type { JournalPlace } from '../../ports/journal-queue.ts'
import type { Sql } from '../server/database.ts'
import { SERVER_TIME_MS } from '../server/server-time.ts'
import { numberInShard } from '../server/spread.ts'

const LOCK = `
  SELECT stream_id AS stream, head + 1 AS seq FROM streams
  WHERE shard = $1 AND ${numberInShard('stream_id')} = 0 FOR UPDATE`
const INSERT = `
  INSERT INTO journal
    (shard, stream_id, seq, group_id, committed_at_ms, measurements, sensor_infos, entries)
  VALUES ($1, $2, $3, $4, ${SERVER_TIME_MS}, $5, NULL, $6)`
const INSERT_INFO = `
  INSERT INTO journal
    (shard, stream_id, seq, group_id, committed_at_ms, measurements, sensor_infos)
  SELECT shard, $2::int, $3::bigint, $4::uuid, ${SERVER_TIME_MS}, 0,
    json_build_array(json_build_object('userId', user_id, 'sensorId', id, 'atMs', info_at_ms,
      'serialNumber', serial_number, 'alias', alias,
      'compensationCelsius', compensation_celsius))::text
  FROM sensors WHERE shard = $1 AND id = $5`
const ADVANCE = 'UPDATE streams SET head = $3 WHERE shard = $1 AND stream_id = $2'

/** Locks the stream until the transaction ends. @returns the place of its next row */
export async function lockControlStream(
  sql: Sql,
  shard: UserShard | number,
): Promise<JournalPlace> {
  const [place] = await sql.rows<JournalPlace>(LOCK, [shard])
  if (place === undefined) throw new Error('BUG: a shard has no stream')
  return place
}

/** Journals a sensor's name and compensation for the measurement store. */
export async function journalInfo(
  sql: Sql,
  { stream, seq }: JournalPlace,
  sensorId: number,
): Promise<void> {
  const place = [shardOfStream(stream), stream, seq]
  await sql.change(INSERT_INFO, [...place, randomUUID(), sensorId])
  await sql.change(ADVANCE, place)
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
