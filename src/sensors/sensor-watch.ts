// A user's sensors as last reported to listeners, and the changes since then, in order and
// numbered: the live events.
//
// Only the last event of each sensor is kept, so memory is bounded by the number of sensors, and a
// client that lags gets the newest state of each, once. Of deleted sensors a limited number is
// kept; a client that has missed more has to start again.

import { countUpTo } from '../domain/ascending.ts'
import { isOnline } from '../domain/sensor.ts'
import { EVER } from '../domain/time.ts'
import type { Sensor } from '../domain/sensor.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ChangesCursor, SensorChanges } from '../ports/sensor-changes.ts'
import type { Clock } from '../ports/system.ts'
import { CursorSeal } from './cursor-seal.ts'
import { changedFromMs, withRevision } from './history-revisions.ts'
import type { HistoryRevision } from './history-revisions.ts'
import type { LiveEvent, SensorNewsEvent } from './live-event.ts'
import type { SensorState } from './sensors.ts'

export type SensorEvent = {
  /** Greater than those of all earlier events; 0: unchanged since the watch began. */
  readonly no: number
  readonly sensorId: number
} & (KnownSensor | { readonly kind: 'sensor_deleted' })

interface KnownSensor {
  readonly kind: 'sensor' | 'sensor_silent'
  /** Its state then. */
  readonly state: SensorState
  /** From when on its history has changed with this event and those before. */
  readonly revisions: readonly HistoryRevision[]
}

/** Where a client continues. */
export interface SubscriptionPlace {
  /** The number of the last event that it need not be sent. */
  readonly no: number
  /** The id to come again with, until it is sent something. */
  readonly id: string
  /** What it is to be sent first. */
  readonly missed: readonly LiveEvent[]
}

export interface SensorWatchSettings {
  readonly offlineAfterMs: number
  readonly watchedDeletionsMax: number
}

interface Collaborators {
  readonly control: ControlReader
  readonly cursorSecret: Uint8Array
  readonly clock: Clock
}

/** The memory of a watch without sensors, counted in sensors. */
const EMPTY_SIZE = 4

/** The log is purged when superseded events are more than half of it, and more than this many. */
const SUPERSEDED_KEPT = 100

/** Multiples of this, modulo 1, are evenly spread however many there are. */
const GOLDEN_RATIO = 0.618_033_988_749_895

export class SensorWatch {
  readonly #userId: number
  readonly #with: Collaborators
  readonly #settings: SensorWatchSettings
  readonly #seal: CursorSeal
  readonly #events = new Map<number, SensorEvent & KnownSensor>()
  readonly #deleted = new Map<number, SensorEvent>()
  /** By number; includes events superseded by newer ones of the same sensor. */
  #log: SensorEvent[] = []
  /** Of the last look, and the id made of it: each subscription asks for that at each look. */
  #cursor: ChangesCursor | undefined
  #endId = ''
  #looking: Promise<void> | undefined
  #placing: Promise<unknown> | undefined
  #looks = 0
  #lastNo = 0
  #forgottenNo = 0

  constructor(userId: number, collaborators: Collaborators, settings: SensorWatchSettings) {
    this.#userId = userId
    this.#with = collaborators
    this.#settings = settings
    this.#seal = new CursorSeal(collaborators.cursorSecret)
  }

