// What else the thread that writes control.db can be asked for: what the port says, and what other
// parts of this adapter find out.

import type { ControlWriter } from '../../ports/control-writer.ts'
import type { RefusedMeasurement, StoreUpkeep } from '../../ports/store-upkeep.ts'

export interface Commands extends ControlWriter, StoreUpkeep {
  /** Keeps what the store refuses; the same again changes nothing. */
  setAside(measurements: readonly RefusedMeasurement[]): Promise<void>
  /** Its measurements were deleted once more. @param dueAtMs when again; `undefined`: never */
  noteDeletionPass(sensorId: number, dueAtMs: number | undefined): Promise<void>
}
