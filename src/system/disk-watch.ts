// Whether the data directory's volume is too full to accept anything: asked often, checked once a
// second. It is too full if less than the minimum is free, together with what the backlog will take
// in the store; if a write failed for lack of space; or if the ballast is incomplete, without which
// the next start might fail.

import { resolve } from 'node:path'
import { freeSpaceMin } from '../domain/free-space.ts'
import type { FreeSpaceRule } from '../domain/free-space.ts'
import { SECOND_MS } from '../domain/time.ts'
import type { Log, StorageState } from '../ports/system.ts'
import { Ballast } from './ballast.ts'
import { readDiskSpace, sizeText } from './disk.ts'

const LOOK_EVERY_MS: number = SECOND_MS

export class DiskWatch implements StorageState {
  readonly #dataDir: string
  readonly #freeDiskMin: FreeSpaceRule
  readonly #log: Log
  readonly #ballast: Ballast
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #keepsBallast = false
  #backlogBytes = () => 0
  #room = { freeBytes: Infinity, freeBytesMin: 0 }
  /** A write failed for lack of space, and none has succeeded since. */
  #isFull = false
  #isLow = false

  constructor(
    log: Log,
    settings: {
      readonly dataDir: string
      readonly freeDiskMin: FreeSpaceRule
    },
  ) {
    this.#log = log
    this.#dataDir = settings.dataDir
    this.#freeDiskMin = settings.freeDiskMin
    this.#ballast = new Ballast(settings.dataDir)
  }

  get isLow(): boolean {
    return this.#isLow
  }

  /** Free space, and its minimum, as last checked. */
  get room(): { readonly freeBytes: number; readonly freeBytesMin: number } {
    return this.#room
  }

  /** Makes room for opening files. @throws Error if the directory cannot be examined */
  async start(): Promise<void> {
    await this.#ballast.giveUpIfFull()
    await this.#look()
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref()
  }

  /**
   * Everything is open: from now on the ballast is kept.
   *
   * @param backlogBytes what the backlog will take in the store
   */
  async keepReserve(backlogBytes: () => number): Promise<void> {
    await this.#looking
    this.#backlogBytes = backlogBytes
    this.#keepsBallast = true
    await this.look()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** A write found the disk full. It counts as full until a write succeeds. */
  noteFull(): void {
    if (this.#isFull) return
    this.#isFull = true
    this.#judge()
    // The figure may be a second old.
    void this.look()
  }

  /** Checks now. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  describe(): { readonly detail: string; readonly hint: string } {
    const { freeBytes } = this.#room
    const neededBytes = this.#neededBytes
    const free = `The volume of DATA_DIR has ${sizeText(freeBytes)} free`
    const isShort = freeBytes < neededBytes
    return {
      detail: isShort
        ? `${free} and needs ${sizeText(neededBytes)}.`
        : `${free}, and a write failed for lack of space.`,
      hint: `Free space on the volume of ${resolve(this.#dataDir)}, or enlarge it.`,
    }
  }

  get #neededBytes(): number {
    const ballastBytes = this.#keepsBallast ? this.#ballast.missingBytes : 0
    return this.#room.freeBytesMin + ballastBytes
  }

  async #look(): Promise<void> {
    try {
      if (this.#isFull && (await this.#ballast.findsRoom())) this.#isFull = false
      if (this.#keepsBallast) await this.#ballast.take()
    } catch (error) {
      // Whatever the reason, nothing can be written.
      if (!this.#isFull) this.#log.error('cannot write to DATA_DIR', { error: String(error) })
      this.#isFull = true
    }
    const { freeBytes, totalBytes } = await readDiskSpace(this.#dataDir)
    const ruleBytes = freeSpaceMin(this.#freeDiskMin, totalBytes)
    const backlogBytes = ruleBytes === 0 ? 0 : this.#backlogBytes()
    this.#room = { freeBytes, freeBytesMin: ruleBytes + backlogBytes }
    this.#judge()
  }

  #judge(): void {
    const { freeBytes, freeBytesMin } = this.#room
    const hasBallast = !this.#keepsBallast || this.#ballast.missingBytes <= 0
    const isLow = freeBytes < freeBytesMin || this.#isFull || !hasBallast
    if (isLow === this.#isLow) return
    this.#isLow = isLow
    const fields = {
      data_dir: this.#dataDir,
      free_bytes: freeBytes,
      needed_bytes: this.#neededBytes,
    }
    if (isLow) this.#log.error('the disk is nearly full: submissions are refused', fields)
    else this.#log.info('the disk has space again: submissions are accepted', fields)
  }
}
