// A user's sensors: listing, finding, changing and deleting them. Online or not is worked out here,
// when it is asked for, by no timer.

import { isOnline } from '../domain/sensor.ts'
import type { Sensor, SensorChange } from '../domain/sensor.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { Clock } from '../ports/system.ts'

/** A sensor as it is at the moment of asking. */
export interface SensorState {
  readonly sensor: Sensor
  readonly isOnline: boolean
}

export interface VersionedStates {
  /** Another one whenever something that is shown of the sensors has changed. */
  readonly version: string
  /** By id; `undefined` when the caller knows the version. */
  readonly states: readonly SensorState[] | undefined
}

export interface SensorsSettings {
  /** A sensor not heard from for so long is offline. */
  readonly offlineAfterMs: number
}

interface Collaborators {
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly clock: Clock
}

/** A sensor of another user is as unknown here as one that does not exist. */
export class Sensors {
  readonly #with: Collaborators
  readonly #settings: SensorsSettings

  constructor(collaborators: Collaborators, settings: SensorsSettings) {
    this.#with = collaborators
    this.#settings = settings
  }

  /** By id. */
  async list(userId: number): Promise<readonly SensorState[]> {
    const sensors = await this.#with.control.listSensors(userId)
    return sensors.map((sensor) => this.stateOf(sensor))
  }

  /** As `list`, unless the caller knows the version of what it would show. */
  async listUnlessKnown(
    userId: number,
    isKnown: (version: string) => boolean,
  ): Promise<VersionedStates> {
    const onlineSinceMs = this.#with.clock.nowMs() - this.#settings.offlineAfterMs
    const { version, sensors } = await this.#with.control.readSensors(
      userId,
      onlineSinceMs,
      isKnown,
    )
    return { version, states: sensors?.map((sensor) => this.stateOf(sensor)) }
  }

  find(userId: number, sensorId: number): Promise<Sensor | undefined> {
    return this.#with.control.findSensor(userId, sensorId)
  }

  /** The sensor as it is now. */
  stateOf(sensor: Sensor): SensorState {
    const nowMs = this.#with.clock.nowMs()
    return { sensor, isOnline: isOnline(sensor, nowMs, this.#settings.offlineAfterMs) }
  }

  /** @returns the sensor after the change, `undefined` when the user has none of that id */
  async change(
    userId: number,
    sensorId: number,
    change: SensorChange,
  ): Promise<SensorState | undefined> {
    const sensor = await this.#with.controlWriter.changeSensor(userId, sensorId, change)
    return sensor && this.stateOf(sensor)
  }

  /** @returns whether the user had it */
  delete(userId: number, sensorId: number): Promise<boolean> {
    return this.#with.controlWriter.deleteSensor(userId, sensorId)
  }
}
