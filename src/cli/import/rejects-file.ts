// Lines of an import that were not stored, in a file that can be corrected and imported again: each
// line unchanged, followed by the reason. Never overwrites an existing file.

import { open, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { OperationError } from '../../operations/failure.ts'
import type { FileRecord, RecordSource } from './read-records.ts'

const REASON = 'rejected_because'
const BUFFERED_CHARACTERS_MAX = 65_536

export class RejectsFile {
  readonly #path: string
  readonly #handle: FileHandle
  readonly #source: RecordSource
  #buffered = ''
  #count = 0

  private constructor(path: string, handle: FileHandle, source: RecordSource) {
    this.#path = path
    this.#handle = handle
    this.#source = source
  }

  /** @throws OperationError if the file exists or cannot be created */
  static async create(path: string, source: RecordSource): Promise<RejectsFile> {
    try {
      return new RejectsFile(path, await open(path, 'wx'), source)
    } catch (error) {
      const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST'
      const why = isThere ? 'the file already exists' : (error as Error).message
      const message = `cannot write rejects to ${path}: ${why}`
      throw new OperationError({ kind: 'failed', message }, { cause: error })
    }
  }

  async add(record: FileRecord, reason: string): Promise<void> {
    const isCsv = this.#source.format === 'csv'
    if (this.#count++ === 0 && isCsv) this.#buffered = `${headerOf(this.#source)}\n`
    this.#buffered += isCsv
      ? withColumn(record.raw, this.#source.delimiter, reason)
      : withMember(record, reason)
    this.#buffered += '\n'
    if (this.#buffered.length > BUFFERED_CHARACTERS_MAX) await this.#write()
  }

  /** Leaves no file behind if nothing was rejected. */
  async close(): Promise<void> {
    await this.#write()
    await this.#handle.close()
    if (this.#count === 0) await rm(this.#path)
  }

  async #write(): Promise<void> {
    await this.#handle.appendFile(this.#buffered)
    this.#buffered = ''
  }
}

/** The rejects of an earlier import already have the column. */
function headerOf({ header, delimiter, columns }: RecordSource): string {
  return columns.includes(REASON) ? header : `${header}${delimiter}${REASON}`
}

function withColumn(raw: string, delimiter: string, reason: string): string {
  return `${raw}${delimiter}"${reason.replaceAll('"', '""')}"`
}

function withMember({ raw, values }: FileRecord, reason: string): string {
  return values === undefined ? raw : JSON.stringify({ ...values, [REASON]: reason })
}
