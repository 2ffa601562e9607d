// Reads rows of the journal as batches for the measurement store.

import { ColumnsGatherer, decodeEntries } from '../../domain/measurement-columns.ts'
import type { JournalBatch, JournalPlace } from '../../ports/journal-queue.ts'
import type { Sql } from '../server/database.ts'
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
  readonly entries: Buffer | null
}

/**
 * Reads at least one row and, unless the first alone has more, at most `measurementsMax`
 * measurements.
 *
 * @returns `undefined` if there are none
 */
export async function readBatch(
  database: Sql,
  { stream, seq, throughSeq }: RowRange,
  measurementsMax: number,
): Promise<JournalBatch | undefined> {
  const values = [stream, seq, throughSeq, measurementsMax]
  const rows = await database.rows<Row>(sql.READ_ROWS, values)
  const last = rows.at(-1)
  if (last === undefined) return undefined
  const parts = rows.flatMap(({ entries }) => (entries === null ? [] : decodeEntries(entries)))
  return {
    place: { stream, seq: last.seq },
    measurements: new ColumnsGatherer().gather(parts),
    sensorInfos: [],
  }
}
