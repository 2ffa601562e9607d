// Reading DATA_DIR beside whoever writes it, for commands: what a database has, by ports alone.

import type { ControlReader } from '../ports/control-reader.ts'
import type { JournalWatch } from '../ports/journal-queue.ts'
import type { StoreRecords } from '../ports/store-upkeep.ts'
import { createControlReader, createStoreRecords } from '../sqlite/control/control-reader.ts'
import { refuseUnfinishedRestore } from '../sqlite/data-dir-lock.ts'
import { CONTROL_FILE, openForReading } from '../sqlite/database.ts'
import { SqliteJournalWatch } from '../sqlite/journal/journal-watch.ts'

export interface Beside {
  readonly control: ControlReader
  readonly journal: JournalWatch
  readonly store: StoreRecords
  close(): void
}

/** @throws UnfitDataDir when a restore has not come to its end */
export function openBeside(dataDir: string): Beside {
  refuseUnfinishedRestore(dataDir)
  const db = openForReading(dataDir, CONTROL_FILE)
  return {
    control: createControlReader(db),
    journal: new SqliteJournalWatch(db),
    store: createStoreRecords(db),
    close: () => void db.close(),
  }
}
