// The witness: a small file that says how far the log of each file was durable. SQLite takes a
// damaged log for a shorter one; held against the witness, a log that has lost its end shows.
//
// A thread notes the position of its file after each commit and before the answer, without a sync:
// what a process has written survives its death. So the witness is never ahead of what is durable.
// After a power cut it may be behind, by a second at most (`sqlite/log/keep-witness.ts` syncs it).

import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { DATA_FILES } from '../database.ts'
import { findSalts } from './write-ahead-log.ts'
import type { LogPosition } from './write-ahead-log.ts'

export const WITNESS_FILE = 'witness'

/** A slot for each file, in order: salts, frames, checksum of both. */
const SALTS_BYTES = 8
const FRAMES_AT = 8
const SUM_AT = 12
const SLOT_BYTES = 16

/** A file system that copies what it overwrites has no room for that either on a full disk. */
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT'])

export class Witness {
  readonly #descriptor: number
  readonly #at: number
  readonly #slot = Buffer.alloc(SLOT_BYTES)
  readonly #summedUp = this.#slot.subarray(0, SUM_AT)

  /** @param name of the file in `dataDir` whose only writer the caller is */
  constructor(dataDir: string, name: string) {
    const flags = constants.O_RDWR | constants.O_CREAT
    this.#descriptor = openSync(join(dataDir, WITNESS_FILE), flags, 0o600)
    this.#at = slotOf(name)
  }

  /** So much of the log is durable. */
  note({ salts, frames }: LogPosition): void {
    this.#slot.write(salts, 'hex')
    this.#slot.writeUInt32LE(frames, FRAMES_AT)
    this.#slot.writeUInt32LE(crc32(this.#summedUp), SUM_AT)
    this.#write()
  }

  /** The log is about to go, with all of it in the file. On disk when it returns. */
  clear(): void {
    this.#slot.fill(0)
    // What stayed would be taken for a loss.
    if (!this.#write()) ftruncateSync(this.#descriptor)
    fdatasyncSync(this.#descriptor)
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  /** @returns whether there was room; without it, the witness only knows less */
  #write(): boolean {
    try {
      writeSync(this.#descriptor, this.#slot, 0, SLOT_BYTES, this.#at)
      return true
    } catch (error) {
      if (!NO_ROOM.has((error as NodeJS.ErrnoException).code ?? '')) throw error
      return false
    }
  }
}

/**
 * Forgets the positions of logs that are gone, or were begun anew: a file that is made anew has a
 * log of its own. What is left holds until the file's writer notes more. On disk when it returns.
 */
export function forgetOtherLogs(dataDir: string): void {
  for (const name of DATA_FILES) {
    const durable = readWitness(dataDir, name)
    if (durable === undefined || durable.salts === findSalts(join(dataDir, name))) continue
    const witness = new Witness(dataDir, name)
    witness.clear()
    witness.close()
  }
}

/**
 * Forgets all positions: from here on the logs are emptied, which a witness would take for a loss.
 * On disk when it returns.
 */
export function clearWitness(dataDir: string): void {
  const file = join(dataDir, WITNESS_FILE)
  if (!existsSync(file)) return
  const descriptor = openSync(file, 'r+')
  try {
    ftruncateSync(descriptor)
    fdatasyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** How far the log of a file was durable; `undefined`: the witness does not say. */
export function readWitness(dataDir: string, name: string): LogPosition | undefined {
  const bytes = readBytes(join(dataDir, WITNESS_FILE))
  const slot = bytes.subarray(slotOf(name), slotOf(name) + SLOT_BYTES)
  if (slot.length < SLOT_BYTES) return undefined
  if (slot.readUInt32LE(SUM_AT) !== crc32(slot.subarray(0, SUM_AT))) return undefined
  return { salts: slot.toString('hex', 0, SALTS_BYTES), frames: slot.readUInt32LE(FRAMES_AT) }
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

function slotOf(name: string): number {
  return DATA_FILES.indexOf(name) * SLOT_BYTES
}
