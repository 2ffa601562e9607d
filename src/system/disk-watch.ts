// Whether the volume of the data directory has so little room left that nothing may be accepted:
// asked for often, looked up once a second.

import type { DurationMs } from '../domain/time.ts'
import type { Log } from '../ports.ts'
import { readDiskSpace } from './disk.ts'
import type { DiskSpace } from './disk.ts'

const LOOK_EVERY_MS: DurationMs = 1_000

export class DiskWatch {
  readonly #dataDir: string
  readonly #bytesMin: (space: DiskSpace) => number
  readonly #log: Log
  #timer: NodeJS.Timeout | undefined
  #room = { freeBytes: Infinity, freeBytesMin: 0 }
  #isLow = false

  /** @param settings.bytesMin what has to be free on a volume like that */
  constructor(
    log: Log,
    settings: { readonly dataDir: string; readonly bytesMin: (space: DiskSpace) => number },
  ) {
    this.#log = log
    this.#dataDir = settings.dataDir
    this.#bytesMin = settings.bytesMin
  }

  get isLow(): boolean {
    return this.#isLow
  }

  /** What is free, and what has to be, as it was last looked up. */
  get room(): { readonly freeBytes: number; readonly freeBytesMin: number } {
    return this.#room
  }

  async start(): Promise<void> {
    await this.#look()
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    const space = await readDiskSpace(this.#dataDir)
    const { freeBytes } = space
    const freeBytesMin = this.#bytesMin(space)
    this.#room = { freeBytes, freeBytesMin }
    const isLow = freeBytes < freeBytesMin
    if (isLow === this.#isLow) return
    this.#isLow = isLow
    const fields = { free_bytes: freeBytes, needed_bytes: freeBytesMin }
    if (isLow) this.#log.error('the disk is nearly full: submissions are refused', fields)
    else this.#log.info('the disk has room again: submissions are accepted', fields)
  }
}
