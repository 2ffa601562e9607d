// What else the thread that writes control.db can be asked to do: the port's commands, and those
// that other parts of this adapter need.

import type { ControlWriter } from '../../ports/control-writer.ts'
import type { RefusedMeasurement, StoreUpkeep } from '../../ports/store-upkeep.ts'

export interface Commands extends ControlWriter, StoreUpkeep {
  /** Keeps what the store refuses; repeating it changes nothing. */
  setAside(measurements: readonly RefusedMeasurement[]): Promise<void>
  /**
   * Its measurements have been deleted again. @param dueAtMs when to repeat it; `undefined`: never
   */
  noteDeletionPass(sensorId: number, dueAtMs: number | undefined): Promise<void>
}
