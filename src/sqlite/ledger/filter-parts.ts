// The filter of a run that a merge is writing, as far as it is written: part by part in the file,
// so that a start need not make it of the blocks again. A run in use has its filter in one piece.

import type { Connection } from '../database.ts'
import type { RunPlan } from './ledger-run.ts'
import { LINE_WORDS } from './run-filter.ts'

const INSERT_PART = 'INSERT INTO filter_parts (run_no, first_line, lines) VALUES (?, ?, ?)'
const PARTS = `
  SELECT first_line AS firstLine, lines FROM filter_parts WHERE run_no = ? ORDER BY first_line`
const DELETE_PARTS = 'DELETE FROM filter_parts WHERE run_no = ?'

const LINE_BYTES = LINE_WORDS * 4

export class FilterParts {
  readonly #runNo: number
  readonly #insert
  readonly #parts
  readonly #delete

  constructor(db: Connection, { runNo }: RunPlan) {
    this.#runNo = runNo
    this.#insert = db.prepare<[number, number, Buffer]>(INSERT_PART)
    this.#parts = db.prepare<[number], { firstLine: number; lines: Buffer }>(PARTS)
    this.#delete = db.prepare<[number]>(DELETE_PARTS)
  }

  /**
   * Reads what there is into the filter.
   *
   * @returns the line that it ends before
   */
  read(filter: Uint32Array): number {
    let stopLine = 0
    for (const { firstLine, lines } of this.#parts.iterate(this.#runNo)) {
      bytesOf(filter, firstLine * LINE_BYTES, filter.byteLength).set(lines)
      stopLine = firstLine + lines.length / LINE_BYTES
    }
    return stopLine
  }

  /** Adds the lines [firstLine, stopLine), which follow on those that there are. */
  add(filter: Uint32Array, firstLine: number, stopLine: number): void {
    const lines = bytesOf(filter, firstLine * LINE_BYTES, stopLine * LINE_BYTES)
    this.#insert.run(this.#runNo, firstLine, lines)
  }

  delete(): void {
    this.#delete.run(this.#runNo)
  }
}

function bytesOf({ buffer, byteOffset }: Uint32Array, start: number, stop: number): Buffer {
  return Buffer.from(buffer, byteOffset + start, stop - start)
}
