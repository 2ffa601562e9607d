// A file's log as it is on disk, read without SQLite, which takes a frame that is not as it was
// written for the end of the log and says nothing. Format:
// https://www.sqlite.org/walformat.html, section 4. Checksums of frames are of what they encrypt,
// so only SQLite can check those; what is read here are heads.

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** How far a log was written: which log, and the number of its frames. */
export interface LogPosition {
  /** Eight bytes that every restart of the log changes, hexadecimal. */
  readonly salts: string
  readonly frames: number
}

export interface WalkedLog {
  /** `undefined`: nobody can know, because the log's head is not as it was written. */
  readonly salts: string | undefined
  /** In its head, damaged or not. */
  readonly foundSalts: string
  /** The numbers, from 1, of frames that end a commit, wherever they are. */
  readonly commits: readonly number[]
}

const HEAD_BYTES = 32
const FRAME_HEAD_BYTES = 24

/** In the head of a log, and in that of a frame. */
const SALTS = { bytes: 8, inHead: 16, inFrame: 8 }
const PAGE_BYTES_AT = 8
const HEAD_SUM_AT = 24

/** In the head of a frame: pages of the file if it ends a commit, else 0. */
const COMMITTED_PAGES_AT = 4

/** The log's first four bytes; the last bit says in which order bytes are summed up. */
const MAGIC = 0x377f0682

const READ_BYTES = 2 ** 20

/** Salts are read with each commit. */
const readBytes = Buffer.alloc(SALTS.bytes)

/** @param log the descriptor of one that has frames */
export function readSalts(log: number): string {
  readSync(log, readBytes, 0, SALTS.bytes, SALTS.inHead)
  return saltsOf(readBytes, 0)
}

/** How often a log was begun anew from some salts to others: the first is counted up each time. */
export function restartsBetween(earlier: string, later: string): number {
  const [from, to] = [earlier, later].map((salts) => Number.parseInt(salts.slice(0, 8), 16))
  const restarts = ((to ?? 0) - (from ?? 0)) >>> 0
  return restarts === 0 ? Infinity : restarts
}

/** @returns `undefined` if there is no log, or nothing was ever written to it */
export function findSalts(file: string): string | undefined {
  return ifThere(file, (log) => (readHead(log) === undefined ? undefined : readSalts(log)))
}

/**
 * Looks for the ends of commits in a log, at the heads of its frames only. A log is begun anew in
 * the same file, so behind its end there may be frames of earlier ones: those have other salts.
 *
 * @returns `undefined` if there is no log, or nothing was ever written to it
 */
export function walkLog(file: string): WalkedLog | undefined {
  return ifThere(file, (log) => {
    const head = readHead(log)
    if (head === undefined) return undefined
    const foundSalts = saltsOf(head, SALTS.inHead)
    if (!isWhole(head)) return { salts: undefined, foundSalts, commits: [] }
    const frameBytes = FRAME_HEAD_BYTES + head.readUInt32BE(PAGE_BYTES_AT)
    const commits = [...commitsIn(log, frameBytes, foundSalts)]
    return { salts: foundSalts, foundSalts, commits }
  })
}

function* commitsIn(log: number, frameBytes: number, salts: string): Generator<number> {
  const frames = Math.floor((fstatSync(log).size - HEAD_BYTES) / frameBytes)
  const framesPerRead = Math.max(1, Math.floor(READ_BYTES / frameBytes))
  const bytes = Buffer.alloc(framesPerRead * frameBytes)
  for (let first = 0; first < frames; first += framesPerRead) {
    readSync(log, bytes, { position: HEAD_BYTES + first * frameBytes })
    const count = Math.min(framesPerRead, frames - first)
    for (let frame = 0; frame < count; frame++) {
      const at = frame * frameBytes
      const isCommit = bytes.readUInt32BE(at + COMMITTED_PAGES_AT) > 0
      if (isCommit && saltsOf(bytes, at + SALTS.inFrame) === salts) yield first + frame + 1
    }
  }
}

/** Nobody locks a log, so no lock is lost by closing it. */
export function openLog(file: string): number {
  return openSync(`${file}-wal`, 'r')
}

function ifThere<Result>(file: string, read: (log: number) => Result): Result | undefined {
  let log: number
  try {
    log = openLog(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    return read(log)
  } finally {
    closeSync(log)
  }
}

/** @returns `undefined` if there is no frame behind it */
function readHead(log: number): Buffer | undefined {
  const head = Buffer.alloc(HEAD_BYTES)
  readSync(log, head, { position: 0 })
  return fstatSync(log).size <= HEAD_BYTES + FRAME_HEAD_BYTES ? undefined : head
}

function saltsOf(bytes: Buffer, at: number): string {
  return bytes.toString('hex', at, at + SALTS.bytes)
}

function isWhole(head: Buffer): boolean {
  const magic = head.readUInt32BE(0)
  if (magic !== MAGIC && magic !== MAGIC + 1) return false
  const isBigEndian = magic === MAGIC + 1
  let [first, second] = [0, 0]
  for (let at = 0; at < HEAD_SUM_AT; at += 8) {
    first = (first + wordAt(head, at, isBigEndian) + second) >>> 0
    second = (second + wordAt(head, at + 4, isBigEndian) + first) >>> 0
  }
  const sums = [head.readUInt32BE(HEAD_SUM_AT), head.readUInt32BE(HEAD_SUM_AT + 4)]
  return sums[0] === first && sums[1] === second
}

function wordAt(bytes: Buffer, at: number, isBigEndian: boolean): number {
  return isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)
}
