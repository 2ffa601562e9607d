// The order in which a backup has the pages of a file, for programs that store of one backup only
// what the last one had not. They cut it into pieces of a megabyte, of which one changed page is
// enough to make a new piece; and a day changes a few pages of each sensor, which are all over the
// file. So pages come by the time of what is in them, table by table: what is old stays as it is
// and where it is, what is new is at the end.

import { statSync } from 'node:fs'
import { formatOf, newestOf, openForReading } from '../database.ts'
import type { Connection } from '../database.ts'
import { MEASUREMENT_MIGRATIONS } from '../measurements/schema.ts'

/** Tables clustered by sensor and time, with a row for each hour that hour_summaries has. */
const TIME_COLUMNS: Readonly<Record<string, string>> = {
  measurements: 'measured_at_ms',
  minute_summaries: 'start_ms',
  quarter_summaries: 'start_ms',
  hour_summaries: 'start_ms',
}
const HOUR_MS = 3_600_000
/** More than there are pages in a file. */
const PAGES_MAX = 2 ** 32

const TREES = `
  SELECT 'sqlite_schema' UNION ALL
  SELECT name FROM sqlite_schema WHERE rootpage > 0`
/** Parents before children, these in the order of their keys. */
const PAGES = 'SELECT pageno, pagetype, ncell FROM dbstat WHERE name = ?'

const hoursOf = (table: string, time: string) => `
  SELECT start_ms / ${HOUR_MS},
    (SELECT count(*) FROM ${table} t WHERE t.sensor_id = h.sensor_id
      AND t.${time} >= h.start_ms AND t.${time} < h.start_ms + ${HOUR_MS})
  FROM hour_summaries h ORDER BY sensor_id, start_ms`

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
    const pages = new Uint32Array(statSync(file).size / pageBytes)
    const isPlaced = new Uint8Array(pages.length + 1)
    let count = 0
    const place = (page: number) => {
      isPlaced[page] = 1
      pages[count++] = page
    }
    for (const tree of db.prepare<[], string>(TREES).pluck().all()) {
      for (const page of pagesOfTree(db, tree)) place(page)
    }
    // Those that are free.
    for (let page = 1; page <= pages.length; page++) if (isPlaced[page] === 0) place(page)
    return { pageBytes, pages }
  } finally {
    db.close()
  }
}

/** Its leaves, then the few pages above them. */
function pagesOfTree(db: Connection, tree: string): number[] {
  // Tables of an older format may be other ones.
  const isNewest = formatOf(db) === newestOf(MEASUREMENT_MIGRATIONS)
  const time = isNewest ? TIME_COLUMNS[tree] : undefined
  const hours = time === undefined ? undefined : new HourOfRow(db, hoursOf(tree, time))
  const leaves: number[] = []
  const others: number[] = []
  let row = 0
  for (const [page, type, rows] of db.prepare<[string], Page>(PAGES).raw().iterate(tree)) {
    const isLeaf = type === 'leaf'
    const place = (hours?.find(row) ?? 0) * PAGES_MAX + page
    if (isLeaf) leaves.push(place)
    else others.push(place)
    // One row is above, between it and the next.
    if (isLeaf) row += rows + 1
  }
  hours?.close()
  return [leaves, others].flatMap((places) => {
    const ordered = time === undefined ? places : Float64Array.from(places).sort()
    return Array.from(ordered, (place) => place % PAGES_MAX)
  })
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
