// A backup as one file: a tar archive that ends with a member `sha256`, the hash of all bytes
// before it. So any tar can unpack it, and every bit of it is covered. It is written and read as a
// stream, to and from pipes too.

import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { extract, pack } from 'tar-stream'

type Chunks = AsyncIterable<Buffer>

/** A file inside an archive. */
export interface ArchiveMember {
  readonly name: string
  readonly bytes: number
  readonly content: Chunks
}

const BLOCK_BYTES = 512
/** Header and content of the hash, and the two empty blocks at the end of every tar archive. */
const TRAILER_BYTES = 4 * BLOCK_BYTES
const READ_BYTES = 1024 * 1024

/** The chunks of a file. @param onBytes called with the length of each */
export async function* readFileChunks(
  file: string,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  yield* observed(createReadStream(file, { highWaterMark: READ_BYTES }), onBytes)
}

/** @param onBytes called with the length of each chunk before it is passed on */
export async function* observed(
  chunks: Chunks,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onBytes(chunk.length)
    yield chunk
  }
}

/** The bytes of an archive. @param modifiedAtMs the members' modification time */
export async function* packArchive(
  members: AsyncIterable<ArchiveMember>,
  modifiedAtMs: number,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const member of members) {
    for await (const chunk of packMember(member, modifiedAtMs)) {
      hash.update(chunk)
      yield chunk
    }
  }
  yield trailerOf(hash)
}

function packMember({ name, bytes, content }: ArchiveMember, modifiedAtMs: number): Chunks {
  const tar = pack()
  const header = { name, size: bytes, mode: 0o600, mtime: new Date(modifiedAtMs) }
  // The end of the stream without that of an archive. A failure has destroyed it by then.
  pipeline(content, tar.entry(header), () => tar.push(null))
  return tar as Chunks
}

/** Depends only on the hash, so that it can be compared as a whole. */
function trailerOf(hash: Hash): Promise<Buffer> {
  const tar = pack()
  const header = { name: 'sha256', mode: 0o600, mtime: new Date(0) }
  tar.entry(header, `${hash.digest('hex')}\n`)
  tar.finalize()
  return buffer(tar)
}

/**
 * Reads an archive to its end, and compares it with its hash.
 *
 * @param source its name, for messages
 * @param take gets each member, and reads all of its content or throws
 * @throws Error if it is not a whole archive: what is taken by then is worth nothing
 */
export async function readArchive(
  source: string,
  chunks: Chunks,
  take: (member: ArchiveMember) => Promise<void>,
): Promise<void> {
  let fault: Error | undefined
  const tar = extract().once('error', (error) => (fault = error))
  pipeline(withoutTrailer(chunks), tar, () => undefined)
  try {
    for await (const content of tar) {
      const { name, size, type } = content.header
      if (type !== 'file') throw new Error(`${source} is not a backup: it has more than files`)
      await take({ name, bytes: size, content: content as Chunks })
    }
  } catch (error) {
    if (fault === undefined) throw error
    const reason = `is not a backup, or it is damaged: ${fault.message}`
    throw new Error(`${source} ${reason}`, { cause: error })
  }
}

/** Whether a file begins like an archive of ours, and its first member has this name. */
export async function beginsWith(path: string, name: string): Promise<boolean> {
  const tar = extract()
  tar.end(await buffer(createReadStream(path, { end: BLOCK_BYTES - 1 })))
  try {
    // Other programs name an owner.
    for await (const { header } of tar) return header.name === name && header.uname === ''
  } catch {
    // It is no archive.
  }
  return false
}

async function* withoutTrailer(chunks: Chunks): Chunks {
  const hash = createHash('sha256')
  let held = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const free = held.length + chunk.length - TRAILER_BYTES
    const before = held.subarray(0, Math.max(0, free))
    const rest = chunk.subarray(0, Math.max(0, free - held.length))
    held = Buffer.concat([held.subarray(before.length), chunk.subarray(rest.length)])
    for (const part of [before, rest]) {
      hash.update(part)
      yield part
    }
  }
  if (!held.equals(await trailerOf(hash))) throw new Error('its hash does not match')
}
