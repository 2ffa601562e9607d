// Which series have no temperature, noted so that an operator finds what a sender meant to be one.
// Senders repeat themselves: what comes within a second is noted together.

import { cutLineBytesMax, skippedSeriesMax } from '../../domain/limits.ts'
import { copyText } from '../../line-protocol/point.ts'
import type { SkippedPoint } from '../../line-protocol/read-lines.ts'
import type { RefusedWriter, SkippedSeries } from '../../ports/refused.ts'

const NOTED_EVERY_MS = 1_000

export class SkippedNotes {
  readonly #writer: Pick<RefusedWriter, 'noteSkipped'>
  #pending = new Map<string, SkippedSeries>()
  #notedAtMs = -Infinity

  constructor(writer: Pick<RefusedWriter, 'noteSkipped'>) {
    this.#writer = writer
  }

  /** Resolves when it is on disk, or waits for what comes later. */
  async note(userId: number, skipped: readonly SkippedPoint[], atMs: number): Promise<void> {
    const ofSeries = Map.groupBy(skipped, ({ point }) => point.series.name)
    for (const [name, points] of ofSeries) {
      this.#add(userId, name, points, atMs)
      if (this.#pending.size >= skippedSeriesMax) await this.#write(atMs)
    }
    if (this.#pending.size > 0 && Math.abs(atMs - this.#notedAtMs) >= NOTED_EVERY_MS) {
      await this.#write(atMs)
    }
  }

  /** What waits is a copy: a part of a body would keep all of the body in memory. */
  #add(userId: number, name: string, points: readonly SkippedPoint[], lastAtMs: number): void {
    const series = copyText(name.slice(0, cutLineBytesMax))
    const key = `${userId} ${series}`
    const line = copyText(points.at(-1)?.line.text.slice(0, cutLineBytesMax) ?? '')
    const count = (this.#pending.get(key)?.count ?? 0) + points.length
    this.#pending.set(key, { userId, series, line, count, lastAtMs })
  }

  async #write(atMs: number): Promise<void> {
    const pending = [...this.#pending.values()]
    this.#pending = new Map()
    this.#notedAtMs = atMs
    await this.#writer.noteSkipped(pending)
  }
}
