// A SQLite file inside a backup: the size of its pages, then each page behind its number, both as
// four bytes, in the order of page-order.ts.

import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { orderPages } from './page-order.ts'

const WORD_BYTES = 4
/** As SQLite has them. */
const PAGE_BYTES_MIN = 512
const PAGE_BYTES_MAX = 65_536
/** Bytes read at a time, more or less. */
const CHUNK_BYTES = 2 ** 20

interface Packed {
  readonly bytes: number
  readonly content: AsyncIterable<Buffer>
}

/** @param file whole, and not changed until all of it has been read */
export function packPages(file: string): Packed {
  const { pageBytes, pages } = orderPages(file)
  const bytes = WORD_BYTES + pages.length * (WORD_BYTES + pageBytes)
  return { bytes, content: readPages(file, pages, pageBytes) }
}

async function* readPages(
  file: string,
  pages: Uint32Array,
  pageBytes: number,
): AsyncGenerator<Buffer> {
  const head = Buffer.alloc(WORD_BYTES)
  head.writeUInt32LE(pageBytes)
  yield head
  const descriptor = openSync(file, 'r')
  try {
    const pagesAtOnce = Math.ceil(CHUNK_BYTES / pageBytes)
    for (let at = 0; at < pages.length; at += pagesAtOnce) {
      yield readNumbered(descriptor, pages.subarray(at, at + pagesAtOnce), pageBytes)
    }
  } finally {
    closeSync(descriptor)
  }
}

function readNumbered(descriptor: number, pages: Uint32Array, pageBytes: number): Buffer {
  const chunk = Buffer.alloc(pages.length * (WORD_BYTES + pageBytes))
  let at = 0
  for (const page of pages) {
    at = chunk.writeUInt32LE(page, at)
    at += readSync(descriptor, chunk, at, pageBytes, (page - 1) * pageBytes)
  }
  return chunk
}

/**
 * Writes such a file as it was. On disk when it resolves.
 *
 * @param what it is, for messages
 * @param target is created
 * @throws Error unless each page is there once
 */
export async function unpackPages(
  what: string,
  { bytes, content }: Packed,
  target: string,
): Promise<void> {
  const file = await open(target, 'wx', 0o600)
  try {
    let pages: NumberedPages | undefined
    let held: Buffer = Buffer.alloc(0)
    for await (const chunk of content) {
      held = Buffer.concat([held, chunk])
      if (pages === undefined && held.length >= WORD_BYTES) {
        pages = new NumberedPages(what, { bytes, pageBytes: held.readUInt32LE() })
        held = held.subarray(WORD_BYTES)
      }
      if (pages !== undefined) held = pages.write(file.fd, held)
    }
    if (pages === undefined) throw notWhole(what)
    await file.sync()
  } finally {
    await file.close()
  }
}

class NumberedPages {
  readonly #what: string
  readonly #pageBytes: number
  readonly #isWritten: Uint8Array

  constructor(what: string, { bytes, pageBytes }: { bytes: number; pageBytes: number }) {
    const count = (bytes - WORD_BYTES) / (WORD_BYTES + pageBytes)
    const isPage = pageBytes >= PAGE_BYTES_MIN && pageBytes <= PAGE_BYTES_MAX
    if (!isPage || !Number.isSafeInteger(count)) throw notWhole(what)
    this.#what = what
    this.#pageBytes = pageBytes
    this.#isWritten = new Uint8Array(count + 1).fill(1, 0, 1)
  }

  /** Writes the whole ones to their places. @returns what is left */
  write(descriptor: number, chunk: Buffer): Buffer {
    const pageBytes = this.#pageBytes
    let at = 0
    for (; at + WORD_BYTES + pageBytes <= chunk.length; at += WORD_BYTES + pageBytes) {
      const page = chunk.readUInt32LE(at)
      if (this.#isWritten[page] !== 0) throw notWhole(this.#what)
      this.#isWritten[page] = 1
      writeSync(descriptor, chunk, at + WORD_BYTES, pageBytes, (page - 1) * pageBytes)
    }
    return chunk.subarray(at)
  }
}

function notWhole(what: string): Error {
  return new Error(`${what} is not a backup: it has not each of its pages once`)
}
