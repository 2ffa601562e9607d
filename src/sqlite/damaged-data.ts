// Stored data whose checksum is wrong: a bit has flipped on the disk or on its way. What is damaged
// is never used.

import { crc32 } from 'node:zlib'

export class DamagedData extends Error {
  /** @param problem what is damaged, as it is told an operator */
  constructor(problem: string) {
    super(problem)
    this.name = 'DamagedData'
  }
}

/** The checksum of what is stored under an id, so that nothing can pass for another. */
export function checksumOf(id: number, bytes: Uint8Array): number {
  return crc32(bytes, id % 0x1_0000_0000)
}
