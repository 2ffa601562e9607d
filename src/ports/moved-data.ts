// All of a DATA_DIR, as a move reads it and a database takes it in. Columns and tables have the
// names that they have in the database.

export type MovedValue = string | number | Buffer | null

export interface MovedTable {
  readonly name: string
  /** Of each row. */
  readonly columns: readonly string[]
  /** The number of its rows. */
  total(): number
  /** @throws DamagedData */
  pages(): Iterable<readonly (readonly MovedValue[])[]>
}

export interface MovedRows {
  /** What refers to users comes after them. */
  readonly tables: readonly MovedTable[]
  readonly identity: { readonly id: string; readonly restoredToMs: number | null }
  /** The last ids that were given: they are not given again. */
  readonly sequences: readonly { readonly name: string; readonly last: number }[]
}

/** How many measurements a sensor has on a UTC day. */
export interface CountedDay {
  readonly sensorId: number
  /** Counted from 1 January 1970. */
  readonly day: number
  readonly measurements: number
}
