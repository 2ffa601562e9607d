// The table of measurements has a partition for each week with measurements: the weeks written and
// read most are small, and stay in memory. A partition is created apart and then attached, which
// neither waits for readers of the table, such as pg_dump, nor makes others wait.

import { DAY_MS } from '../../domain/time.ts'
import { unlessAway } from '../server/database.ts'
import type { Database } from '../server/database.ts'
import { codeOf, DUPLICATE_OBJECT, DUPLICATE_TABLE, UNIQUE_VIOLATION } from '../server/failures.ts'

const WEEK_MS = 7 * DAY_MS

/** The table is a partition already. */
const WRONG_OBJECT = '42809'
const MADE_BY_ANOTHER = [UNIQUE_VIOLATION, DUPLICATE_TABLE, DUPLICATE_OBJECT, WRONG_OBJECT]

// ANALYZE of the whole table, or the attaching of another partition, may hold the lock.
const makeUnlessMade = (name: string, fromMs: number, toMs: number) => `
  DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('${name}') AND relispartition)
    THEN RETURN;
    END IF;
    SET LOCAL lock_timeout = '200ms';
    CREATE TABLE IF NOT EXISTS ${name} (LIKE measurements INCLUDING ALL);
    ALTER TABLE measurements ATTACH PARTITION ${name} FOR VALUES FROM (${fromMs}) TO (${toMs});
  END $$`

/** Knows which weeks have a partition, and creates missing ones. */
export class Partitions {
  readonly #database: Pick<Database, 'execute'>
  readonly #weeks = new Set<number>()

  constructor(database: Pick<Database, 'execute'>) {
    this.#database = database
  }

  /**
   * Creates the partitions for these times and, if it can, those for a day later, so that nothing
   * waits at the turn of the week.
   *
   * @throws ServiceError `overloaded`: the table is locked or out of reach
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

  /** Another server may lack partitions. */
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
