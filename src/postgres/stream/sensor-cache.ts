// Sensors that lanes have seen, so that most groups need not look them up. A deleted sensor is
// noticed when its state is to be locked: that row is gone.

import type { KnownSensor } from './group-decider.ts'

/** About 200 bytes each. */
const SENSORS_MAX = 100_000

export class SensorCache {
  readonly #sensors = new Map<string, KnownSensor>()

  /** @param key see NamedSensor */
  find(key: string): KnownSensor | undefined {
    return this.#sensors.get(key)
  }

  add(key: string, sensor: KnownSensor): void {
    if (this.#sensors.size >= SENSORS_MAX) this.#sensors.clear()
    this.#sensors.set(key, sensor)
  }

  forget(key: string): void {
    this.#sensors.delete(key)
  }
}
