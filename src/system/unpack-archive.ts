// Unpacks an archive as it comes, without going back: from a pipe too.

import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { BLOCK_BYTES, HASH_NAME, lengthOf, nameOf, paddingOf, trailerOf } from './archive.ts'

/** Whoever unpacks says where to. */
export interface Unpacking {
  /** @returns the file to create for a member @throws Error to refuse it */
  begin(name: string, bytes: number): Promise<string>
  advance(bytes: number): void
}

/**
 * Reads an archive to its end, and compares it with its hash.
 *
 * @param source its name, for messages
 * @throws Error if it is not a whole archive: what is unpacked by then is worth nothing
 */
export async function unpackArchive(
  source: string,
  chunks: AsyncIterable<Buffer>,
  unpacking: Unpacking,
): Promise<void> {
  const bytes = new Bytes(chunks)
  const hash = createHash('sha256')
  for (;;) {
    const header = await bytes.take(BLOCK_BYTES)
    const name = nameOf(header)
    if (name === HASH_NAME) {
      const trailer = trailerOf(hash.digest('hex'))
      // A byte more than there may be.
      const rest = await bytes.take(trailer.length - BLOCK_BYTES + 1)
      if (trailer.equals(Buffer.concat([header, rest]))) return
      throw new Error(`${source} is not a backup, or it is damaged: its hash does not match`)
    }
    const length = header.length === BLOCK_BYTES ? lengthOf(header) : undefined
    if (length === undefined) throw new Error(`${source} is not a backup, or its end is missing`)
    hash.update(header)
    await writeMember(await unpacking.begin(name, length), bytes.pass(length), (chunk) => {
      hash.update(chunk)
      unpacking.advance(chunk.length)
    })
    hash.update(await bytes.take(paddingOf(length).length))
  }
}

async function writeMember(
  target: string,
  chunks: AsyncIterable<Buffer>,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  const handle = await open(target, 'wx', 0o600)
  try {
    for await (const chunk of chunks) {
      onChunk(chunk)
      await handle.writeFile(chunk)
    }
  } finally {
    await handle.close()
  }
}

/** Bytes in portions of the reader's choice, from chunks as they come. */
class Bytes {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** So many bytes, or as many as there are. */
  async take(length: number): Promise<Buffer> {
    const taken: Buffer[] = []
    for await (const chunk of this.pass(length)) taken.push(chunk)
    return Buffer.concat(taken)
  }

  async *pass(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0;) {
      if (this.#rest.length === 0) {
        const next = await this.#chunks.next()
        if (next.done === true) return
        this.#rest = next.value
      }
      const chunk = this.#rest.subarray(0, left)
      this.#rest = this.#rest.subarray(chunk.length)
      left -= chunk.length
      yield chunk
    }
  }
}
