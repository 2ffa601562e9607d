// Which series have no temperature, noted so that an operator finds what a sender meant to be one.
// Senders repeat themselves: what comes within a second is noted together.

import { cutLineBytesMax, skippedSeriesMax } from '../../domain/limits.ts'
import { SECOND_MS } from '../../domain/time.ts'
import { copyText, decodeText } from '../../line-protocol/point.ts'
import type { SkippedPoint } from '../../line-protocol/read-lines.ts'
import type { RefusedWriter, SkippedSeries } from '../../ports/refused.ts'
import type { Log } from '../../ports/system.ts'

const NOTED_WITHIN_MS = SECOND_MS

export interface SkippedNotesCollaborators {
  readonly controlWriter: Pick<RefusedWriter, 'noteSkipped'>
  readonly log: Pick<Log, 'warn'>
}

export class SkippedNotes {
  readonly #with: SkippedNotesCollaborators
  /** By user and series; at most `skippedSeriesMax`, and as many again while these are written. */
  #pending = new Map<string, SkippedSeries>()
  #timer: NodeJS.Timeout | undefined
  #underWay: Promise<void> | undefined
  #isFailing = false

  constructor(collaborators: SkippedNotesCollaborators) {
    this.#with = collaborators
  }

  /** Resolves when there is room for more; it is on disk within a second. */
  async note(userId: number, skipped: readonly SkippedPoint[], atMs: number): Promise<void> {
    const ofSeries = Map.groupBy(skipped, ({ point }) => point.series.name)
    for (const [name, points] of ofSeries) {
      while (this.#pending.size >= skippedSeriesMax && !this.#isFailing) await this.#write()
      this.#add(seriesOf(userId, name, points, atMs))
    }
    this.#writeSoon()
  }

  /** Writes what is pending. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#underWay
    await this.#write()
    clearTimeout(this.#timer)
  }

  /** What there is no room for, as long as nothing can be written, is not noted. */
  #add(series: SkippedSeries): void {
    const key = `${series.userId} ${series.series}`
    const known = this.#pending.get(key)
    if (known === undefined && this.#pending.size >= skippedSeriesMax) return
    this.#pending.set(key, { ...series, count: (known?.count ?? 0) + series.count })
  }

  #writeSoon(): void {
    if (this.#pending.size === 0) return
    this.#timer ??= setTimeout(() => void this.#write(), NOTED_WITHIN_MS).unref()
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#underWay ??= this.#writePending().finally(() => (this.#underWay = undefined))
    return this.#underWay
  }

  async #writePending(): Promise<void> {
    const written = [...this.#pending.values()]
    if (written.length === 0) return
    this.#pending = new Map()
    const { controlWriter, log } = this.#with
    try {
      await controlWriter.noteSkipped(written)
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) log.warn('cannot note what was skipped', { error: String(error) })
      this.#isFailing = true
      const later = [...this.#pending.values()]
      this.#pending = new Map()
      for (const series of [...written, ...later]) this.#add(series)
    }
    this.#writeSoon()
  }
}

/** The names of all fields of points, as often as they come. */
export function* fieldNamesOf(skipped: readonly SkippedPoint[]): Iterable<string> {
  for (const { point } of skipped) {
    for (const { key } of point.fields) yield decodeText(key)
  }
}

/** What waits is a copy: a part of a body would keep all of the body in memory. */
function seriesOf(
  userId: number,
  name: string,
  points: readonly SkippedPoint[],
  lastAtMs: number,
): SkippedSeries {
  const series = copyText(name.slice(0, cutLineBytesMax))
  const line = copyText(points.at(-1)?.line.text.slice(0, cutLineBytesMax) ?? '')
  return { userId, series, line, count: points.length, lastAtMs }
}
