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

  async start(): Promise<void> {
    await this.#look()
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    const space = await readDiskSpace(this.#dataDir)
    const isLow = space.freeBytes < this.#bytesMin(space)
    if (isLow === this.#isLow) return
    this.#isLow = isLow
    const fields = { free_bytes: space.freeBytes, needed_bytes: this.#bytesMin(space) }
    if (isLow) this.#log.error('the disk is nearly full: submissions are refused', fields)
    else this.#log.info('the disk has room again: submissions are accepted', fields)
  }
}
