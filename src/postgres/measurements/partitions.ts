// The table of measurements has a partition for each week that has any: what is written and read
// most is small, and stays in memory.

import { DAY_MS } from '../../domain/time.ts'
import type { Database } from '../database.ts'
import { codeOf, DUPLICATE_TABLE, UNIQUE_VIOLATION } from '../failures.ts'

const WEEK_MS = 7 * DAY_MS

const OVERLAPPING = '42P17'
/** Another process was quicker. */
const FOUND_MADE = [DUPLICATE_TABLE, OVERLAPPING, UNIQUE_VIOLATION]

/** The weeks that are known to have one. */
export class Partitions {
  readonly #database: Pick<Database, 'execute'>
  readonly #weeks = new Set<number>()

  constructor(database: Pick<Database, 'execute'>) {
    this.#database = database
  }

  /** Makes those that measurements of these times need. */
  async prepare(measuredAtMs: Iterable<number>): Promise<void> {
    const weeks = new Set<number>()
    for (const atMs of measuredAtMs) weeks.add(Math.floor(atMs / WEEK_MS))
    for (const week of weeks) {
      if (!this.#weeks.has(week)) await this.#make(week)
      this.#weeks.add(week)
    }
  }

  async #make(week: number): Promise<void> {
    const name = `measurements_${week < 0 ? 'before' : 'week'}_${Math.abs(week)}`
    const [from, to] = [week * WEEK_MS, (week + 1) * WEEK_MS]
    try {
      await this.#database.execute(
        `CREATE TABLE IF NOT EXISTS ${name} PARTITION OF measurements
         FOR VALUES FROM (${from}) TO (${to})`,
      )
    } catch (error) {
      if (!FOUND_MADE.includes(codeOf(error) ?? '')) throw error
    }
  }
}
