// Checks that the journal has every row it must still have, and that the files belong together.
// Rows leave only at the old end, once they are forwarded and sealed; numbers are consecutive,
// except for the jump of a restore, which an empty row marks.
//
// While a service runs, marks only grow: of what must not be ahead of control.db the mark is read
// before it, of what must not be behind, after it.

import { ACCEPT_LOSS, RESTORE_BACKUP } from '../../domain/finding.ts'
import type { Report } from '../../domain/finding.ts'
import { journalEntryBytes } from '../../domain/limits.ts'
import { CONTROL_FILE, EMBEDDED_STORE, LEDGER_FILE, MEASUREMENTS_FILE } from '../database.ts'
import type { Connection } from '../database.ts'

const IS_EMPTY = 'measurements = 0 AND sensor_infos IS NULL AND entries IS NULL AS isEmpty'
// An empty row may follow any number, and covers the gap before it.
const MARKS = `
  SELECT (SELECT forwarded_seq FROM journal_watermark WHERE id = 1) AS forwardedSeq,
    last.seq AS lastSeq, iif(first.isEmpty, 0, ifnull(first.seq, last.seq + 1)) AS firstSeq,
    ifnull(store.name, '${EMBEDDED_STORE}') AS storeName, ifnull(store.since_seq, 0) AS sinceSeq
  FROM (SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'journal'), 0) AS seq) AS last
  LEFT JOIN (SELECT seq, ${IS_EMPTY} FROM journal ORDER BY seq LIMIT 1) AS first
  LEFT JOIN measurement_store AS store`
const ROWS = `SELECT seq, measurements, entries, ${IS_EMPTY} FROM journal ORDER BY seq`
const LAST_SEQ = `SELECT seq FROM sqlite_sequence WHERE name = 'journal'`
const SEALED = 'SELECT seq FROM sealed WHERE id = 1'
const WRITTEN = 'SELECT seq FROM written WHERE id = 1'

interface Marks {
  readonly forwardedSeq: number
  readonly lastSeq: number
  readonly firstSeq: number
  readonly storeName: string
  /** What was forwarded up to here is in a store that is no longer in use. */
  readonly sinceSeq: number
}

interface Row {
  readonly seq: number
  readonly measurements: number
  readonly entries: Buffer | null
  readonly isEmpty: number
}

/** The files of a DATA_DIR; one that is not there has nothing in it. */
export interface DataFiles {
  readonly control: Connection
  readonly ledger: Connection | undefined
  readonly measurements: Connection | undefined
}

/** Compares the journal with the marks up to which it is forwarded, sealed and stored. */
export function checkMarks({ control, ledger, measurements }: DataFiles, report: Report): void {
  const aheadSeqs = { sealed: readMark(ledger, SEALED), written: readMark(measurements, WRITTEN) }
  const marks = control.prepare<[], Marks>(MARKS).get()
  if (marks === undefined) return
  const { forwardedSeq, lastSeq, firstSeq, storeName, sinceSeq } = marks
  const sealedSeq = readMark(ledger, SEALED)
  const writtenSeq = readMark(measurements, WRITTEN)
  const note = (where: string, problem: string, remedy = RESTORE_BACKUP) =>
    report({ check: 'journal', where, problem, remedy })
  const ends = `the journal's last one is ${lastSeq}`
  if (aheadSeqs.sealed > lastSeq) {
    note(LEDGER_FILE, `rows up to ${aheadSeqs.sealed} are sealed, but ${ends}`)
  }
  if (forwardedSeq > lastSeq) {
    const forwarded = `rows up to ${forwardedSeq} are forwarded`
    note(CONTROL_FILE, `the journal: ${forwarded}, but the last one is ${lastSeq}`)
  }
  const doneSeq = Math.min(forwardedSeq, sealedSeq)
  if (firstSeq > doneSeq + 1) {
    const missing = `rows ${doneSeq + 1} to ${firstSeq - 1} are missing`
    const done = `rows up to ${forwardedSeq} are forwarded, those up to ${sealedSeq} are sealed`
    note(CONTROL_FILE, `the journal: ${missing}: ${done}`)
  }
  if (storeName !== EMBEDDED_STORE) return
  if (aheadSeqs.written > lastSeq) {
    note(MEASUREMENTS_FILE, `it has rows up to ${aheadSeqs.written}, but ${ends}`, ACCEPT_LOSS)
  }
  if (forwardedSeq > sinceSeq && writtenSeq < forwardedSeq) {
    const missing = `it lacks the journal's rows ${writtenSeq + 1} to ${forwardedSeq}`
    note(MEASUREMENTS_FILE, `${missing}, which were stored there`)
  }
}

/** Whether the rows are consecutive and have what they say. */
export function checkJournal(control: Connection, report: Report): void {
  const problems = control.transaction(() => [...problemsOfRows(control)])()
  for (const problem of problems) {
    report({ check: 'journal', where: CONTROL_FILE, problem, remedy: RESTORE_BACKUP })
  }
}

function* problemsOfRows(control: Connection): Generator<string> {
  let previousSeq: number | undefined
  for (const { seq, measurements, entries, isEmpty } of control.prepare<[], Row>(ROWS).iterate()) {
    const isGap = previousSeq !== undefined && seq !== previousSeq + 1
    if (isGap && isEmpty === 0) {
      yield `the journal: rows ${(previousSeq ?? 0) + 1} to ${seq - 1} are missing`
    }
    const bytes = entries?.length ?? 0
    if (bytes !== measurements * journalEntryBytes) {
      yield `the journal: row ${seq} says ${measurements} measurements and has ${bytes} bytes`
    }
    previousSeq = seq
  }
  const lastSeq = control.prepare<[], number>(LAST_SEQ).pluck().get() ?? 0
  if (previousSeq !== undefined && previousSeq !== lastSeq) {
    yield `the journal: its last row is ${previousSeq}, but number ${lastSeq} was given out`
  }
}

function readMark(db: Connection | undefined, sql: string): number {
  return db?.prepare<[], number>(sql).pluck().get() ?? 0
}
