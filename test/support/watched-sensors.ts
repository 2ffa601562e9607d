// A user's sensors on a real control.db in this thread, and what can happen to them: for those that
// look at them, so that a test decides when they look.

import type { Sensor } from '../../src/domain/sensor.ts'
import type { Clock } from '../../src/ports/system.ts'
import { ControlCommands } from '../../src/sqlite/control/control-commands.ts'
import { SqliteControlReader } from '../../src/sqlite/control/control-reader.ts'
import { CommitterBench } from './committer.ts'

export class WatchedSensors {
  readonly bench = new CommitterBench()
  readonly control = new SqliteControlReader(this.bench.control)
  monotonicMs = 0
  readonly clock: Clock = {
    nowMs: () => this.bench.nowMs,
    monotonicMs: () => this.monotonicMs,
  }
  readonly commands = new ControlCommands(
    this.bench.control,
    this.bench.committer.sensors,
    this.clock,
    this.bench.settings,
  )

  /** Submits one measurement of now for each of the sensors. */
  submit(userId: number, serialNumbers: readonly string[], tempCelsius = 20): void {
    const { nowMs } = this.bench
    const measurements = serialNumbers.map((serialNumber) => ({
      eventId: null,
      serialNumber,
      tempCelsius,
      measuredAtMs: nowMs,
    }))
    this.bench.commit([{ userId, receivedAtMs: nowMs, measurements }])
  }

  list(userId: number): Promise<readonly Sensor[]> {
    return this.control.listSensors(userId)
  }

  close(): void {
    this.bench.close()
  }
}
