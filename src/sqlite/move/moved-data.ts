// All of a DATA_DIR as a move reads it. Nobody else writes into the directory.

import type { CountedDay, MovedRows, MovedTable } from '../../ports/moved-data.ts'
import { CONTROL_FILE, LEDGER_FILE, MEASUREMENTS_FILE, openForReading } from '../database.ts'
import type { Connection } from '../database.ts'
import { MovedEvents } from './moved-events.ts'
import { MovedSensors } from './moved-sensors.ts'
import { PAGED_TABLES, PagedRows } from './paged-tables.ts'

const STORE_ID = 'SELECT id, restored_to_ms AS restoredToMs FROM data_identity'
const SEQUENCES = `
  SELECT name, seq AS last FROM sqlite_sequence
  WHERE seq > 0 AND name IN ('users', 'access_tokens', 'sensors', 'set_aside', 'refused')`
const DAYS_OF_SENSORS = `
  SELECT sensor_id AS sensorId, measured_at_ms / 86400000 - (measured_at_ms % 86400000 < 0) AS day,
    count(*) AS measurements
  FROM measurements GROUP BY 1, 2 ORDER BY 1, 2`
const DAYS = `
  SELECT DISTINCT start_ms / 86400000 FROM day_summaries`

type Identity = MovedRows['identity']
type Sequence = MovedRows['sequences'][number]

export class MovedData implements MovedRows {
  readonly #files: ReadonlyMap<string, Connection>
  readonly tables: readonly MovedTable[]

  constructor(dataDir: string) {
    const names = [CONTROL_FILE, LEDGER_FILE, MEASUREMENTS_FILE]
    this.#files = new Map(names.map((name) => [name, openForReading(dataDir, name)]))
    const files = { control: this.#file(CONTROL_FILE), ledger: this.#file(LEDGER_FILE) }
    const sensors = new MovedSensors(files)
    this.tables = [
      ...Object.entries(PAGED_TABLES).map(([name, paged]) => {
        return new PagedRows(name, paged, this.#file(paged.file))
      }),
      new MovedEvents(files, sensors),
    ]
  }

  get measurements(): MovedTable {
    const found = this.tables.find(({ name }) => name === 'measurements')
    if (found === undefined) throw new Error('BUG: measurements are not moved')
    return found
  }

  get identity(): Identity {
    const row = this.#file(CONTROL_FILE).prepare<[], Identity>(STORE_ID).get()
    if (row === undefined) throw new Error('BUG: the data have no identity')
    return row
  }

  get sequences(): readonly Sequence[] {
    return this.#file(CONTROL_FILE).prepare<[], Sequence>(SEQUENCES).all()
  }

  /** UTC days of which anything is stored. */
  get days(): readonly number[] {
    return this.#file(MEASUREMENTS_FILE).prepare<[], number>(DAYS).pluck().all()
  }

  /** What is stored, by sensor and then by day, counted one by one. */
  countDays(): IterableIterator<CountedDay> {
    return this.#file(MEASUREMENTS_FILE).prepare<[], CountedDay>(DAYS_OF_SENSORS).iterate()
  }

  close(): void {
    for (const db of this.#files.values()) db.close()
  }

  #file(name: string): Connection {
    const db = this.#files.get(name)
    if (db === undefined) throw new Error(`BUG: ${name} is not open`)
    return db
  }
}
