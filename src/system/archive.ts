// A backup as one file: a tar archive (ustar) that ends with a member `sha256`, the hash of all
// bytes before it. So any tar can unpack it, and every bit of it is covered. Lengths of
// 8 GiB and more are written in binary, as GNU tar does.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

type OnBytes = (bytes: number) => void

/** A file inside an archive. */
export interface ArchiveMember {
  readonly name: string
  readonly start: number
  readonly bytes: number
}

export const BLOCK_BYTES = 512
const OCTAL_BYTES_MAX = 8 ** 11 - 1
const LENGTH_AT = 124
const LENGTH_BYTES = 12
const BINARY_LENGTH_AT = 128
const CHECKSUM_AT = 148
export const HASH_NAME = 'sha256'
/** Header and content of the hash, and the two empty blocks at the end of every tar archive. */
const TRAILER_BYTES = 4 * BLOCK_BYTES
const READ_BYTES = 1024 * 1024
const NAME_BYTES = 100
const TEXT_BYTES_MAX = 1024 * 1024
/** Far more than any backup has. */
const MEMBERS_MAX = 64

/** Takes the bytes of an archive, in order; resolves when it can take more. */
export type Put = (bytes: Buffer) => Promise<void>

export class ArchiveWriter {
  readonly #put: Put
  readonly #modifiedAtMs: number
  readonly #hash = createHash('sha256')

  /** @param modifiedAtMs the members' modification time */
  constructor(put: Put, modifiedAtMs: number) {
    this.#put = put
    this.#modifiedAtMs = modifiedAtMs
  }

  async addFile(name: string, file: string, onBytes: OnBytes): Promise<void> {
    const source = await open(file)
    try {
      const { size } = await source.stat()
      await this.#write(headerOf({ name, bytes: size }, this.#modifiedAtMs))
      const chunks = source.createReadStream({ highWaterMark: READ_BYTES, autoClose: false })
      for await (const chunk of chunks as AsyncIterable<Buffer>) {
        await this.#write(chunk)
        onBytes(chunk.length)
      }
      await this.#write(paddingOf(size))
    } finally {
      await source.close()
    }
  }

  async addText(name: string, text: string): Promise<void> {
    const content = Buffer.from(text)
    await this.#write(headerOf({ name, bytes: content.length }, this.#modifiedAtMs))
    await this.#write(content)
    await this.#write(paddingOf(content.length))
  }

  /** Without this an archive is refused. */
  async finish(): Promise<void> {
    await this.#put(trailerOf(this.#hash.digest('hex')))
  }

  async #write(bytes: Buffer): Promise<void> {
    this.#hash.update(bytes)
    await this.#put(bytes)
  }
}

/**
 * Writes an archive into a new file, private to its owner. On disk when it resolves.
 *
 * @param fill adds the members and finishes it
 */
export async function writeArchiveFile(
  path: string,
  fill: (put: Put) => Promise<void>,
): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await fill((bytes) => handle.writeFile(bytes))
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Reads a whole archive and checks it against its hash.
 *
 * @returns its members by name, all within its bounds
 * @throws Error if it is not an archive, or a single bit of it has changed
 */
export async function verifyArchive(
  path: string,
  onBytes: OnBytes,
): Promise<ReadonlyMap<string, ArchiveMember>> {
  const handle = await open(path)
  try {
    const { size } = await handle.stat()
    const hashedBytes = size - TRAILER_BYTES
    if (hashedBytes < BLOCK_BYTES) throw new Error(`${path} is not a backup: it is too short`)
    const hash = createHash('sha256')
    const chunks = createReadStream(path, { end: hashedBytes - 1, highWaterMark: READ_BYTES })
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      hash.update(chunk)
      onBytes(chunk.length)
    }
    const trailer = await readAt(handle, hashedBytes, TRAILER_BYTES)
    if (!trailer.equals(trailerOf(hash.digest('hex')))) {
      throw new Error(`${path} is not a backup, or it is damaged: its hash does not match`)
    }
    return await readMembers(path, handle, hashedBytes)
  } finally {
    await handle.close()
  }
}

/** Whether a file begins like an archive whose first member has this name. */
export async function beginsWith(path: string, name: string): Promise<boolean> {
  const handle = await open(path)
  try {
    const header = await readAt(handle, 0, BLOCK_BYTES)
    const bytes = header.length === BLOCK_BYTES ? lengthOf(header) : undefined
    if (bytes === undefined) return false
    // All but the time.
    const wanted = headerOf(
      { name, bytes },
      Number.parseInt(header.toString('latin1', 136, 147), 8) * 1_000,
    )
    return header.equals(wanted)
  } finally {
    await handle.close()
  }
}

