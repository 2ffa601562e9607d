// The table of measurements has a partition for each week that has any: what is written and read
// most is small, and stays in memory. One is made apart and then attached, which neither waits for
// those who read the table, such as pg_dump, nor lets others wait.

import { DAY_MS } from '../../domain/time.ts'
import { unlessAway } from '../server/database.ts'
import type { Database } from '../server/database.ts'
import { codeOf, DUPLICATE_OBJECT, DUPLICATE_TABLE, UNIQUE_VIOLATION } from '../server/failures.ts'

const WEEK_MS = 7 * DAY_MS

/** A table that is a partition already cannot be attached. */
const WRONG_OBJECT = '42809'
const MADE_BY_ANOTHER = [UNIQUE_VIOLATION, DUPLICATE_TABLE, DUPLICATE_OBJECT, WRONG_OBJECT]

// ANALYZE of the whole table, or another partition on its way, may have the lock.
const makeUnlessMade = (name: string, fromMs: number, toMs: number) => `
  DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('${name}') AND relispartition) THEN
      RETURN;
    END IF;
    SET LOCAL lock_timeout = '200ms';
    CREATE TABLE IF NOT EXISTS ${name} (LIKE measurements INCLUDING ALL);
    ALTER TABLE measurements ATTACH PARTITION ${name} FOR VALUES FROM (${fromMs}) TO (${toMs});
  END $$`

/** The weeks that are known to have one. */
export class Partitions {
  readonly #database: Pick<Database, 'execute'>
  readonly #weeks = new Set<number>()

  constructor(database: Pick<Database, 'execute'>) {
    this.#database = database
  }

  /**
   * Makes those that measurements of these times need, and those of a day later if it can: nothing
   * waits at the turn of the week.
   *
   * @throws ServiceError `overloaded`: somebody has locked the table, or it is out of reach
   */
  async prepare(measuredAtMs: Iterable<number>): Promise<void> {
    const weeks = new Set<number>()
    const nextWeeks = new Set<number>()
    for (const atMs of measuredAtMs) {
      weeks.add(Math.floor(atMs / WEEK_MS))
      nextWeeks.add(Math.floor((atMs + DAY_MS) / WEEK_MS))
    }
    for (const week of weeks) await this.#make(week)
    for (const week of nextWeeks) await unlessAway(() => this.#make(week), undefined)
  }

  /** Another server may lack some. */
  forget(): void {
    this.#weeks.clear()
  }

  async #make(week: number): Promise<void> {
    if (this.#weeks.has(week)) return
    const name = `measurements_${week < 0 ? 'before' : 'week'}_${Math.abs(week)}`
    const make = makeUnlessMade(name, week * WEEK_MS, (week + 1) * WEEK_MS)
    try {
      await this.#database.execute(make)
    } catch (error) {
      if (!MADE_BY_ANOTHER.includes(codeOf(error) ?? '')) throw error
      await this.#database.execute(make)
    }
    this.#weeks.add(week)
  }
}
