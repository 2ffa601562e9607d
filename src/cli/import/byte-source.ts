// The input of an import: a file, read as often as needed, or standard input, read once. Its
// beginning is inspected first; for standard input that part is kept for the reading.

import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'

export interface ByteSource {
  /** Shown in messages. */
  readonly name: string
  /** The beginning, as much as requested; before any `read`. */
  look(): AsyncIterable<Buffer>
  /** The whole input; a stream only once. */
  read(): AsyncIterable<Buffer>
}

export function fileSource(file: string): ByteSource {
  return {
    name: file,
    look: () => createReadStream(file),
    read: () => createReadStream(file),
  }
}

export function streamSource(name: string, stream: Readable): ByteSource {
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const seen: Buffer[] = []
  async function* look(): AsyncIterable<Buffer> {
    yield* seen
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      seen.push(next.value)
      yield next.value
    }
  }
  async function* read(): AsyncIterable<Buffer> {
    while (seen.length > 0) yield seen.shift() as Buffer
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      yield next.value
    }
  }
  return { name, look, read }
}
