// What the only writer of a file does for its log besides writing it: the witness learns of each
// commit, and a long log is moved into the file. Only then, because what is moved is overlaid by
// the log when that is read again: if a log that has lost its end held older versions of pages that
// are in the file already, nobody would know what is whole.

import { closeSync, fdatasyncSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Connection } from '../database.ts'
import { isStorageFull } from '../database.ts'
import { findSalts, openLog, readSalts } from './write-ahead-log.ts'
import type { LogPosition } from './write-ahead-log.ts'
import { Witness } from './witness.ts'

export interface LogKeeping {
  /** A log of this size is moved with each commit until one of them begins it anew. */
  readonly bytesMax: number
  /**
   * `RESTART` waits for readers, briefly, so that the next commit begins the log anew: for a file
   * that is being read most of the time, whose log would grow without end.
   */
  readonly mode: 'PASSIVE' | 'RESTART'
}

export class LogKeeper {
  readonly #db: Connection
  readonly #witness: Witness
  readonly #framesMax: number
  readonly #look
  readonly #moveFrames
  #log: number | undefined
  #noted: LogPosition | undefined

  /** @param db the only writer of its file, which is in DATA_DIR */
  constructor(db: Connection, { bytesMax, mode }: LogKeeping) {
    db.pragma('wal_autocheckpoint = 0')
    this.#db = db
    this.#witness = new Witness(dirname(db.name), basename(db.name))
    this.#framesMax = Math.ceil(bytesMax / Number(db.pragma('page_size', { simple: true })))
    // As an array: a row as an object costs more than the look.
    this.#look = db.prepare<[], [number, number]>('PRAGMA wal_checkpoint(NOOP)').raw()
    this.#moveFrames = db.prepare(`PRAGMA wal_checkpoint(${mode})`)
  }

  /** Everything committed is durable: to be called after each commit, before its answer. */
  noteCommitted(): void {
    this.noteDurable(this.position())
  }

  /** Everything up to a position is durable. */
  noteDurable(position: LogPosition): void {
    const { salts, frames } = position
    if (frames === 0 || (frames === this.#noted?.frames && salts === this.#noted.salts)) return
    this.#note(position)
    if (frames >= this.#framesMax) this.#move()
  }

  /** How far the log goes. */
  position(): LogPosition {
    const [, frames] = this.#look.get() ?? [0, 0]
    if (frames <= 0) return { salts: '', frames: 0 }
    this.#log ??= openLog(this.#db.name)
    return { salts: readSalts(this.#log), frames }
  }

  /** Whether more than may be in a log is not known to be durable, so that it cannot be moved. */
  get isFarAhead(): boolean {
    const { salts, frames } = this.position()
    const durable = this.#noted?.salts === salts ? this.#noted.frames : 0
    return frames - durable >= this.#framesMax
  }

  /** Closes the file. The last connection to it empties the log and removes it. */
  close(): void {
    const file = this.#db.name
    this.#witness.clear()
    this.#db.close()
    // Where somebody is still reading, a backup perhaps, the log stays.
    if (this.#noted !== undefined && this.#noted.salts === findSalts(file)) {
      this.#witness.note(this.#noted)
    }
    this.#witness.close()
    if (this.#log !== undefined) closeSync(this.#log)
  }

  #note(position: LogPosition): void {
    this.#witness.note(position)
    this.#noted = position
  }

  #move(): void {
    // More may have been committed while a sync was under way.
    const position = this.position()
    if (this.#log !== undefined) fdatasyncSync(this.#log)
    this.#note(position)
    try {
      this.#moveFrames.get()
    } catch (error) {
      // The log stays, and grows.
      if (!isStorageFull(error)) throw error
    }
  }
}
