// A user's sensors as last reported to listeners, and the changes since then, in order and
// numbered: the live events.
//
// Only the last event of each sensor is kept, so memory is bounded by the number of sensors, and a
// client that lags gets the newest state of each, once. A limited number of deleted sensors is
// kept; a client that missed more has to start again.

import { countUpTo } from '../domain/ascending.ts'
import { isOnline, onlineTimes } from '../domain/sensor.ts'
import { EVER } from '../domain/time.ts'
import type { OnlineSettings, OnlineTimes, Sensor } from '../domain/sensor.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ChangesCursor, SensorChanges } from '../ports/sensor-changes.ts'
import type { Clock } from '../ports/system.ts'
import { CursorSeal } from './cursor-seal.ts'
import { changedFromMs, withRevision } from './history-revisions.ts'
import type { HistoryRevision } from './history-revisions.ts'
import type { SensorState } from './sensors.ts'

/** What a client is told about its user's sensors. */
export type SensorNewsEvent =
  | {
      readonly kind: 'sensor' | 'sensor_silent'
      readonly state: SensorState
      /** The oldest measurement that is new to the client, at most an hour early; `null`: none. */
      readonly historyFromMs: number | null
    }
  | { readonly kind: 'sensor_deleted'; readonly sensorId: number }

/** The client missed too much: it has to load its sensors again. */
interface Reset {
  readonly kind: 'reset'
}

export type LiveEvent = (SensorNewsEvent | Reset) & {
  /** With this id, a client resumes after the event. */
  readonly id: string
}

export type SensorEvent = {
  /** Greater than those of all earlier events; 0: unchanged since the watch began. */
  readonly no: number
  readonly sensorId: number
} & (KnownSensor | { readonly kind: 'sensor_deleted' })

interface KnownSensor {
  readonly kind: 'sensor' | 'sensor_silent'
  /** Its state then. */
  readonly state: SensorState
  /** From when on this event and earlier ones have changed its history. */
  readonly revisions: readonly HistoryRevision[]
}

/** Where a client continues. */
export interface SubscriptionPlace {
  /** The number of the last event not to be sent. */
  readonly no: number
  /** The id to resume from, until something is sent. */
  readonly id: string
  /** To be sent first. */
  readonly missed: readonly LiveEvent[]
}

export interface SensorWatchSettings extends OnlineSettings {
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
  /** Of the last look; `#endId` is computed from it once, because every subscription needs it. */
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

  /** The place after everything found; valid after a look. */
  get end(): SubscriptionPlace {
    return { no: this.#lastNo, id: this.#endId, missed: [] }
  }

  /** The number of the last forgotten event; a client before it cannot continue. */
  get forgottenNo(): number {
    return this.#forgottenNo
  }

  /** Its memory, counted in sensors. */
  get size(): number {
    return EMPTY_SIZE + this.#events.size + this.#deleted.size
  }

  /** @param completeNo up to this event, the client was certainly sent everything */
  toNews(event: SensorEvent, completeNo: number): SensorNewsEvent {
    if (event.kind === 'sensor_deleted') return { kind: event.kind, sensorId: event.sensorId }
    const { kind, state, revisions } = event
    return { kind, state, historyFromMs: changedFromMs(revisions, completeNo) }
  }

  /**
   * Finds where a client continues whose last event came from this watch, or from another one of
   * the same user. Call it after a look.
   *
   * @returns `undefined` if what the client missed cannot be found out
   */
  async placeAfter(eventId: string): Promise<SubscriptionPlace | undefined> {
    const since = this.#seal.open(this.#userId, eventId)
    if (since === undefined) return undefined
    // Clients that reconnect together ask one after another; if the database is away, all of them
    // get the first one's error.
    const place = Promise.resolve(this.#placing).then(() => this.#placeAfter(eventId, since))
    this.#placing = place
    return place.finally(() => {
      if (this.#placing === place) this.#placing = undefined
    })
  }

  /** Finds the changes since the last look. The first look finds none. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  /** The first `countMax` events after a number, each the last one of its sensor. */
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
    const online = this.#onlineTimes()
    const changes = await this.#changesSince(this.#cursor, online)
    this.#looks++
    if (changes.isReset) this.#begin(changes.sensors, online)
    else this.#noteChanges(changes, online)
    this.#cursor = changes.cursor
    this.#endId = this.#idOf(changes.cursor)
    this.#tidy()
  }

  async #placeAfter(eventId: string, since: ChangesCursor): Promise<SubscriptionPlace | undefined> {
    const { end } = this
    const online = this.#onlineTimes()
    const changes = await this.#changesSince(since, online)
    if (changes.isReset || changes.deletedIds.length > this.#settings.watchedDeletionsMax) {
      return undefined
    }
    const missed = missedOf(changes, online)
    const id = this.#idOf(changes.cursor)
    if (missed.length === 0) return { ...end, id }
    return { ...end, id: eventId, missed: withIds(missed, eventId, id) }
  }

  #onlineTimes(): OnlineTimes {
    return onlineTimes(this.#with.clock.nowMs(), this.#settings)
  }

  #changesSince(since: ChangesCursor | undefined, online: OnlineTimes): Promise<SensorChanges> {
    return this.#with.control.readChanges({ userId: this.#userId, online, since })
  }

