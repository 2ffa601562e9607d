// A user's sensors as last reported to listeners, and the changes since then, in order and
// numbered: the live events.
//
// Only the last event of each sensor is kept, so memory is bounded by the number of sensors, and a
// client that lags gets the newest state of each, once. Of deleted sensors a limited number is
// kept; a client that has missed more has to start again. Nothing outlives the process: a number
// has a meaning only together with the id of its watch. Where several processes share the data, an
// event's id has the cursor as well up to which a client with that event has seen everything, so
// that it can go on at any of them.

import { randomBytes } from 'node:crypto'
import { countUpTo } from '../domain/ascending.ts'
import { isOnline } from '../domain/sensor.ts'
import { MINUTE_MS } from '../domain/time.ts'
import type { Sensor } from '../domain/sensor.ts'
import type { ControlReader, SensorCursor, SensorNews } from '../ports/control-reader.ts'
import type { Clock } from '../ports/system.ts'
import { CursorSeal } from './cursor-seal.ts'
import { changedFromMs, withStep } from './history-steps.ts'
import type { HistoryStep } from './history-steps.ts'
import type { LiveEvent, SensorNewsEvent } from './live-event.ts'
import type { SensorState } from './sensors.ts'

export interface SensorEvent {
  /** Greater than those of all earlier events; 0: unchanged since the watch began. */
  readonly no: number
  readonly kind: SensorNewsEvent['kind']
  /** Its state then; for a deleted sensor, the state before. */
  readonly state: SensorState
  /** From when on its history has changed with this event and those before. */
  readonly steps: readonly HistoryStep[]
  /** What a client has seen that has this event and all before it. */
  seen: Seen | undefined
}

/** A look: what had been committed, and the time of day, by which sensors are online. */
interface Seen {
  readonly cursor: SensorCursor
  readonly atMs: number
}

/** Where a client continues. */
export interface StreamPlace {
  /** The number of the last event that it need not be sent. */
  readonly no: number
  /** Up to this one it has certainly been sent all. */
  readonly completeNo: number
  /** The id to come again with, until it is sent something. */
  readonly id: string
  /** What it is to be sent first: it comes with an event of another watch. */
  readonly missed: readonly LiveEvent[]
}

export interface SensorWatchSettings {
  readonly offlineAfterMs: number
  readonly watchedDeletionsMax: number
  /** Whether other processes have the same data, and so watches of the same sensors. */
  readonly isShared: boolean
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

/** How far the clocks of processes may be apart. */
const CLOCKS_APART_MS = MINUTE_MS

/** `WATCH.NUMBER`; with other processes `WATCH.NUMBER.TIME.CURSOR`. */
const EVENT_ID = /^([\w-]+)\.(\d+)(?:\.(\d+)\.(.+))?$/

/** Multiples of this, modulo 1, are evenly spread however many there are. */
const GOLDEN_RATIO = 0.618_033_988_749_895

export class SensorWatch {
  /** Identifies this watch, 96 random bits. */
  readonly #id = randomBytes(12).toString('base64url')
  readonly #userId: number
  readonly #with: Collaborators
  readonly #settings: SensorWatchSettings
  readonly #seal: CursorSeal
  readonly #events = new Map<number, SensorEvent>()
  readonly #deleted = new Map<number, SensorEvent>()
  /** By number; includes events superseded by newer ones of the same sensor. */
  #log: SensorEvent[] = []
  /** The last look. */
  #seen: Seen | undefined
  #looking: Promise<void> | undefined
  #looks = 0
  #lastNo = 0
  #forgottenNo = 0

  constructor(userId: number, collaborators: Collaborators, settings: SensorWatchSettings) {
    this.#userId = userId
    this.#with = collaborators
    this.#settings = settings
    this.#seal = new CursorSeal(collaborators.cursorSecret, 'live event')
  }