/** Writes a member into a file of its own. On disk when it resolves. */
export async function extractMember(
  path: string,
  { start, bytes }: ArchiveMember,
  target: string,
  onBytes: OnBytes,
): Promise<void> {
  const handle = await open(target, 'wx', 0o600)
  try {
    const end = start + bytes - 1
    const chunks = createReadStream(path, { start, end, highWaterMark: READ_BYTES })
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      await handle.writeFile(chunk)
      onBytes(chunk.length)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Reads a text member. @throws Error if it is too long */
export async function readTextMember(path: string, member: ArchiveMember): Promise<string> {
  if (member.bytes > TEXT_BYTES_MAX) {
    throw new Error(`${path}: ${member.name} has ${member.bytes} bytes, too many for this text`)
  }
  const handle = await open(path)
  try {
    return (await readAt(handle, member.start, member.bytes)).toString()
  } finally {
    await handle.close()
  }
}

// Anybody can append the right hash to anything: lengths and names are not trusted because of it.
async function readMembers(
  path: string,
  handle: FileHandle,
  stop: number,
): Promise<ReadonlyMap<string, ArchiveMember>> {
  const members = new Map<string, ArchiveMember>()
  for (let at = 0; at < stop;) {
    const header = await readAt(handle, at, Math.min(BLOCK_BYTES, stop - at))
    const start = at + BLOCK_BYTES
    const bytes = lengthOf(header)
    if (header.length < BLOCK_BYTES || bytes === undefined || bytes > stop - start) {
      throw new Error(`${path} is not a backup: it has an unknown member at byte ${at}`)
    }
    const name = nameOf(header)
    if (members.has(name))
      throw new Error(`${path} is not a backup: it has ${JSON.stringify(name)} twice`)
    if (members.size === MEMBERS_MAX)
      throw new Error(`${path} is not a backup: it has too many files`)
    members.set(name, { name, start, bytes })
    at = start + bytes + paddingOf(bytes).length
  }
  return members
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  const { bytesRead } = await handle.read(buffer, 0, length, position)
  return buffer.subarray(0, bytesRead)
}

function headerOf(member: { name: string; bytes: number }, modifiedAtMs: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES)
  header.write(member.name, 0)
  header.write('0000600\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  if (member.bytes <= OCTAL_BYTES_MAX) header.write(`${octal(member.bytes, 11)} `, LENGTH_AT)
  else writeBinaryLength(header, member.bytes)
  header.write(`${octal(Math.floor(modifiedAtMs / 1_000), 11)} `, 136)
  header.write('0', 156)
  header.write('ustar\u000000', 257)
  header.fill(' ', CHECKSUM_AT, CHECKSUM_AT + 8)
  let sum = 0
  for (const byte of header) sum += byte
  header.write(`${octal(sum, 6)}\0 `, CHECKSUM_AT)
  return header
}

function writeBinaryLength(header: Buffer, bytes: number): void {
  header[LENGTH_AT] = 0x80
  header.writeBigUInt64BE(BigInt(bytes), BINARY_LENGTH_AT)
}

export function nameOf(header: Buffer): string {
  return header.toString('latin1', 0, NAME_BYTES).replace(/\0.*$/s, '')
}

/** The length in a header; `undefined` if invalid. */
export function lengthOf(header: Buffer): number | undefined {
  const field = header.toString('latin1', LENGTH_AT, LENGTH_AT + LENGTH_BYTES)
  if (/^[0-7]{11}[ \0]$/.test(field)) return Number.parseInt(field, 8)
  if (!/^\x80\0{3}/.test(field)) return undefined
  return Number(header.readBigUInt64BE(BINARY_LENGTH_AT))
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

export function paddingOf(bytes: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES)
}

/** Depends only on the hash, so that it can be compared as a whole. */
export function trailerOf(hash: string): Buffer {
  const trailer = Buffer.alloc(TRAILER_BYTES)
  const line = `${hash}\n`
  headerOf({ name: HASH_NAME, bytes: line.length }, 0).copy(trailer)
  trailer.write(line, BLOCK_BYTES)
  return trailer
}
