// Damaging a chosen page of a file that nothing has open.

import { closeSync, openSync, writeSync } from 'node:fs'
import { openTagged } from '../../src/sqlite/database.ts'

// Paths say where a page is in the tree: in their order, leaves are in the order of the keys.
const LEAVES = `SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path`

/** Overwrites some bytes of a leaf of a table's tree, the first one being 0. */
export function damageLeaf(file: string, table: string, leaf: number): void {
  const db = openTagged(file)
  const pageBytes = Number(db.pragma('page_size', { simple: true }))
  const pages = db.prepare<[string], number>(LEAVES).pluck().all(table)
  db.close()
  const page = pages[leaf]
  if (page === undefined) throw new Error(`${table} has ${pages.length} leaves`)
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, 'damaged', (page - 1) * pageBytes + pageBytes / 2)
  closeSync(descriptor)
}
