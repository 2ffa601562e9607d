// A table of a DATA_DIR as it is moved into a database. Types only.

export type Value = string | number | Buffer | null

export interface MovedTable {
  readonly name: string
  /** Of each row. */
  readonly columns: readonly string[]
  /** The number of its rows. */
  total(): number
  /** @throws DamagedData */
  pages(): Iterable<readonly (readonly Value[])[]>
}
