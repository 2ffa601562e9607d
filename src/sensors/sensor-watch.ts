// A user's sensors as last reported to listeners, and the changes since then, in order and
// numbered: the live events.
//
// Only the last event of each sensor is kept, so memory is bounded by the number of sensors, and a
// client that lags gets the newest state of each, once. Of deleted sensors a limited number is
// kept; a client that has missed more has to start again. Nothing outlives the process: a number
// has a meaning only together with the id of its watch.

import { randomBytes } from 'node:crypto'
import { isOnline } from '../domain/sensor.ts'
import type { Sensor } from '../domain/sensor.ts'
import type { ControlReader, SensorCursor, SensorNews } from '../ports/control-reader.ts'
import type { Clock } from '../ports/system.ts'
import type { SensorState } from './sensors.ts'

export type SensorEventKind = 'sensor' | 'sensor_silent' | 'sensor_deleted'

export interface SensorEvent {
  /** Greater than those of all earlier events; 0: unchanged since the watch began. */
  readonly no: number
  readonly kind: SensorEventKind
  /** Its state then; for a deleted sensor, the state before. */
  readonly state: SensorState
}

export interface SensorWatchSettings {
  readonly offlineAfterMs: number
  readonly watchedDeletionsMax: number
}

interface Collaborators {
  readonly control: ControlReader
  readonly clock: Clock
}

/** The memory of a watch without sensors, counted in sensors. */
const EMPTY_SIZE = 4

/** The log is purged when superseded events are more than half of it, and more than this many. */
const SUPERSEDED_KEPT = 100

/** Multiples of this, modulo 1, are evenly spread however many there are. */
const GOLDEN_RATIO = 0.618_033_988_749_895

export class SensorWatch {
  /** Identifies this watch, 96 random bits. */
  readonly id = randomBytes(12).toString('base64url')
  readonly #userId: number
  readonly #with: Collaborators
  readonly #settings: SensorWatchSettings
  readonly #events = new Map<number, SensorEvent>()
  readonly #deleted = new Map<number, SensorEvent>()
  /** By number; includes events superseded by newer ones of the same sensor. */
  #log: SensorEvent[] = []
  #cursor: SensorCursor | undefined
  #looking: Promise<void> | undefined
  #looks = 0
  #lastNo = 0
  #forgottenNo = 0

  constructor(userId: number, collaborators: Collaborators, settings: SensorWatchSettings) {
    this.#userId = userId
    this.#with = collaborators
    this.#settings = settings
  }

  /** The number of the last event. */
  get lastNo(): number {
    return this.#lastNo
  }

  /** The number of the last event lost; a client that is not past it cannot continue. */
  get forgottenNo(): number {
    return this.#forgottenNo
  }

  /** Its memory, counted in sensors. */
  get size(): number {
    return EMPTY_SIZE + this.#events.size + this.#deleted.size
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
    for (let at = this.#placeAfter(no); at < this.#log.length; at++) {
      if (found.length >= countMax) break
      const event = this.#log[at]
      if (event !== undefined && this.#isLast(event)) found.push(event)
    }
    return found
  }

  async #look(): Promise<void> {
    const isFirst = this.#cursor === undefined
    const news = await this.#with.control.readSensorNews(this.#userId, this.#cursor)
    this.#cursor = news.cursor
    this.#looks++
    if (isFirst) {
      for (const sensor of news.sensors) {
        this.#events.set(sensor.id, { no: 0, kind: 'sensor', state: this.#stateOf(sensor) })
      }
      return
    }
    this.#noteNews(news)
    for (const { state } of this.#events.values()) {
      if (this.#isOnline(state.sensor) !== state.isOnline) this.#noteSensor(state.sensor)
    }
    this.#tidy()
  }

  #noteNews({ isWhole, sensors }: SensorNews): void {
    if (isWhole) {
      const ids = new Set(sensors.map(({ id }) => id))
      const gone = this.#events.values().filter(({ state }) => !ids.has(state.sensor.id))
      for (const { state } of gone) this.#noteDeletion(state)
    }
    // A client that cannot take all gets the first ones, so each look starts at another sensor.
    const first = Math.floor(((this.#looks * GOLDEN_RATIO) % 1) * sensors.length)
    for (const sensor of sensors.slice(first)) this.#noteSensor(sensor)
    for (const sensor of sensors.slice(0, first)) this.#noteSensor(sensor)
  }

  #noteSensor(sensor: Sensor): void {
    const before = this.#events.get(sensor.id)?.state
    const state = this.#stateOf(sensor)
    if (before !== undefined && isSame(before, state)) return
    const kind = before?.isOnline === true && !state.isOnline ? 'sensor_silent' : 'sensor'
    const event = { no: ++this.#lastNo, kind, state } as const
    this.#events.set(sensor.id, event)
    this.#log.push(event)
  }

  #noteDeletion(state: SensorState): void {
    const { id } = state.sensor
    const event = { no: ++this.#lastNo, kind: 'sensor_deleted', state } as const
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

  #placeAfter(no: number): number {
    let from = 0
    let to = this.#log.length
    while (from < to) {
      const middle = (from + to) >>> 1
      if ((this.#log[middle]?.no ?? 0) <= no) from = middle + 1
      else to = middle
    }
    return from
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
