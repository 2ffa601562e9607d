// What an import reads: a file, as often as it takes, or standard input, once. The beginning of
// either is looked at before it is read; of standard input that part is kept for the reading.

import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'

export interface ByteSource {
  /** For messages. */
  readonly name: string
  /** From the beginning, as far as is asked for; before any `read`. */
  look(): AsyncIterable<Buffer>
  /** All of it; a stream only once. */
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
