// Which series have no temperature, noted so that an operator finds what a sender meant to be one.
// Senders repeat themselves: what comes within a second is noted together.

import { skippedSeriesMax } from '../../domain/limits.ts'
import type { SkippedPoint } from '../../line-protocol/read-lines.ts'
import type { RefusedWriter, SkippedSeries } from '../../ports/refused.ts'

const NOTED_EVERY_MS = 1_000
/** Of longer lines the beginning is kept. */
const LINE_LENGTH_MAX = 1_024

interface Pending {
  readonly userId: number
  readonly series: string
  line: string
  count: number
  lastAtMs: number
}

export class SkippedNotes {
  readonly #writer: Pick<RefusedWriter, 'noteSkipped'>
  #pending = new Map<string, Pending>()
  #notedAtMs = -Infinity

  constructor(writer: Pick<RefusedWriter, 'noteSkipped'>) {
    this.#writer = writer
  }

  /** Resolves when it is on disk, or waits for what comes later. */
  async note(userId: number, skipped: readonly SkippedPoint[], atMs: number): Promise<void> {
    for (const { line, point } of skipped) {
      const { series } = point
      const name = series.name.slice(0, LINE_LENGTH_MAX)
      const key = `${userId} ${name}`
      const pending = this.#pending.get(key) ?? {
        userId,
        series: name,
        line: '',
        count: 0,
        lastAtMs: 0,
      }
      pending.line = line.text.slice(0, LINE_LENGTH_MAX)
      pending.count++
      pending.lastAtMs = atMs
      this.#pending.set(key, pending)
      if (this.#pending.size >= skippedSeriesMax) await this.#write(atMs)
    }
    if (this.#pending.size > 0 && Math.abs(atMs - this.#notedAtMs) >= NOTED_EVERY_MS) {
      await this.#write(atMs)
    }
  }

  async #write(atMs: number): Promise<void> {
    const pending: readonly SkippedSeries[] = [...this.#pending.values()]
    this.#pending = new Map()
    this.#notedAtMs = atMs
    await this.#writer.noteSkipped(pending)
  }
}
