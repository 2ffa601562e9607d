// What a client is told about its user's sensors.

import type { SensorState } from './sensors.ts'

export type SensorNewsEvent =
  | {
      readonly kind: 'sensor' | 'sensor_silent'
      readonly state: SensorState
      /** The oldest measurement that is new to the client, at most an hour early; `null`: none. */
      readonly historyFromMs: number | null
    }
  | { readonly kind: 'sensor_deleted'; readonly sensorId: number }

/** The client missed too much: it has to load its sensors again. */
interface Reset {
  readonly kind: 'reset'
}

export type LiveEvent = (SensorNewsEvent | Reset) & {
  /** With this id, a client resumes after the event. */
  readonly id: string
}
