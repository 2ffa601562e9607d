// How far the measurement store is behind the journal, whichever process forwards. The figures are
// read once a second, and more often while a reader waits for measurements.

import { setTimeout as pause } from 'node:timers/promises'
import { sensorsSetAside } from '../../control/set-aside.ts'
import { ENTRY_BYTES } from '../../domain/measurement-columns.ts'
import { takeSensors } from '../../domain/take-sensors.ts'
import { EVER, SECOND_MS } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type { DataVersion } from '../../domain/sensor.ts'
import type {
  Backlog,
  JournalPlace,
  QueueFigures,
  ReadBarrier,
  VersionedSensor,
  Written,
} from '../../ports/journal-queue.ts'
import type { Clock, Log, Metrics } from '../../ports/system.ts'
import { pendingOf } from '../data-version.ts'
import { runFlow } from '../server/database.ts'
import type { Database } from '../server/database.ts'
import { readBatch } from './journal-rows.ts'
import * as sql from './journal-statements.ts'

interface Collaborators {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Tells the forwarder that a reader waits for rows. */
  readonly onAwaited: () => void
}

const FIGURES_EVERY_MS = SECOND_MS / 2
const LOOK_EVERY_MS = 25

/** How many measurements of the journal a search reads at once. */
const SEARCHED_AT_ONCE = 50_000

interface BacklogRow {
  readonly entries: number
  readonly oldestAtMs: number | null
}

export class PostgresForwardProgress implements ReadBarrier, QueueFigures {
  readonly #with: Collaborators
  readonly #timer: NodeJS.Timeout
  /** The last readable row of each stream. */
  readonly #readable = new Map<number, number>()
  /** In another epoch these are other rows. */
  #epoch = ''
  /** As of the last look. */
  #backlog: BacklogRow = { entries: 0, oldestAtMs: null }
  #isLooking = false
  #waiters = 0
  #onReadable: () => void = () => undefined

  constructor(collaborators: Collaborators) {
    this.#with = collaborators
    this.#timer = setInterval(() => void this.look(), FIGURES_EVERY_MS).unref()
  }

  get backlogBytes(): number {
    return this.unreadable * ENTRY_BYTES
  }

  get unreadable(): number {
    return this.#backlog.entries
  }

  get isAwaited(): boolean {
    return this.#waiters > 0
  }

  onReadable(listener: () => void): void {
    this.#onReadable = listener
  }

