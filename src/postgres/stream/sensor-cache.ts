// Sensors that a lane has seen, so that most groups need not look them up. A deleted one is found
// out by the lock of its row, which is gone.

import { keyOf } from './group.ts'
import type { SensorKey } from './group.ts'
import type { KnownSensor } from './group-decider.ts'

/** About 200 bytes each. */
const SENSORS_MAX = 100_000

export class SensorCache {
  readonly #sensors = new Map<string, KnownSensor>()

  find(named: SensorKey): KnownSensor | undefined {
    return this.#sensors.get(keyOf(named))
  }

  add(sensor: KnownSensor & SensorKey): void {
    if (this.#sensors.size >= SENSORS_MAX) this.#sensors.clear()
    this.#sensors.set(keyOf(sensor), sensor)
  }

  forget(named: SensorKey): void {
    this.#sensors.delete(keyOf(named))
  }
}
