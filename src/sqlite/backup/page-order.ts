// The order in which a backup has the pages of a file, for programs that store of one backup only
// what the last one had not. They cut it into pieces of a megabyte, of which one changed page is
// enough to make a new piece; and a day changes a few pages of each sensor, which are all over the
// file. So pages come by the time of what is in them, table by table: what is old stays as it is
// and where it is, what is new is at the end.

import { statSync } from 'node:fs'
import { HOUR_MS } from '../../domain/time.ts'
import { formatOf, newestOf, openForReading } from '../database.ts'
import type { Connection } from '../database.ts'
import { MEASUREMENT_MIGRATIONS } from '../measurements/schema.ts'

/** Tables clustered by sensor and time, and the rows there of an hour `h` of hour_summaries. */
const ROWS_IN_HOUR: Readonly<Record<string, string>> = {
  measurements: 'h.measurement_count',
  minute_summaries: summariesIn('minute_summaries'),
  quarter_summaries: summariesIn('quarter_summaries'),
  hour_summaries: '1',
}
/** More than there are pages in a file. */
const PAGES_MAX = 2 ** 32

const TREES = `
  SELECT 'sqlite_schema' UNION ALL
  SELECT name FROM sqlite_schema WHERE rootpage > 0`
/** Parents before children, these in the order of their keys. */
const PAGES = 'SELECT pageno, pagetype, ncell FROM dbstat WHERE name = ?'

const hoursOf = (rowsInHour: string) => `
  SELECT start_ms / ${HOUR_MS}, ${rowsInHour} FROM hour_summaries h ORDER BY sensor_id, start_ms`

function summariesIn(table: string): string {
  return `(SELECT count(*) FROM ${table} t WHERE t.sensor_id = h.sensor_id
    AND t.start_ms >= h.start_ms AND t.start_ms < h.start_ms + ${HOUR_MS})`
}

type Page = readonly [number: number, type: string, rows: number]
type Hour = readonly [hour: number, rows: number]

export interface PageOrder {
  readonly pageBytes: number
  /** The numbers of all pages, from 1 on. */
  readonly pages: Uint32Array
}

/** @param file whole, and not changed meanwhile */
export function orderPages(file: string): PageOrder {
  const db = openForReading(file)
  try {
    const pageBytes = Number(db.pragma('page_size', { simple: true }))
    return { pageBytes, pages: inOrder(db, statSync(file).size / pageBytes) }
  } finally {
    db.close()
  }
}

function inOrder(db: Connection, total: number): Uint32Array {
  const pages = new Uint32Array(total)
  const isPlaced = new Uint8Array(total + 1)
  let count = 0
  const place = (page: number) => {
    isPlaced[page] = 1
    pages[count++] = page
  }
  // Of one tree at a time: there can be millions.
  const keys = new Float64Array(total)
  for (const tree of db.prepare<[], string>(TREES).pluck().all()) {
    for (const part of keysOfTree(db, tree, keys)) part.forEach((key) => place(key % PAGES_MAX))
  }
  // Those that are free.
  for (let page = 1; page <= total; page++) if (isPlaced[page] === 0) place(page)
  return pages
}

/** @returns the keys of its leaves and of the few pages above them, in order, in parts of `keys` */
function keysOfTree(db: Connection, tree: string, keys: Float64Array): readonly Float64Array[] {
  // Tables of an older format may be other ones.
  const isNewest = formatOf(db) === newestOf(MEASUREMENT_MIGRATIONS)
  const rowsInHour = isNewest ? ROWS_IN_HOUR[tree] : undefined
  const hours = rowsInHour === undefined ? undefined : new HourOfRow(db, hoursOf(rowsInHour))
  let leaves = 0
  let above = keys.length
  let row = 0
  for (const [page, type, rows] of db.prepare<[string], Page>(PAGES).raw().iterate(tree)) {
    const isLeaf = type === 'leaf'
    keys[isLeaf ? leaves++ : --above] = (hours?.find(row) ?? 0) * PAGES_MAX + page
    // One row is above, between it and the next.
    if (isLeaf) row += rows + 1
  }
  hours?.close()
  const parts = [keys.subarray(0, leaves), keys.subarray(above)]
  return hours === undefined ? parts : parts.map((part) => part.sort())
}

class HourOfRow {
  readonly #hours: IterableIterator<Hour>
  #hour = 0
  #endRow = 0

  constructor(db: Connection, sql: string) {
    this.#hours = db.prepare<[], Hour>(sql).raw().iterate()
  }

  /** @param row its number, which is never less than that of the call before */
  find(row: number): number {
    while (row >= this.#endRow) {
      const next = this.#hours.next()
      if (next.done === true) break
      const [hour, rows] = next.value
      this.#hour = hour
      this.#endRow += rows
    }
    return this.#hour
  }

  close(): void {
    this.#hours.return?.()
  }
}
