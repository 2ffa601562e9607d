// Inserts many rows with one statement: this halves the cost of a row, because the call from
// JavaScript into SQLite and the start of a statement are paid once for all of them. Values are
// arguments of their own, since each element of an array costs a call back into JavaScript.

import type { Statement } from 'better-sqlite3'
import type { Connection } from './database.ts'

/** Sixteen rows give most of the gain; more only make the statement longer. */
const ROWS = 16

/** Gathers rows and inserts them with one statement; call `finish` before each commit. */
export class BulkStatement {
  readonly #many: Statement
  readonly #one: Statement
  readonly #width: number
  readonly #values: number[]
  #length = 0

  /**
   * @param insert the SQL before the rows: `INSERT INTO … VALUES`
   * @param width number of values in a row
   * @param conflict the SQL after the rows: `ON CONFLICT …`, or nothing
   */
  constructor(db: Connection, insert: string, width: number, conflict: string) {
    const row = `(${Array(width).fill('?').join(', ')})`
    this.#one = db.prepare(`${insert} ${row} ${conflict}`)
    this.#many = db.prepare(`${insert} ${Array(ROWS).fill(row).join(', ')} ${conflict}`)
    this.#width = width
    this.#values = Array<number>(ROWS * width).fill(0)
  }

  /** Adds the next value; `width` calls make a row. */
  put(value: number): void {
    this.#values[this.#length++] = value
    if (this.#length === this.#values.length) {
      this.#many.run(...this.#values)
      this.#length = 0
    }
  }

  /** Inserts the gathered rows. */
  finish(): void {
    for (let start = 0; start < this.#length; start += this.#width) {
      this.#one.run(...this.#values.slice(start, start + this.#width))
    }
    this.#length = 0
  }

  /** Discards the gathered rows. */
  clear(): void {
    this.#length = 0
  }
}
