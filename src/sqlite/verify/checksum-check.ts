// Whether what stands beside the blocks of the ledger is what was written: filters and time spans.
// A bit too many in a filter changes no answer, but tells that the disk cannot be trusted.

import { RESTORE_BACKUP } from '../../domain/finding.ts'
import type { Report } from '../../domain/finding.ts'
import { checksumOf } from '../damaged-data.ts'
import { LEDGER_FILE } from '../database.ts'
import type { Connection } from '../database.ts'
import { decodeSpans } from '../ledger/sealed-times.ts'

const FILTERS = ['cohort_segments', 'fine_filters']
const SPANS = 'SELECT sensor_id AS sensorId, spans FROM time_spans'

/** Rows that are named of each table. */
const NAMED_MAX = 10

export function checkChecksums(ledger: Connection, report: Report): void {
  for (const table of FILTERS) {
    const rows = ledger.prepare<[], { id: number; checksum: number; filter: Buffer }>(
      `SELECT id, checksum, filter FROM ${table}`,
    )
    const damaged: number[] = []
    for (const { id, checksum, filter } of rows.iterate()) {
      if (checksumOf(id, filter) !== checksum) damaged.push(id)
    }
    reportDamaged(table, damaged, report)
  }
  const damaged: number[] = []
  const spans = ledger.prepare<[], { sensorId: number; spans: Buffer }>(SPANS)
  for (const row of spans.iterate()) {
    if (decodeSpans(row.sensorId, row.spans) === undefined) damaged.push(row.sensorId)
  }
  reportDamaged('time_spans', damaged, report)
}

function reportDamaged(table: string, damaged: readonly number[], report: Report): void {
  for (const id of damaged.slice(0, NAMED_MAX)) {
    const problem = `row ${id} of ${table} is damaged`
    report({ check: 'ledger', where: LEDGER_FILE, problem, remedy: RESTORE_BACKUP })
  }
}