  /**
   * Updates the figures; a service does so before it answers. While the database is away, the last
   * ones stand.
   */
  async look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const { database, log } = this.#with
    try {
      const [row] = await database.rows<BacklogRow>(sql.SUM_BACKLOG)
      if (row !== undefined) this.#backlog = row
    } catch (error) {
      log.debug('cannot read the backlog now', { error: String(error) })
    } finally {
      this.#isLooking = false
    }
  }

  backlog(): Backlog {
    const nowMs = this.#with.clock.nowMs()
    const oldestAgeMs = Math.max(0, nowMs - (this.#backlog.oldestAtMs ?? nowMs))
    return { entries: this.unreadable, bytes: this.backlogBytes, oldestAgeMs }
  }

  async waitUntilReadable(versions: readonly DataVersion[], waitMsMax: number): Promise<boolean> {
    const deadlineMs = this.#with.clock.monotonicMs() + waitMsMax
    const places = this.#placesOf(versions)
    const isReadable = async () => (await this.#stillUnreadable(places)).length === 0
    if (await isReadable()) return true
    this.#waiters++
    this.#with.onAwaited()
    try {
      while (this.#with.clock.monotonicMs() < deadlineMs) {
        await pause(LOOK_EVERY_MS)
        if (await isReadable()) return true
      }
      return false
    } finally {
      this.#waiters--
    }
  }

  async *findUnreadable(
    sensors: readonly VersionedSensor[],
    range: TimeRange,
  ): AsyncIterable<number> {
    const behind = await this.#behind(sensors)
    const left = new Set(behind.map(({ id }) => id))
    for (const place of await this.#stillUnreadable(this.#placesOf(versionsOf(behind)))) {
      yield* this.#findSensors(place, left, range)
    }
    // Last, because what is set aside meanwhile no longer counts as behind.
    const found = new Set(behind.map(({ id }) => id).filter((id) => !left.has(id)))
    const others = sensors.filter(({ id }) => !found.has(id))
    yield* await this.#setAsideAmong(others, range)
  }

  async listUnreadable(sensors: readonly VersionedSensor[]): Promise<ReadonlySet<number>> {
    const behind = await this.#behind(sensors)
    return new Set([...behind.map(({ id }) => id), ...(await this.#setAsideAmong(sensors, EVER))])
  }

  /** Notes that all rows up to a place can be read from the store. */
  noteReadable(place: JournalPlace, measurements: number): void {
    if (!this.#show(place)) return
    const entries = Math.max(0, this.#backlog.entries - measurements)
    this.#backlog = { ...this.#backlog, entries }
    this.#onReadable()
  }

  /** Notes that the rows up to a place are durable in the store, or set aside. */
  noteForwarded(
    place: JournalPlace,
    { count, setAside, durationMs }: Written & { readonly count: number },
  ): void {
    const aside = setAside.length
    const { metrics } = this.#with
    metrics.noteForwarded({ accepted: count - aside, setAside: aside })
    metrics.noteForwardDuration(durationMs)
    this.noteReadable(place, count)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** @returns whether it was not known */
  #show({ stream, seq }: JournalPlace): boolean {
    if (seq <= (this.#readable.get(stream) ?? 0)) return false
    this.#readable.set(stream, seq)
    return true
  }

  /** The versions' last rows not known to be readable, at most one of each stream. */
  #placesOf(versions: readonly DataVersion[]): readonly JournalPlace[] {
    return lastPlacesOf(versions.flatMap((version) => this.#unreadableIn(version)))
  }

  async #stillUnreadable(places: readonly JournalPlace[]): Promise<readonly JournalPlace[]> {
    if (!places.some((place) => this.#isUnreadable(place))) return []
    const forwarded = await this.#with.database.rows<JournalPlace>(sql.READ_FORWARDED)
    for (const place of forwarded) this.#show(place)
    return places.filter((place) => this.#isUnreadable(place))
  }

  /** The sensors with rows still on their way. */
  async #behind(sensors: readonly VersionedSensor[]): Promise<readonly VersionedSensor[]> {
    await this.#stillUnreadable(this.#placesOf(versionsOf(sensors)))
    return sensors.filter(({ dataVersion }) => this.#unreadableIn(dataVersion).length > 0)
  }

  #unreadableIn(version: DataVersion): readonly JournalPlace[] {
    const { epoch, places } = pendingOf(version)
    if (epoch !== this.#epoch) this.#readable.clear()
    this.#epoch = epoch
    return places.filter((place) => this.#isUnreadable(place))
  }

  #isUnreadable({ stream, seq }: JournalPlace): boolean {
    return seq > (this.#readable.get(stream) ?? 0)
  }

  async #setAsideAmong(
    sensors: readonly VersionedSensor[],
    range: TimeRange,
  ): Promise<readonly number[]> {
    const ids = sensors.map(({ id }) => id)
    if (ids.length === 0) return []
    return runFlow(this.#with.database, sensorsSetAside(ids, range))
  }

  async *#findSensors(
    { stream, seq: throughSeq }: JournalPlace,
    wanted: Set<number>,
    range: TimeRange,
  ): AsyncIterable<number> {
    const { database } = this.#with
    let seq = this.#readable.get(stream) ?? 0
    while (seq < throughSeq && wanted.size > 0) {
      const rows = { stream, seq, throughSeq }
      const batch = await readBatch(database, rows, SEARCHED_AT_ONCE)
      if (batch === undefined) return
      yield* takeSensors(batch.measurements, wanted, range)
      seq = batch.place.seq
    }
  }
}

function versionsOf(sensors: readonly VersionedSensor[]): readonly DataVersion[] {
  return sensors.map(({ dataVersion }) => dataVersion)
}

/** The last place of each stream. */
function lastPlacesOf(places: readonly JournalPlace[]): readonly JournalPlace[] {
  const last = new Map<number, JournalPlace>()
  for (const place of places) {
    if (place.seq > (last.get(place.stream)?.seq ?? 0)) last.set(place.stream, place)
  }
  return [...last.values()]
}
