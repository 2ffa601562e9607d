// A table of a DATA_DIR as it is moved into a database. Types only.

export type Value = string | number | Buffer | null
/** The key of the last row that arrived; as JSON it is the same. */
export type Place = readonly (string | number)[]

export interface MovedChunk {
  readonly rows: readonly (readonly Value[])[]
  /** Where to go on. */
  readonly place: Place
}

export interface MovedTable {
  readonly name: string
  /** Of each row. */
  readonly columns: readonly string[]
  /** The number of its rows. */
  total(): number
  /** @throws DamagedData */
  rowsAfter(place: Place | undefined): Iterable<MovedChunk>
}