  #idOf(cursor: ChangesCursor): string {
    return this.#seal.seal(this.#userId, cursor)
  }

  /** At first, and if what has changed is unknown: then all clients have to begin again, too. */
  #begin(sensors: readonly Sensor[], online: OnlineTimes): void {
    if (this.#cursor !== undefined) this.#forgottenNo = ++this.#lastNo
    this.#events.clear()
    this.#deleted.clear()
    this.#log = []
    for (const sensor of sensors) {
      const state = stateOf(sensor, online)
      this.#events.set(sensor.id, {
        no: 0,
        sensorId: sensor.id,
        kind: 'sensor',
        state,
        revisions: [],
      })
    }
  }

  #noteChanges(changes: SensorChanges, online: OnlineTimes): void {
    const { sensors, deletedIds } = changes
    for (const id of deletedIds) this.#noteDeletion(id)
    const fromMs = acceptedFromMs(changes)
    // A client that is too slow gets the first ones only, so each look starts at another sensor.
    const first = Math.floor(((this.#looks * GOLDEN_RATIO) % 1) * sensors.length)
    const inOrder = [...sensors.slice(first), ...sensors.slice(0, first)]
    for (const sensor of inOrder) {
      this.#noteSensor(stateOf(sensor, online), fromMs.get(sensor.id))
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

  /** Also for sensors never listed here: a client that reconnected may know them from before. */
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
}

function stateOf(sensor: Sensor, online: OnlineTimes): SensorState {
  return { sensor, isOnline: isOnline(sensor, online) }
}

/** The oldest time accepted since, for each sensor with new measurements. */
function acceptedFromMs({ histories }: SensorChanges): ReadonlyMap<number, number> {
  return new Map(
    histories.flatMap(({ sensorId, acceptedFromMs: fromMs }) =>
      fromMs === undefined ? [] : [[sensorId, Math.max(fromMs, EVER.startMs)]],
    ),
  )
}

function missedOf(changes: SensorChanges, online: OnlineTimes): readonly SensorNewsEvent[] {
  const fromMs = acceptedFromMs(changes)
  const silent = new Set(changes.silentIds)
  const gone = changes.deletedIds.map((sensorId) => ({ kind: 'sensor_deleted', sensorId }) as const)
  const news = changes.sensors.map((sensor) => {
    const kind = silent.has(sensor.id) ? 'sensor_silent' : 'sensor'
    const historyFromMs = fromMs.get(sensor.id) ?? null
    return { kind, state: stateOf(sensor, online), historyFromMs } as const
  })
  return [...gone, ...news]
}

/** Gives news their ids: only with the last one has a client seen everything. */
export function withIds(
  news: readonly SensorNewsEvent[],
  idBefore: string,
  idAfter: string,
): readonly LiveEvent[] {
  return news.map((event, at) => ({ ...event, id: at < news.length - 1 ? idBefore : idAfter }))
}

/** Whether they look the same to clients. */
function isSame(one: SensorState, other: SensorState): boolean {
  return (
    one.isOnline === other.isOnline &&
    one.sensor.dataVersion === other.sensor.dataVersion &&
    one.sensor.alias === other.sensor.alias &&
    one.sensor.compensationCelsius === other.sensor.compensationCelsius
  )
}
