// The files of a DATA_DIR before a service writes them: whether their logs have all that was
// durable, and whether the files belong together. SQLite would drop what it cannot read, and the
// service would go on from there: forget what it acknowledged, take known events for new, give a
// tie-break twice, or call a history complete that is not.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ACCEPT_LOSS, describeFinding } from '../../domain/finding.ts'
import type { Finding, Report } from '../../domain/finding.ts'
import {
  CONTROL_FILE,
  DamagedData,
  damagedFile,
  DATA_FILES,
  formatOf,
  LEDGER_FILE,
  MEASUREMENTS_FILE,
  openForReading,
  orDamaged,
  restartLog,
  unlessOtherTables,
} from '../database.ts'
import type { Connection } from '../database.ts'
import {
  isOfOlderVersion,
  refuseOtherVersion,
  refuseUnknownVersion,
} from '../backup/file-formats.ts'
import { checkLog } from '../log/log-check.ts'
import { forgetOtherLogs } from '../log/witness.ts'
import { checkFile } from './file-check.ts'
import { checkMarks } from './journal-check.ts'

export class FilesAtRest {
  readonly findings: readonly Finding[]
  readonly #opened: ReadonlyMap<string, Connection>
  readonly #torn: string[] = []

  /**
   * Opens what is there for reading, and checks it. Open until closed, so that SQLite need not read
   * the logs again for whoever opens the files next.
   *
   * @throws DamagedData @throws OtherFormat if a file has a format that this version does not know
   */
  constructor(dataDir: string) {
    const opened = new Map<string, Connection>()
    const findings: Finding[] = []
    this.#opened = opened
    try {
      for (const name of DATA_FILES) {
        if (!existsSync(join(dataDir, name))) continue
        orDamaged(damagedFile(name), () => {
          const db = openForReading(dataDir, name)
          opened.set(name, db)
          const { finding, isTorn } = checkLog(dataDir, name, db)
          if (finding !== undefined) findings.push(finding)
          if (isTorn) this.#torn.push(join(dataDir, name))
        })
      }
      orDamaged(damagedFile(CONTROL_FILE), () => this.#checkMarks((one) => findings.push(one)))
    } catch (error) {
      this.close()
      throw error
    }
    this.findings = findings
  }

  /** @throws OtherFormat */
  refuseOtherFormats(): void {
    for (const [name, db] of this.#opened) {
      if (formatOf(db) > 0) refuseOtherVersion(db, name)
    }
  }

  /**
   * What a power cut tore off would stay behind the log for ever, and look like later commits: the
   * next one takes its place.
   */
  forgetTorn(): void {
    for (const file of this.#torn) restartLog(file)
  }

  close(): void {
    for (const db of this.#opened.values()) db.close()
  }

  #checkMarks(report: Report): void {
    const control = this.#withTables(CONTROL_FILE)
    if (control === undefined) return
    const ledger = this.#withTables(LEDGER_FILE)
    const measurements = this.#withTables(MEASUREMENTS_FILE)
    const isOlder = [...this.#opened].some(([name, db]) => isOfOlderVersion(db, name))
    unlessOtherTables(isOlder, () => checkMarks({ control, ledger, measurements }, report))
  }

  /** A start that was killed can leave a file without any. */
  #withTables(name: string): Connection | undefined {
    const db = this.#opened.get(name)
    if (db === undefined || formatOf(db) === 0) return undefined
    refuseUnknownVersion(db, name)
    return db
  }
}

/**
 * Opens the files for reading, if nothing is missing in them.
 *
 * @throws DamagedData
 */
export function openWhole(dataDir: string): FilesAtRest {
  const files = new FilesAtRest(dataDir)
  const [finding] = files.findings
  if (finding === undefined) {
    forgetOtherLogs(dataDir)
    files.forgetTorn()
    return files
  }
  files.close()
  throw new DamagedData(describeFinding(finding))
}

/**
 * When data were put back by hand, what control.db has lost can be given up, for from then on the
 * others have more than it knows of.
 *
 * @throws DamagedData if one of them has lost something, or knows events that it does not, or if
 *   what is left of control.db is not whole
 */
export function refuseOtherLosses(dataDir: string): void {
  const files = new FilesAtRest(dataDir)
  files.close()
  const all = [...files.findings]
  // Pages that the log had moved into the file fit no more to those that are left of the log.
  checkFile(join(dataDir, CONTROL_FILE), (finding) => all.push(finding))
  const fatal = all.find(({ remedy }) => remedy !== ACCEPT_LOSS)
  if (fatal !== undefined) throw new DamagedData(describeFinding(fatal))
}
