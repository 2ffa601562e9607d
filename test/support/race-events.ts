// The events of a race: each has one content for everybody who sends it, so that many send the same
// at the same time, and one that is made of its number, so that it can be told what is right.

import { createHash } from 'node:crypto'
import type { AcceptanceRules } from '../../src/domain/acceptance.ts'
import type { SubmittedMeasurement } from '../../src/domain/measurement.ts'
import { DAY_MS } from '../../src/domain/time.ts'

export const RACE_USERS = [1, 2, 3, 4, 5, 6, 7, 8]

/** Fewer sensors than the names that are sent: some are refused. */
export const RACE_RULES: AcceptanceRules = {
  mayRegisterSensors: true,
  sensorsPerUserMax: 11,
  futureMsMax: DAY_MS,
  measuredAtMsMin: 0,
}
const NAMES = 12

/** Times of a sensor that events share. */
const TIMES = 40

interface RaceEvent {
  readonly userId: number
  readonly measurement: SubmittedMeasurement & {
    readonly eventId: string
    readonly measuredAtMs: number
  }
}

/** @param isOther with a temperature that the event does not have */
export function raceEvent(event: number, isOther: boolean): RaceEvent {
  const [user = 0, name = 0, time = 0, temp = 0] = createHash('sha256').update(`${event}`).digest()
  const measuredAtMs = Date.UTC(2026, 10, 20) + (time % TIMES) * 1_000
  return {
    userId: RACE_USERS[user % RACE_USERS.length] ?? 0,
    measurement: {
      eventId: `event ${event}`,
      serialNumber: `sensor-${name % NAMES}`,
      tempCelsius: (temp + (isOther ? 1_000 : 0)) / 4,
      measuredAtMs: measuredAtMs + Math.floor(event / 400) * 7_000,
    },
  }
}

/** What a worker writes down about an answer before it goes on. */
export interface RaceAnswer {
  readonly userId: number
  /** The number of each event, and whether it was sent with another temperature. */
  readonly events: readonly (readonly [event: number, isOther: boolean])[]
  readonly statuses: readonly string[]
}
