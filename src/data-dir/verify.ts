// What `thermolog verify` checks, in order: each file by itself, then the journal and the ledger,
// then the measurement store against them. It only reads, in short transactions, whether a service
// runs or not. A damaged file is not read any further.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { Findings, reportUnreachable } from './verdict.ts'
import type { Verdict } from './verdict.ts'
import { openInfluxCounts, verifyStore } from './verify-store.ts'
import { openReader, refuseOtherStore } from '../core/measurement-store.ts'
import type { Config } from '../config.ts'
import { ServiceError } from '../domain/errors.ts'
import { RESTORE_BACKUP } from '../domain/finding.ts'
import type { Report } from '../domain/finding.ts'
import type { WorkProgress } from '../ports/system.ts'
import { createStoreRecords } from '../sqlite/control/control-reader.ts'
import { refuseUnfinishedRestore } from '../sqlite/data-dir-lock.ts'
import {
  CONTROL_FILE,
  DamagedData,
  isDiskFault,
  LEDGER_FILE,
  MEASUREMENTS_FILE,
  openForReading,
} from '../sqlite/database.ts'
import type { Connection } from '../sqlite/database.ts'
import { checkLog } from '../sqlite/log/log-check.ts'
import { createAccounts } from '../sqlite/verify/accounts.ts'
import { checkFile } from '../sqlite/verify/file-check.ts'
import { checkJournal, checkMarks } from '../sqlite/verify/journal-check.ts'
import type { DataFiles } from '../sqlite/verify/journal-check.ts'
import { LedgerCheck } from '../sqlite/verify/ledger-check.ts'
import { MeasurementAudit } from '../sqlite/verify/measurement-audit.ts'
import { checkSecret } from '../sqlite/verify/secret-check.ts'
import { TieBreakCheck } from '../sqlite/verify/tie-break-check.ts'

/** Checks everything; it may take minutes. */
export async function verifyData(config: Config, progress: WorkProgress): Promise<Verdict> {
  const { dataDir, influx } = config
  refuseUnfinishedRestore(dataDir)
  const names = [CONTROL_FILE, LEDGER_FILE, ...(influx === undefined ? [MEASUREMENTS_FILE] : [])]
  const refuseUnfit = (control: Connection) => refuseOtherStore(config, createStoreRecords(control))
  return verifyFiles({ dataDir, influx, names, refuseUnfit }, progress)
}

/** What is to be checked. */
interface Scope extends Pick<Config, 'dataDir' | 'influx'> {
  /** The files that there must be; where no store is in reach, without that of measurements. */
  readonly names: readonly string[]
  readonly refuseUnfit?: (control: Connection) => Promise<void>
}

/** Checks files that nobody is restoring. */
export async function verifyFiles(scope: Scope, progress: WorkProgress): Promise<Verdict> {
  const all = new Findings()
  const verifying = { scope, progress, report: all.report }
  const whole = checkFiles(verifying)
  const counts = { sensors: 0, measurements: 0, events: 0, moving: 0 }
  if (whole.has(CONTROL_FILE)) {
    const open = (name: string) => openForReading(scope.dataDir, name)
    const openWhole = (name: string) => (whole.has(name) ? open(name) : undefined)
    const control = open(CONTROL_FILE)
    const files = { ledger: openWhole(LEDGER_FILE), measurements: openWhole(MEASUREMENTS_FILE) }
    try {
      await scope.refuseUnfit?.(control)
      const isAllWhole = scope.names.every((name) => whole.has(name))
      if (isAllWhole) checkMarks({ control, ...files }, all.report)
      Object.assign(counts, await checkContents(verifying, { control, ...files }))
    } finally {
      for (const db of [files.measurements, files.ledger, control]) db?.close()
    }
  }
  const { findings, findingsTotal } = all
  return { findings, findingsTotal, ...counts }
}

interface Verifying {
  readonly scope: Scope
  readonly progress: WorkProgress
  readonly report: Report
}

