// A client of live events: knows sensors from a list, and from then on by what it is told.

import { expect } from 'chai'
import { isOnline, onlineTimes } from '../../src/domain/sensor.ts'
import type { Sensor } from '../../src/domain/sensor.ts'
import type { Clock } from '../../src/ports/system.ts'
import type { LiveEvent } from '../../src/sensors/sensor-watch.ts'
import { Subscription } from '../../src/sensors/subscription.ts'
import type { SensorWatch } from '../../src/sensors/sensor-watch.ts'

export const OFFLINE_AFTER_MS = 60_000
export const ONLINE = { offlineAfterMs: OFFLINE_AFTER_MS, futureMsMax: 300_000 }

/** Where the sensors are. */
export interface ListedSensors {
  readonly clock: Clock
  list(userId: number): Promise<readonly Sensor[]>
  /** When the measurements of a sensor were taken; absent where that is not looked at. */
  timesOf?(sensorId: number): readonly number[]
}

export interface ShownSensor {
  readonly sensor: Sensor
  readonly isOnline: boolean
}

/** What a list shows. */
export async function shownOf(sensors: ListedSensors, userId: number): Promise<ShownSensor[]> {
  const online = onlineTimes(sensors.clock.nowMs(), ONLINE)
  const list = await sensors.list(userId)
  return list.map((sensor) => ({ sensor, isOnline: isOnline(sensor, online) }))
}

export class LiveClient {
  readonly #known = new Map<number, ShownSensor>()
  /** The history of each sensor, read again from when on it was told to have changed. */
  readonly #times = new Map<number, readonly number[]>()
  readonly #sensors: ListedSensors
  readonly #userId: number
  #watch: SensorWatch
  #subscription: Subscription
  #lastEventId: string
  resets = 0

  constructor(sensors: ListedSensors, userId: number, watch: SensorWatch) {
    this.#sensors = sensors
    this.#userId = userId
    this.#watch = watch
    this.#lastEventId = watch.end.id
    this.#subscription = this.#open(watch.end)
  }

  /** By id. */
  get known(): ShownSensor[] {
    return [...this.#known.values()].toSorted((one, other) => one.sensor.id - other.sensor.id)
  }

  timesOf(sensorId: number): readonly number[] {
    return this.#times.get(sensorId) ?? []
  }

  async load(): Promise<void> {
    this.#known.clear()
    this.#times.clear()
    for (const shown of await shownOf(this.#sensors, this.#userId)) {
      this.#known.set(shown.sensor.id, shown)
      this.#readAgain(shown.sensor.id, -Infinity)
    }
  }

  /** Is cut off, and comes again. @param watch the same one, or that of another process */
  async comeAgain(watch = this.#watch): Promise<void> {
    this.#subscription.close()
    this.#watch = watch
    this.#subscription = this.#open(await watch.placeAfter(this.#lastEventId))
    const { lastEventId } = this.#subscription
    if (lastEventId !== undefined) this.#lastEventId = lastEventId
  }

  /** Takes at most so many events. @returns how many there were */
  async take(allowance: number): Promise<number> {
    let count = 0
    for (;;) {
      const next = this.#subscription.next()
      this.#subscription.wake(allowance - count)
      const events = (await next) ?? []
      if (events.length === 0) return count
      count += events.length
      for (const event of events) await this.#apply(event)
    }
  }

  #open(place: ConstructorParameters<typeof Subscription>[1]): Subscription {
    const { clock } = this.#sensors
    return new Subscription(this.#watch, place, { clock, onClosed: () => undefined })
  }

  async #apply(event: LiveEvent): Promise<void> {
    this.#lastEventId = event.id
    if (event.kind === 'reset') {
      this.resets++
      return this.load()
    }
    if (event.kind === 'sensor_deleted') this.#known.delete(event.sensorId)
    else {
      this.#known.set(event.state.sensor.id, event.state)
      this.#readAgain(event.state.sensor.id, event.historyFromMs ?? Infinity)
      if (event.kind === 'sensor_silent') expect(event.state.isOnline).to.equal(false)
    }
  }

  #readAgain(sensorId: number, fromMs: number): void {
    const kept = this.timesOf(sensorId).filter((atMs) => atMs < fromMs)
    const read = this.#sensors.timesOf?.(sensorId).filter((atMs) => atMs >= fromMs) ?? []
    this.#times.set(sensorId, [...kept, ...read])
  }
}
