// Checks that the files of a copy of DATA_DIR are whole, individually and together, and counts what
// is in them. Reads every page; changes nothing.

import {
  CONTROL_FILE,
  LEDGER_FILE,
  MEASUREMENTS_FILE,
  openForReading,
  unlessOtherTables,
} from '../database.ts'
import type { Connection } from '../database.ts'
import { readEventSecret, refuseOtherLedger } from '../event-key.ts'
import { isOfOlderVersion, refuseUnknownVersion } from './file-formats.ts'

/** Numbers by name. */
export type FileCounts = Readonly<Record<string, number>>

const SEQUENCE = (table: string) =>
  `SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = '${table}'), 0)`

/** What is counted in each file, and how. */
const COUNTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [CONTROL_FILE]: {
    users: 'SELECT count(*) FROM users',
    access_tokens: 'SELECT count(*) FROM access_tokens',
    sensors: 'SELECT count(*) FROM sensors WHERE deleted_at_ms IS NULL',
    journal_rows: 'SELECT count(*) FROM journal',
    journal_measurements: 'SELECT total(measurements) FROM journal',
    last_seq: SEQUENCE('journal'),
    forwarded_seq: 'SELECT forwarded_seq FROM journal_watermark WHERE id = 1',
  },
  [LEDGER_FILE]: {
    events: 'SELECT total(events) FROM runs WHERE merged_into IS NULL',
    sealed_seq: 'SELECT seq FROM sealed WHERE id = 1',
  },
  [MEASUREMENTS_FILE]: {
    measurements: 'SELECT count(*) FROM measurements',
    summarised: 'SELECT total(measurement_count) FROM day_summaries',
  },
}

/**
 * Checks the files, and what must hold between files of one moment. Of an older format with other
 * tables only the pages are checked.
 *
 * @param folder contains the files
 * @param onFile called after each, which may take minutes
 * @returns the counts of each; none where an older format has other tables
 * @throws Error if a file is damaged or has an unknown format, or if the files do not belong
 *   together
 */
export function checkFiles(
  folder: string,
  names: readonly string[],
  onFile?: (name: string) => void,
): Record<string, FileCounts> {
  for (const name of names) {
    inFile(folder, name, checkPages)
    onFile?.(name)
  }
  const isOlder = names.some((name) => inFile(folder, name, isOfOlderVersion))
  const counts = unlessOtherTables(isOlder, () => countTogether(folder, names))
  return counts ?? Object.fromEntries(names.map((name) => [name, {}]))
}

function countTogether(folder: string, names: readonly string[]): Record<string, FileCounts> {
  const counted = names.map((name) => [name, inFile(folder, name, count)] as const)
  const counts = Object.fromEntries(counted)
  checkTogether(counts)
  checkSecret(folder)
  return counts
}

function inFile<Result>(
  folder: string,
  name: string,
  work: (db: Connection, name: string) => Result,
): Result {
  const db = openForReading(folder, name)
  try {
    return work(db, name)
  } finally {
    db.close()
  }
}

function checkPages(db: Connection, name: string): void {
  refuseUnknownVersion(db, name)
  const [found] = db.prepare<[], string>('PRAGMA integrity_check(1)').pluck().all()
  if (found !== 'ok') throw new Error(`${name} is damaged: ${found}`)
}

function count(db: Connection, name: string): FileCounts {
  const counted = Object.entries(COUNTS[name] ?? {}).map(([what, sql]) => {
    return [what, db.prepare<[], number>(sql).pluck().get() ?? 0] as const
  })
  return Object.fromEntries(counted)
}

function checkTogether(counts: Readonly<Record<string, FileCounts>>): void {
  const { last_seq: lastSeq = 0, forwarded_seq: forwardedSeq = 0 } = counts[CONTROL_FILE] ?? {}
  const { sealed_seq: sealedSeq = 0 } = counts[LEDGER_FILE] ?? {}
  const { measurements, summarised } = counts[MEASUREMENTS_FILE] ?? {}
  if (sealedSeq > lastSeq) throw unfit(`sealed up to ${sealedSeq}, journalled up to ${lastSeq}`)
  if (forwardedSeq > lastSeq) {
    throw unfit(`forwarded up to ${forwardedSeq}, journalled up to ${lastSeq}`)
  }
  if (measurements !== summarised) {
    throw unfit(`${measurements} measurements, ${summarised} of them in summaries`)
  }
}

function checkSecret(folder: string): void {
  const control = openForReading(folder, CONTROL_FILE)
  const ledger = openForReading(folder, LEDGER_FILE)
  try {
    refuseOtherLedger(ledger, readEventSecret(control))
  } finally {
    control.close()
    ledger.close()
  }
}

function unfit(why: string): Error {
  return new Error(`the files do not go together: ${why}`)
}
