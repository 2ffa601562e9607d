// Running an INSERT for many rows at a time: a row costs half of what it does alone, because the
// way from JavaScript into SQLite and the start of a statement are paid once for all of them.

import type { Statement } from 'better-sqlite3'
import type { Connection } from '../database.ts'

/** Sixteen rows have most of the gain; more of them only make the statement longer. */
const ROWS = 16

/** Gathers rows and writes them with one statement; `finish` before each commit. */
export class BulkStatement {
  readonly #many: Statement
  readonly #one: Statement
  readonly #width: number
  readonly #values: number[]
  #length = 0

  /**
   * @param insert everything before the rows: `INSERT INTO … VALUES`
   * @param width values of a row
   * @param conflict everything after the rows: `ON CONFLICT …`, or nothing
   */
  constructor(db: Connection, insert: string, width: number, conflict: string) {
    const row = `(${Array(width).fill('?').join(', ')})`
    this.#one = db.prepare(`${insert} ${row} ${conflict}`)
    this.#many = db.prepare(`${insert} ${Array(ROWS).fill(row).join(', ')} ${conflict}`)
    this.#width = width
    this.#values = Array<number>(ROWS * width).fill(0)
  }

  /** Adds the next value of a row; `width` calls make one. */
  put(value: number): void {
    this.#values[this.#length++] = value
    if (this.#length === this.#values.length) {
      this.#many.run(this.#values)
      this.#length = 0
    }
  }

  /** Writes the rows that are gathered. */
  finish(): void {
    for (let start = 0; start < this.#length; start += this.#width) {
      this.#one.run(this.#values.slice(start, start + this.#width))
    }
    this.#length = 0
  }

  /** Forgets the rows that are gathered. */
  clear(): void {
    this.#length = 0
  }
}
