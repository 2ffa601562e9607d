// Checks that the journal has every row it must still have. Rows leave only at the old end, once
// they are forwarded and sealed; numbers are consecutive, except for the jump of a restore, which
// an empty row marks.
//
// control.db is read before ledger.db: what is sealed in between only makes the check more lenient.

import { RESTORE_BACKUP } from '../../domain/finding.ts'
import type { Finding, Report } from '../../domain/finding.ts'
import { CONTROL_FILE, LEDGER_FILE } from '../database.ts'
import type { Connection } from '../database.ts'
import { entriesBytes } from '../journal-row.ts'

const MARKS = `
  SELECT (SELECT forwarded_seq FROM journal_watermark WHERE id = 1) AS forwardedSeq,
    ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'journal'), 0) AS lastSeq`
// An empty row may follow any number.
const ROWS = `
  SELECT seq, measurements, entries,
    measurements = 0 AND sensor_infos IS NULL AND entries IS NULL AS isEmpty
  FROM journal ORDER BY seq`
const SEALED = 'SELECT seq FROM sealed WHERE id = 1'

interface Marks {
  readonly forwardedSeq: number
  readonly lastSeq: number
}

interface Row {
  readonly seq: number
  readonly measurements: number
  readonly entries: Buffer | null
  readonly isEmpty: number
}

/** Compares the journal with the marks up to which it is forwarded and sealed. */
export function checkJournal(control: Connection, ledger: Connection, report: Report): void {
  const problems: string[] = []
  const { marks, firstSeq } = control.transaction(() => {
    const marksNow = control.prepare<[], Marks>(MARKS).get() ?? { forwardedSeq: 0, lastSeq: 0 }
    return { marks: marksNow, firstSeq: checkRows(control, marksNow, problems) }
  })()
  const sealedSeq = readSealedSeq(ledger)
  const { forwardedSeq, lastSeq } = marks
  if (forwardedSeq > lastSeq) {
    problems.push(`rows up to ${forwardedSeq} are forwarded, but the last one is ${lastSeq}`)
  }
  const doneSeq = Math.min(forwardedSeq, sealedSeq)
  if (firstSeq > doneSeq + 1) {
    const missing = `rows ${doneSeq + 1} to ${firstSeq - 1} are missing`
    problems.push(
      `${missing}: rows up to ${forwardedSeq} are forwarded, those up to ${sealedSeq} are sealed`,
    )
  }
  for (const problem of problems) report(findingIn(CONTROL_FILE, `the journal: ${problem}`))
}

/** Compares the mark up to which the journal is sealed with the journal. */
export function checkSealedSeq(control: Connection, ledger: Connection, report: Report): void {
  const sealedSeq = readSealedSeq(ledger)
  const lastSeq = control.prepare<[], Marks>(MARKS).get()?.lastSeq ?? 0
  if (sealedSeq <= lastSeq) return
  const problem = `rows up to ${sealedSeq} are sealed, but the journal's last one is ${lastSeq}`
  report(findingIn(LEDGER_FILE, problem))
}

function readSealedSeq(ledger: Connection): number {
  return ledger.prepare<[], number>(SEALED).pluck().get() ?? 0
}

/**
 * @returns the first row, or the number of the next one if there is none; an empty row covers the
 * gap before it
 */
function checkRows(control: Connection, { lastSeq }: Marks, problems: string[]): number {
  let firstSeq: number | undefined
  let previousSeq = 0
  for (const { seq, measurements, entries, isEmpty } of control.prepare<[], Row>(ROWS).iterate()) {
    const isGap = firstSeq !== undefined && seq !== previousSeq + 1
    if (isGap && isEmpty === 0) {
      problems.push(`rows ${previousSeq + 1} to ${seq - 1} are missing`)
    }
    const bytes = entries?.length ?? entriesBytes(0)
    if (bytes !== entriesBytes(measurements)) {
      problems.push(`row ${seq} says ${measurements} measurements and has ${bytes} bytes`)
    }
    firstSeq ??= isEmpty === 1 ? 0 : seq
    previousSeq = seq
  }
  if (firstSeq !== undefined && previousSeq !== lastSeq) {
    problems.push(`its last row is ${previousSeq}, but number ${lastSeq} was given out`)
  }
  return firstSeq ?? lastSeq + 1
}

function findingIn(where: string, problem: string): Finding {
  return { check: 'journal', where, problem, remedy: RESTORE_BACKUP }
}
