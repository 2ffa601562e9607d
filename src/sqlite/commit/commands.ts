// What else the thread that writes control.db can be asked to do: the ports' calls, and those
// that other parts of this adapter need.

import type { WriterCalls } from '../../control/writers.ts'
import type { MeasurementToSetAside, StoreChoice } from '../../ports/store-upkeep.ts'

export interface Commands extends WriterCalls, StoreChoice {
  /** Keeps what the store refuses; repeating it changes nothing. */
  setAside(measurements: readonly MeasurementToSetAside[]): Promise<void>
  /** The clock may be before whatever was received until now. */
  acceptClock(): Promise<void>
  /**
   * Its measurements have been deleted again. @param dueAtMs when to repeat it; `undefined`: never
   */
  noteDeletionPass(sensorId: number, dueAtMs: number | undefined): Promise<void>
}
