// A SQLite file as it is at one moment, to be copied byte by byte while its writer goes on.
// (SQLite's own backup opens the copy without the key for its pages.)
//
// While a read transaction is open, SQLite moves nothing committed after it from the log into the
// file, and does not restart a log that the transaction still needs. So the file plus the log up to
// the last commit is what the transaction sees; a page moved into the file during the copy is in
// the copy of the log as well. The head of the log's index says how far the log went, and whether
// all of it was in the file: see https://www.sqlite.org/walformat.html, sections 2.1 and 2.2.
//
// A process that closes a file loses all its locks on it, SQLite's included. So the files are
// opened beside the connection and closed after it, by a process that has no other.

import {
  closeSync,
  createReadStream,
  createWriteStream,
  fstatSync,
  openSync,
  readSync,
} from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { openForReading, openTagged } from '../database.ts'
import type { Connection } from '../database.ts'

/** In the log's index: changes with every commit. */
const INDEX_HEAD_BYTES = 48
const LOGGED_PAGES_AT = 16
/** After two copies of the head. */
const PAGES_IN_FILE_AT = 96
const INDEX_BYTES = 100

const LOG_HEAD_BYTES = 32
const LOGGED_PAGE_HEAD_BYTES = 24

/** Bytes copied at a time. */
const CHUNK_BYTES = 2 ** 20

export class PinnedFile {
  readonly db: Connection
  readonly #file: number
  readonly #log: number
  readonly #index: number
  #before: Buffer = Buffer.alloc(0)
  #logBytes = 0

  /** Opens an existing file. */
  constructor(file: string) {
    this.db = openForReading(file)
    // Log and index exist from now on, for as long as the connection does.
    look(this.db)
    this.#file = openSync(file, 'r')
    this.#log = openSync(`${file}-wal`, 'r')
    this.#index = openSync(`${file}-shm`, 'r')
  }

  /** Begins a transaction. */
  pin(): void {
    this.#before = this.#readIndex()
    this.db.exec('BEGIN')
    // A transaction sees the file as of its first read.
    look(this.db)
  }

  /**
   * Whether nothing has been committed since `pin` began, so that the transaction sees the last
   * commit.
   */
  isNewest(): boolean {
    const now = this.#readIndex()
    if (now.compare(this.#before, 0, INDEX_HEAD_BYTES, 0, INDEX_HEAD_BYTES) !== 0) return false
    // Written for little-endian processors, like everything here.
    const loggedPages = now.readUInt32LE(LOGGED_PAGES_AT)
    const isInFile = now.readUInt32LE(PAGES_IN_FILE_AT) >= loggedPages
    const pageBytes = Number(this.db.pragma('page_size', { simple: true }))
    const logBytes = LOG_HEAD_BYTES + loggedPages * (LOGGED_PAGE_HEAD_BYTES + pageBytes)
    this.#logBytes = isInFile ? 0 : logBytes
    return true
  }

  unpin(): void {
    this.db.exec('ROLLBACK')
  }

  /** What to copy. */
  get bytes(): number {
    return fstatSync(this.#file).size + this.#logBytes
  }

  /** Copies what the transaction sees into one new file. */
  async copy(target: string, onBytes: (bytes: number) => void): Promise<void> {
    await copyBytes(this.#file, target, fstatSync(this.#file).size, onBytes)
    if (this.#logBytes === 0) return
    await copyBytes(this.#log, `${target}-wal`, this.#logBytes, onBytes)
    const copy = openTagged(target)
    copy.pragma('wal_checkpoint(TRUNCATE)')
    copy.close()
  }

  close(): void {
    this.db.close()
    for (const descriptor of [this.#file, this.#log, this.#index]) closeSync(descriptor)
  }

  #readIndex(): Buffer {
    const bytes = Buffer.alloc(INDEX_BYTES)
    readSync(this.#index, bytes, { position: 0 })
    return bytes
  }
}

function look(db: Connection): void {
  db.prepare('SELECT count(*) FROM sqlite_schema').get()
}

async function copyBytes(
  from: number,
  to: string,
  bytes: number,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      onBytes(chunk.length)
      yield chunk
    }
  }
  const range = { fd: from, autoClose: false, start: 0, end: bytes - 1 }
  const source = createReadStream('', { ...range, highWaterMark: CHUNK_BYTES })
  await pipeline(source, counted, createWriteStream(to, { mode: 0o600 }))
}