  /** Behind everything that has been found; to be asked after a look. */
  get end(): SubscriptionPlace {
    return { no: this.#lastNo, id: this.#endId, missed: [] }
  }

  /** The number of the last event lost; a client that is not past it cannot continue. */
  get forgottenNo(): number {
    return this.#forgottenNo
  }

  /** Its memory, counted in sensors. */
  get size(): number {
    return EMPTY_SIZE + this.#events.size + this.#deleted.size
  }

  /** @param completeNo up to this event the client has certainly been sent all */
  toNews(event: SensorEvent, completeNo: number): SensorNewsEvent {
    if (event.kind === 'sensor_deleted') return { kind: event.kind, sensorId: event.sensorId }
    const { kind, state, revisions } = event
    return { kind, state, historyFromMs: changedFromMs(revisions, completeNo) }
  }

  /**
   * Where a client continues that has an event, of this watch or another one of the same user; to
   * be asked after a look.
   *
   * @returns `undefined` if it cannot be told what it has missed
   */
  async placeAfter(eventId: string): Promise<SubscriptionPlace | undefined> {
    const since = this.#seal.open(this.#userId, eventId)
    if (since === undefined) return undefined
    // Of many clients that come again at once, one asks at a time; with the database away, all of
    // them have the answer of the first.
    const place = Promise.resolve(this.#placing).then(() => this.#placeAfter(eventId, since))
    this.#placing = place
    return place.finally(() => {
      if (this.#placing === place) this.#placing = undefined
    })
  }

  /** Finds what has happened since the last look. The first look finds nothing. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  /** The first events after a number: at most that many, each the last one of its sensor. */
  eventsAfter(no: number, countMax: number): readonly SensorEvent[] {
    const found: SensorEvent[] = []
    for (let at = this.#indexAfter(no); at < this.#log.length; at++) {
      if (found.length >= countMax) break
      const event = this.#log[at]
      if (event !== undefined && this.#isLast(event)) found.push(event)
    }
    return found
  }

  async #look(): Promise<void> {
    const atMs = this.#with.clock.nowMs()
    const changes = await this.#changesSince(this.#cursor, atMs)
    this.#looks++
    if (changes.isReset) this.#begin(changes.sensors, atMs)
    else this.#noteChanges(changes, atMs)
    this.#cursor = changes.cursor
    this.#endId = this.#idOf(changes.cursor)
    this.#tidy()
  }

  async #placeAfter(eventId: string, since: ChangesCursor): Promise<SubscriptionPlace | undefined> {
    const { end } = this
    const atMs = this.#with.clock.nowMs()
    const changes = await this.#changesSince(since, atMs)
    if (changes.isReset || changes.deletedIds.length > this.#settings.watchedDeletionsMax) {
      return undefined
    }
    const missed = missedOf(changes, (sensor) => this.#stateOf(sensor, atMs))
    const id = this.#idOf(changes.cursor)
    if (missed.length === 0) return { ...end, id }
    return { ...end, id: eventId, missed: withIds(missed, eventId, id) }
  }

  #changesSince(since: ChangesCursor | undefined, atMs: number): Promise<SensorChanges> {
    const onlineSinceMs = atMs - this.#settings.offlineAfterMs
    return this.#with.control.readChanges({ userId: this.#userId, onlineSinceMs, since })
  }

  #idOf(cursor: ChangesCursor): string {
    return this.#seal.seal(this.#userId, cursor)
  }

  /** At first, and when it cannot be told what has changed: then all clients begin again, too. */
  #begin(sensors: readonly Sensor[], atMs: number): void {
    if (this.#cursor !== undefined) this.#forgottenNo = ++this.#lastNo
    this.#events.clear()
    this.#deleted.clear()
    this.#log = []
    for (const sensor of sensors) {
      const state = this.#stateOf(sensor, atMs)
      this.#events.set(sensor.id, {
        no: 0,
        sensorId: sensor.id,
        kind: 'sensor',
        state,
        revisions: [],
      })
    }
  }

  #noteChanges(changes: SensorChanges, atMs: number): void {
    const { sensors, deletedIds } = changes
    for (const id of deletedIds) this.#noteDeletion(id)
    const fromMs = acceptedFromMs(changes)
    // A client that cannot take all gets the first ones, so each look starts at another sensor.
    const first = Math.floor(((this.#looks * GOLDEN_RATIO) % 1) * sensors.length)
    const inOrder = [...sensors.slice(first), ...sensors.slice(0, first)]
    for (const sensor of inOrder) {
      this.#noteSensor(this.#stateOf(sensor, atMs), fromMs.get(sensor.id))
    }
  }

  /** @param fromMs the oldest of its new measurements */
  #noteSensor(state: SensorState, fromMs?: number): void {
    const { id } = state.sensor
    const before = this.#events.get(id)
    if (before !== undefined && isSame(before.state, state)) return
    const kind = before?.state.isOnline === true && !state.isOnline ? 'sensor_silent' : 'sensor'
    const no = ++this.#lastNo
    const known = before?.revisions ?? []
    const revisions = fromMs === undefined ? known : withRevision(known, { no, fromMs })
    const event = { no, sensorId: id, kind, state, revisions } as const
    this.#events.set(id, event)
    this.#log.push(event)
  }

  /** Also of one that was never listed: a client that has come again may have been told of it. */
  #noteDeletion(sensorId: number): void {
    const event = { no: ++this.#lastNo, sensorId, kind: 'sensor_deleted' } as const
    this.#events.delete(sensorId)
    this.#deleted.set(sensorId, event)
    this.#log.push(event)
    const [oldest] = this.#deleted.values()
    if (this.#deleted.size <= this.#settings.watchedDeletionsMax || oldest === undefined) return
    this.#deleted.delete(oldest.sensorId)
    this.#forgottenNo = oldest.no
  }

  #tidy(): void {
    const kept = this.#events.size + this.#deleted.size
    if (this.#log.length <= 2 * kept + SUPERSEDED_KEPT) return
    this.#log = this.#log.filter((event) => this.#isLast(event))
  }

  #isLast(event: SensorEvent): boolean {
    const { sensorId } = event
    return (this.#events.get(sensorId) ?? this.#deleted.get(sensorId)) === event
  }

  #indexAfter(no: number): number {
    return countUpTo(this.#log, no, (entry) => entry.no)
  }

  #stateOf(sensor: Sensor, atMs: number): SensorState {
    return { sensor, isOnline: isOnline(sensor, atMs, this.#settings.offlineAfterMs) }
  }
}

/** The oldest time accepted since, of each sensor that has any. */
function acceptedFromMs({ histories }: SensorChanges): ReadonlyMap<number, number> {
  return new Map(
    histories.flatMap(({ sensorId, acceptedFromMs: fromMs }) =>
      fromMs === undefined ? [] : [[sensorId, Math.max(fromMs, EVER.startMs)]],
    ),
  )
}

function missedOf(
  changes: SensorChanges,
  stateOf: (sensor: Sensor) => SensorState,
): readonly SensorNewsEvent[] {
  const fromMs = acceptedFromMs(changes)
  const silent = new Set(changes.silentIds)
  const gone = changes.deletedIds.map((sensorId) => ({ kind: 'sensor_deleted', sensorId }) as const)
  const news = changes.sensors.map((sensor) => {
    const kind = silent.has(sensor.id) ? 'sensor_silent' : 'sensor'
    const historyFromMs = fromMs.get(sensor.id) ?? null
    return { kind, state: stateOf(sensor), historyFromMs } as const
  })
  return [...gone, ...news]
}

/** With the last one, and not before, a client has seen all. */
export function withIds(
  news: readonly SensorNewsEvent[],
  idBefore: string,
  idAfter: string,
): readonly LiveEvent[] {
  return news.map((event, at) => ({ ...event, id: at < news.length - 1 ? idBefore : idAfter }))
}

/** Whether nothing shown differs. */
function isSame(one: SensorState, other: SensorState): boolean {
  return (
    one.isOnline === other.isOnline &&
    one.sensor.dataVersion === other.sensor.dataVersion &&
    one.sensor.alias === other.sensor.alias &&
    one.sensor.compensationCelsius === other.sensor.compensationCelsius
  )
}
