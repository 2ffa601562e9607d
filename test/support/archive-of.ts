// Archives as nobody writes them: of any headers and contents, with a hash that fits.

import { createHash } from 'node:crypto'

const BLOCK_BYTES = 512

export interface ForgedMember {
  readonly name: string
  readonly content?: string | Buffer
  /** The twelve bytes that say how long it is, in place of the right ones. */
  readonly length?: string
  /** `0` is a file. */
  readonly type?: string
}

export function archiveOf(members: readonly ForgedMember[]): Buffer {
  const hashed = Buffer.concat(members.map(memberOf))
  const hash = createHash('sha256').update(hashed).digest('hex')
  const trailer = memberOf({ name: 'sha256', content: `${hash}\n` })
  return Buffer.concat([hashed, trailer, Buffer.alloc(2 * BLOCK_BYTES)])
}

/** A file as backups have it: each page behind its number. */
export function pagesOf(file: Buffer, pageBytes: number): Buffer {
  const pages = Array.from({ length: file.length / pageBytes }, (_, at) => [
    wordOf(at + 1),
    file.subarray(at * pageBytes, (at + 1) * pageBytes),
  ])
  return Buffer.concat([wordOf(pageBytes), ...pages.flat()])
}

function wordOf(value: number): Buffer {
  const word = Buffer.alloc(4)
  word.writeUInt32LE(value)
  return word
}

function memberOf(member: ForgedMember): Buffer {
  const content = Buffer.from(member.content ?? '')
  const header = Buffer.alloc(BLOCK_BYTES)
  header.write(member.name, 0, 'latin1')
  header.write('000600 ', 100)
  for (const at of [108, 116, 329, 337]) header.write('000000 ', at)
  const length = member.length ?? `${content.length.toString(8).padStart(11, '0')} `
  header.write(length, 124, 12, 'latin1')
  header.write(`${'0'.repeat(11)} `, 136)
  header.write(member.type ?? '0', 156)
  header.write('ustar\u000000', 257)
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')} \0`, 148)
  const padding = Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES)
  return Buffer.concat([header, content, padding])
}