/** @returns the names of files that can be read */
function checkFiles({ scope, progress, report }: Verifying): Set<string> {
  const { dataDir, names } = scope
  progress.begin('checking files', names.length, 'file')
  const whole = names.filter((name) => {
    progress.advance(1)
    if (existsSync(join(dataDir, name))) return checkLoggedFile(dataDir, name, report)
    report({ check: 'file', where: name, problem: 'it is missing', remedy: RESTORE_BACKUP })
    return false
  })
  return new Set(whole)
}

/** @returns whether the file can be read */
function checkLoggedFile(dataDir: string, name: string, report: Report): boolean {
  if (!checkFile(join(dataDir, name), report)) return false
  const db = openForReading(dataDir, name)
  try {
    const { finding } = checkLog(dataDir, name, db)
    if (finding !== undefined) report(finding)
    return true
  } finally {
    db.close()
  }
}

async function checkContents(verifying: Verifying, { control, ledger, measurements }: DataFiles) {
  const isInfluxStore = verifying.scope.influx !== undefined
  const events = ledger === undefined ? 0 : await checkLedger(verifying, control, ledger)
  const checked = isInfluxStore || measurements ? await checkStore(verifying, control) : undefined
  if (ledger && measurements) await checkTieBreaks(verifying, { control, ledger, measurements })
  return { events, ...checked }
}

/** @returns the number of its events */
async function checkLedger(
  { progress, report }: Verifying,
  control: Connection,
  ledger: Connection,
): Promise<number> {
  const work = async () => {
    checkSecret(control, ledger, report)
    checkJournal(control, report)
    const check = new LedgerCheck(control, ledger)
    progress.begin('checking the ledger', check.total(), 'event')
    return await walk(check.check(report), progress)
  }
  return (await unlessUnreadable(LEDGER_FILE, work, report)) ?? 0
}

/** Runs a check that yields how much it has checked. */
async function walk<Result>(
  steps: Generator<number, Result>,
  progress: WorkProgress,
): Promise<Result> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    progress.advance(step.value)
    await setImmediate()
  }
}

/** Of the embedded store. */
async function checkTieBreaks(
  { progress, report }: Verifying,
  files: Readonly<Record<keyof DataFiles, Connection>>,
): Promise<void> {
  const work = async () => {
    const total = await createAccounts(files.control).total()
    progress.begin('checking tie-breaks', total, 'measurement')
    await walk(new TieBreakCheck(files).check(report), progress)
  }
  await unlessUnreadable(MEASUREMENTS_FILE, work, report)
}

async function checkStore({ scope, progress, report }: Verifying, control: Connection) {
  const reader = await openReader(scope)
  const store = openStore(scope)
  const audit = store instanceof MeasurementAudit ? store : undefined
  const of = { control: createAccounts(control), store, audit, reader, report }
  try {
    return await unlessUnreadable(store.name, () => verifyStore(of, progress), report)
  } finally {
    await reader.close()
    store.close()
  }
}

/** A store, with the wording for findings about it. */
function openStore({ dataDir, influx }: Scope) {
  if (influx !== undefined) return openInfluxCounts(influx)
  return new MeasurementAudit(join(dataDir, MEASUREMENTS_FILE))
}

/** An unreadable file ends one check, not all of them. @returns `undefined` in that case */
async function unlessUnreadable<Result>(
  where: string,
  work: () => Promise<Result>,
  report: Report,
): Promise<Result | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isDiskFault(error) || error instanceof ServiceError) {
      const problem = `it cannot be read: ${causeOf(error).message}`
      report({ check: 'file', where, problem, remedy: RESTORE_BACKUP })
    } else if (error instanceof DamagedData) {
      report({ check: 'file', where, problem: error.message, remedy: RESTORE_BACKUP })
    } else reportUnreachable(error, where, report)
    return undefined
  }
}

function causeOf(error: Error): Error {
  return error.cause instanceof Error ? error.cause : error
}
