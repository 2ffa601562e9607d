// A sensor as its user sees it, for tests to which it does not matter which one.

import type { Sensor } from '../../src/domain/sensor.ts'

/** Never seen, unless `change` says so. */
export function someSensor(change: Partial<Sensor> = {}): Sensor {
  return {
    id: 1,
    userId: 1,
    serialNumber: 'A1',
    alias: 'A1',
    compensationCelsius: 0,
    createdAtMs: 0,
    lastSeenAtMs: null,
    latest: null,
    dataVersion: '7',
    ...change,
  }
}
