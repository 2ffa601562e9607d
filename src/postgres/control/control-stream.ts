// Stream 0: changes of sensors other than submissions write their rows of the journal there. It is
// locked first, before users and sensors, as a group locks its own stream.

import { randomUUID } from 'node:crypto'
import type { Sql } from '../server/database.ts'
import { SERVER_TIME_MS } from '../server/server-time.ts'

const LOCK = `
  SELECT head FROM streams WHERE shard = 0 AND stream_id = 0 FOR UPDATE`
const INSERT = `
  INSERT INTO journal
    (shard, stream_id, seq, group_id, committed_at_ms, measurements, sensor_infos, entries)
  VALUES (0, 0, $1, $2, ${SERVER_TIME_MS}, $3, NULL, $4)`
const INSERT_INFO = `
  INSERT INTO journal
    (shard, stream_id, seq, group_id, committed_at_ms, measurements, sensor_infos)
  SELECT 0, 0, $1, $2, ${SERVER_TIME_MS}, 0, json_build_array(json_build_object(
    'userId', user_id, 'sensorId', id, 'atMs', info_at_ms, 'serialNumber', serial_number,
    'alias', alias, 'compensationCelsius', compensation_celsius))::text
  FROM sensors WHERE shard = $3 AND id = $4`
const ADVANCE = 'UPDATE streams SET head = $1 WHERE shard = 0 AND stream_id = 0'

/** Locks the stream until the transaction ends. @returns the seq of its next row */
export async function lockControlStream(sql: Sql): Promise<number> {
  const [row] = await sql.rows<{ head: number }>(LOCK)
  if (row === undefined) throw new Error('BUG: there is no stream 0')
  return row.head + 1
}

/** Journals a sensor's name and compensation for the measurement store. */
export async function journalInfo(
  sql: Sql,
  seq: number,
  of: { readonly shard: number; readonly sensorId: number },
): Promise<void> {
  await sql.change(INSERT_INFO, [seq, randomUUID(), of.shard, of.sensorId])
  await sql.change(ADVANCE, [seq])
}

/** Journals measurements that are to be forwarded again. */
export async function journalEntries(
  sql: Sql,
  seq: number,
  { count, entries }: { readonly count: number; readonly entries: Buffer },
): Promise<void> {
  await sql.change(INSERT, [seq, randomUUID(), count, entries])
  await sql.change(ADVANCE, [seq])
}
