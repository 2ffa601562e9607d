// Progress of a command that moves bytes: one bar after another.

import { systemClock } from '../../system/clock.ts'
import { Progress } from './progress.ts'

const BYTES_PER_MB = 1_000_000
/** The bar reads the clock once per this many counts: at every megabyte. */
const COUNTS_PER_MB = 1_000

export class ByteProgress {
  #current: Progress | undefined

  begin(what: string, totalBytes: number): void {
    this.end()
    const settings = { total: totalBytes, counted: 'kB' }
    this.#current = new Progress(process.stderr, systemClock, settings)
    this.#current.begin(what)
  }

  advance(bytes: number): void {
    this.#current?.advance(bytes)
    this.#current?.count((bytes / BYTES_PER_MB) * COUNTS_PER_MB)
  }

  end(): void {
    this.#current?.end()
    this.#current = undefined
  }
}
