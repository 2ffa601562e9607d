// All of a DATA_DIR as a move into a database reads it. Nobody else has the directory open.

import { join } from 'node:path'
import { CONTROL_FILE, LEDGER_FILE, MEASUREMENTS_FILE, openForReading } from '../database.ts'
import type { Connection } from '../database.ts'
import { MovedEvents } from './moved-events.ts'
import { MovedSensors } from './moved-sensors.ts'
import type { MovedTable } from './moved-table.ts'
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

export interface Sequence {
  readonly name: string
  /** The last id that was given. */
  readonly last: number
}

export interface CountedDay {
  readonly sensorId: number
  readonly day: number
  readonly measurements: number
}

export class MovedData {
  readonly #files: ReadonlyMap<string, Connection>
  /** What refers to users comes after them. */
  readonly tables: readonly MovedTable[]

  /** @param shardOf of a user */
  constructor(dataDir: string, shardOf: (userId: number) => number) {
    const names = [CONTROL_FILE, LEDGER_FILE, MEASUREMENTS_FILE]
    this.#files = new Map(names.map((name) => [name, openForReading(join(dataDir, name))]))
    const files = { control: this.#file(CONTROL_FILE), ledger: this.#file(LEDGER_FILE) }
    const sensors = new MovedSensors(files, shardOf)
    this.tables = [
      ...Object.entries(PAGED_TABLES).map(([name, paged]) => {
        return new PagedRows(name, paged, this.#file(paged.file))
      }),
      new MovedEvents(files, sensors),
    ]
  }

  get identity(): { readonly id: string; readonly restoredToMs: number | null } {
    const row = this.#file(CONTROL_FILE).prepare<[], MovedData['identity']>(STORE_ID).get()
    if (row === undefined) throw new Error('BUG: the data have no identity')
    return row
  }

  /** Ids that were given are not given again. */
  get sequences(): readonly Sequence[] {
    return this.#file(CONTROL_FILE).prepare<[], Sequence>(SEQUENCES).all()
  }

  /** UTC days of which anything is stored. */
  get days(): readonly number[] {
    return this.#file(MEASUREMENTS_FILE).prepare<[], number>(DAYS).pluck().all()
  }

  /** What is stored, by sensor and UTC day, counted one by one. */
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
