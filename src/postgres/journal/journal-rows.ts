// Reading rows of the journal as batches for the measurement store.

import type { JournalBatch, JournalPlace } from '../../ports/journal-queue.ts'
import type { MeasurementColumns, SensorInfo } from '../../ports/measurement-store.ts'
import type { Sql } from '../database.ts'
import { columnsOver, decodeEntries, ENTRY_BYTES } from '../journal-entries.ts'
import * as sql from './journal-statements.ts'

/** A batch with the fence of the lease under which it was read. */
export interface LeasedBatch extends JournalBatch {
  readonly place: JournalPlace & { readonly fence: number }
}

/** Rows after `seq`, up to `throughSeq`. */
interface RowRange {
  readonly stream: number
  readonly seq: number
  readonly throughSeq: number
}

interface Row {
  readonly seq: number
  readonly sensorInfos: string | null
  readonly entries: Buffer | null
}

/**
 * At least one row and, unless the first alone has more, at most `measurementsMax` measurements.
 *
 * @returns `undefined` if there are none
 */
export async function readBatch(
  database: Sql,
  { stream, seq, throughSeq }: RowRange,
  measurementsMax: number,
): Promise<(JournalBatch & { readonly rows: number }) | undefined> {
  const values = [stream, seq, throughSeq, measurementsMax]
  const rows = await database.rows<Row>(sql.READ_ROWS, values)
  const last = rows.at(-1)
  if (last === undefined) return undefined
  return {
    place: { stream, seq: last.seq },
    measurements: decodeEntries(rows.flatMap(({ entries }) => entries ?? [])),
    sensorInfos: rows.flatMap(({ sensorInfos }) => parseInfos(sensorInfos)),
    rows: rows.length,
  }
}

/** The batch without what belongs to deleted sensors: that must not be written again. */
export async function withoutDeleted(database: Sql, batch: JournalBatch): Promise<JournalBatch> {
  const { measurements, sensorInfos, place } = batch
  const ids = new Set(measurements.sensorId)
  for (const { sensorId } of sensorInfos) ids.add(sensorId)
  const rows = await database.rows<{ id: number }>(sql.DELETED_AMONG, [[...ids]])
  if (rows.length === 0) return batch
  const deleted = new Set(rows.map(({ id }) => id))
  return {
    place,
    measurements: keep(measurements, (sensorId) => !deleted.has(sensorId)),
    sensorInfos: sensorInfos.filter(({ sensorId }) => !deleted.has(sensorId)),
  }
}

function keep(
  columns: MeasurementColumns,
  isKept: (sensorId: number) => boolean,
): MeasurementColumns {
  const kept = [...columns.sensorId.keys()].filter((at) => isKept(columns.sensorId[at] ?? 0))
  const target = columnsOver(new ArrayBuffer(kept.length * ENTRY_BYTES), 0, kept.length)
  kept.forEach((from, to) => {
    target.measuredAtMs[to] = columns.measuredAtMs[from] ?? 0
    target.tempCelsius[to] = columns.tempCelsius[from] ?? 0
    target.sensorId[to] = columns.sensorId[from] ?? 0
    target.userId[to] = columns.userId[from] ?? 0
    target.tieBreakNs[to] = columns.tieBreakNs[from] ?? 0
  })
  return target
}

function parseInfos(text: string | null): SensorInfo[] {
  return text === null ? [] : (JSON.parse(text) as SensorInfo[])
}
