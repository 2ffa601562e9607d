// A user's sensors on a real control.db in this thread, and what can happen to them: for those that
// look at them, so that a test decides when they look.

import type { Sensor } from '../../src/domain/sensor.ts'
import type { Clock } from '../../src/ports/system.ts'
import { createControlCommands } from '../../src/sqlite/control/control-commands.ts'
import { UserDeletions } from '../../src/sqlite/control/deletions.ts'
import { createControlReader } from '../../src/sqlite/control/control-reader.ts'
import { CommitterBench } from './committer.ts'

export class WatchedSensors {
  readonly bench = new CommitterBench()
  readonly control = createControlReader(this.bench.control)
  readonly cursorSecret = Buffer.alloc(32, 7)
  monotonicMs = 0
  readonly clock: Clock = {
    nowMs: () => this.bench.nowMs,
    monotonicMs: () => this.monotonicMs,
  }
  readonly commands = createControlCommands(
    this.bench.control,
    this.bench.committer.sensors,
    this.clock,
    { ...this.bench.settings, deletions: new UserDeletions(this.bench.control, this.clock) },
  )

  readonly #times = new Map<number, number[]>()

  /** Submits one measurement of each of the sensors. @param ageMs how late it is */
  submit(
    userId: number,
    serialNumbers: readonly string[],
    { tempCelsius = 20, ageMs = 0 }: { tempCelsius?: number; ageMs?: number } = {},
  ): void {
    const { nowMs } = this.bench
    const measuredAtMs = nowMs - ageMs
    const measurements = serialNumbers.map((serialNumber) => ({
      eventId: null,
      serialNumber,
      tempCelsius,
      measuredAtMs,
    }))
    const { sensorId } = this.bench.commit([{ userId, receivedAtMs: nowMs, measurements }])
    for (const id of sensorId.subarray(0, serialNumbers.length)) {
      this.#times.set(
        id,
        [...this.timesOf(id), measuredAtMs].toSorted((one, other) => one - other),
      )
    }
  }

  /** When the measurements of a sensor were taken. */
  timesOf(sensorId: number): readonly number[] {
    return this.#times.get(sensorId) ?? []
  }

  list(userId: number): Promise<readonly Sensor[]> {
    return this.control.listSensors(userId)
  }

  close(): void {
    this.bench.close()
  }
}
