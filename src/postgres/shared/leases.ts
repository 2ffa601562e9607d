// Leases on PostgreSQL, by the database's clock, because those of processes differ. While the
// database is away, no process has a lease.

import { randomUUID } from 'node:crypto'
import type { Leases } from '../../ports/leases.ts'
import { unlessAway } from '../server/database.ts'
import type { Database } from '../server/database.ts'

const TAKE = `
  INSERT INTO leases AS l (name, owner, until)
  VALUES ($1, $2, statement_timestamp() + $3 * interval '1 millisecond')
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
  WHERE l.owner = excluded.owner OR l.until <= statement_timestamp()`
const RELEASE = 'DELETE FROM leases WHERE name = $1 AND owner = $2'

export class PostgresLeases implements Leases {
  readonly #database: Database
  readonly #owner = randomUUID()

  constructor(database: Database) {
    this.#database = database
  }

  async take(name: string, forMs: number): Promise<boolean> {
    const values = [name, this.#owner, forMs]
    return unlessAway(async () => (await this.#database.change(TAKE, values)) > 0, false)
  }

  async release(name: string): Promise<void> {
    await unlessAway(() => this.#database.change(RELEASE, [name, this.#owner]), 0)
  }
}