  /** Behind everything that has been found. */
  get end(): StreamPlace {
    const no = this.#lastNo
    return { no, completeNo: no, id: this.#idOf(no, this.#seen), missed: [] }
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
  toLive({ no, kind, state, steps, seen }: SensorEvent, completeNo: number): LiveEvent {
    const id = this.#idOf(no, seen)
    if (kind === 'sensor_deleted') return { id, kind, sensorId: state.sensor.id }
    return { id, kind, state, historyFromMs: changedFromMs(steps, completeNo) }
  }

  /**
   * Where a client continues that has an event, of this watch or another one of the same user.
   *
   * @returns `undefined` if it cannot be told what it has missed
   */
  async placeAfter(eventId: string): Promise<StreamPlace | undefined> {
    const opened = this.#seal.open(this.#userId, eventId) ?? ''
    const [, watchId, digits, atMs, cursor] = EVENT_ID.exec(opened) ?? []
    const no = Number(digits)
    const isKept = no >= this.#forgottenNo && no <= this.#lastNo
    if (watchId === this.#id && isKept) {
      // It may have been behind when it broke off.
      return { no, completeNo: 0, id: eventId, missed: [] }
    }
    if (cursor === undefined) return undefined
    await this.look()
    const news = await this.#with.control.readSensorNews(this.#userId, cursor)
    const missed = this.#missedOf(news, Number(atMs))
    if (missed === undefined) return undefined
    const { end } = this
    if (missed.length === 0) return end
    // Whoever has not taken all of it has to come again with the event before.
    const idAt = (at: number) => (at === missed.length - 1 ? end.id : eventId)
    return { ...end, id: eventId, missed: missed.map((event, at) => ({ ...event, id: idAt(at) })) }
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
    const news = await this.#with.control.readSensorNews(this.#userId, this.#seen?.cursor)
    this.#looks++
    if (this.#seen === undefined) {
      for (const sensor of news.sensors) {
        const state = this.#stateOf(sensor)
        this.#events.set(sensor.id, { no: 0, kind: 'sensor', state, steps: [], seen: undefined })
      }
    } else {
      this.#noteNews(news)
      for (const { state } of this.#events.values()) {
        if (this.#isOnline(state.sensor) !== state.isOnline) this.#noteSensor(state.sensor)
      }
    }
    // With the last event of a look, and not before, a client has seen all of it.
    this.#seen = { cursor: news.cursor, atMs }
    const last = this.#log.at(-1)
    if (last?.no === this.#lastNo) last.seen = this.#seen
    this.#tidy()
  }

  #idOf(no: number, seen: Seen | undefined): string {
    const here = `${this.#id}.${no}`
    const isAnywhere = this.#settings.isShared && seen !== undefined
    const id = isAnywhere ? `${here}.${seen.atMs}.${seen.cursor}` : here
    return this.#seal.seal(this.#userId, id)
  }

  #missedOf(
    { sensors, oldestMs, deleted }: SensorNews,
    sinceMs: number,
  ): SensorNewsEvent[] | undefined {
    const { offlineAfterMs, watchedDeletionsMax } = this.#settings
    if (deleted === undefined || deleted.length > watchedDeletionsMax) return undefined
    const news = new Set(sensors.map(({ id }) => id))
    const gone = deleted.map((sensorId) => ({ kind: 'sensor_deleted', sensorId }) as const)
    const missed: SensorNewsEvent[] = gone
    for (const { state } of this.#events.values()) {
      const { sensor, isOnline: isOnlineNow } = state
      const wasOnline = isOnline(sensor, sinceMs - CLOCKS_APART_MS, offlineAfterMs)
      const historyFromMs = oldestMs.get(sensor.id) ?? null
      if (news.has(sensor.id)) missed.push({ kind: 'sensor', state, historyFromMs })
      else if (wasOnline && !isOnlineNow) {
        missed.push({ kind: 'sensor_silent', state, historyFromMs })
      }
    }
    return missed
  }

  #noteNews({ isWhole, sensors, oldestMs }: SensorNews): void {
    if (isWhole) {
      const ids = new Set(sensors.map(({ id }) => id))
      const gone = this.#events.values().filter(({ state }) => !ids.has(state.sensor.id))
      for (const { state } of gone) this.#noteDeletion(state)
    }
    // A client that cannot take all gets the first ones, so each look starts at another sensor.
    const first = Math.floor(((this.#looks * GOLDEN_RATIO) % 1) * sensors.length)
    const inOrder = [...sensors.slice(first), ...sensors.slice(0, first)]
    for (const sensor of inOrder) this.#noteSensor(sensor, oldestMs.get(sensor.id))
  }

  /** @param fromMs the oldest of its new measurements */
  #noteSensor(sensor: Sensor, fromMs?: number): void {
    const before = this.#events.get(sensor.id)
    const state = this.#stateOf(sensor)
    if (before !== undefined && isSame(before.state, state)) return
    const kind = before?.state.isOnline === true && !state.isOnline ? 'sensor_silent' : 'sensor'
    const no = ++this.#lastNo
    const steps = this.#stepsAfter(before?.steps ?? [], no, fromMs)
    const event = { no, kind, state, steps, seen: this.#seen } as const
    this.#events.set(sensor.id, event)
    this.#log.push(event)
  }

  #stepsAfter(
    steps: readonly HistoryStep[],
    no: number,
    fromMs: number | undefined,
  ): readonly HistoryStep[] {
    if (fromMs === undefined) return steps
    return withStep(steps, { no, fromMs, notedAtMs: this.#with.clock.monotonicMs() })
  }

  #noteDeletion(state: SensorState): void {
    const { id } = state.sensor
    const no = ++this.#lastNo
    const event = { no, kind: 'sensor_deleted', state, steps: [], seen: this.#seen } as const
    this.#events.delete(id)
    this.#deleted.set(id, event)
    this.#log.push(event)
    const [oldest] = this.#deleted.values()
    if (this.#deleted.size <= this.#settings.watchedDeletionsMax || oldest === undefined) return
    this.#deleted.delete(oldest.state.sensor.id)
    this.#forgottenNo = oldest.no
  }

  #tidy(): void {
    const kept = this.#events.size + this.#deleted.size
    if (this.#log.length <= 2 * kept + SUPERSEDED_KEPT) return
    this.#log = this.#log.filter((event) => this.#isLast(event))
  }

  #isLast(event: SensorEvent): boolean {
    const { id } = event.state.sensor
    return (this.#events.get(id) ?? this.#deleted.get(id)) === event
  }

  #indexAfter(no: number): number {
    return countUpTo(this.#log, no, (entry) => entry.no)
  }

  #stateOf(sensor: Sensor): SensorState {
    return { sensor, isOnline: this.#isOnline(sensor) }
  }

  #isOnline(sensor: Sensor): boolean {
    return isOnline(sensor, this.#with.clock.nowMs(), this.#settings.offlineAfterMs)
  }
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
