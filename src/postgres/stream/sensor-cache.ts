// Sensors that a lane has seen, so that most groups need not look them up. A deleted one is found
// out by the lock of its row, which is gone.

import type { NamedSensor } from './group.ts'
import type { KnownSensor } from './group-decider.ts'

/** About 200 bytes each. */
const SENSORS_MAX = 100_000

type Named = Pick<NamedSensor, 'userId' | 'serialNumberKey'>

export class SensorCache {
  readonly #sensors = new Map<string, KnownSensor>()

  find(named: Named): KnownSensor | undefined {
    return this.#sensors.get(keyOf(named))
  }

  add(sensor: KnownSensor & Named): void {
    if (this.#sensors.size >= SENSORS_MAX) this.#sensors.clear()
    this.#sensors.set(keyOf(sensor), sensor)
  }

  forget(named: Named): void {
    this.#sensors.delete(keyOf(named))
  }
}

function keyOf({ userId, serialNumberKey }: Named): string {
  return `${userId}:${serialNumberKey}`
}
