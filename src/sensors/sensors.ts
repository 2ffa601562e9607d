// A user's sensors: listing, finding, changing and deleting them. Whether a sensor is online is
// computed on each request, without a timer.

import { isOnline, onlineTimes } from '../domain/sensor.ts'
import type { OnlineSettings, OnlineTimes, Sensor, SensorChange } from '../domain/sensor.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { ChangesQuestion, SensorChanges } from '../ports/sensor-changes.ts'
import type { Clock } from '../ports/system.ts'
import { CursorSeal } from './cursor-seal.ts'

/** A sensor with its state at the time of the request. */
export interface SensorState {
  readonly sensor: Sensor
  readonly isOnline: boolean
}

export interface StateChanges extends Omit<SensorChanges, 'sensors' | 'cursor'> {
  /** What the client brings back next time. */
  readonly cursor: string
  readonly states: readonly SensorState[]
}

interface Collaborators {
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly clock: Clock
  readonly cursorSecret: Uint8Array
}

/** Another user's sensor is as unknown here as one that does not exist. */
export class Sensors {
  readonly #with: Collaborators
  readonly #settings: OnlineSettings
  readonly #seal: CursorSeal

  constructor(collaborators: Collaborators, settings: OnlineSettings) {
    this.#with = collaborators
    this.#settings = settings
    this.#seal = new CursorSeal(collaborators.cursorSecret)
  }

  /** @returns the user's sensors, by id */
  async list(userId: number): Promise<readonly SensorState[]> {
    const sensors = await this.#with.control.listSensors(userId)
    return sensors.map((sensor) => this.stateOf(sensor))
  }

  /** The version of everything that `list`, called afterwards, shows at least. */
  readVersion(userId: number): Promise<string> {
    return this.#with.control.readSensorsVersion(userId, this.#onlineTimes())
  }

  /** Finds changes since a cursor. @param sealed the client's cursor; `undefined`: it has none */
  async changes(userId: number, sealed: string | undefined): Promise<StateChanges> {
    const question = this.#questionOf(userId, sealed)
    return this.#statesOf(question, await this.#with.control.readChanges(question))
  }

  /** The same if it is little: `undefined` for a reset, and for more than so many sensors. */
  async fewChanges(
    userId: number,
    sealed: string,
    countMax: number,
  ): Promise<StateChanges | undefined> {
    const question = this.#questionOf(userId, sealed)
    const changes = await this.#with.control.readFewChanges(question, countMax)
    return changes && this.#statesOf(question, changes)
  }

  find(userId: number, sensorId: number): Promise<Sensor | undefined> {
    return this.#with.control.findSensor(userId, sensorId)
  }

  /** The sensor as it is now. */
  stateOf(sensor: Sensor): SensorState {
    return { sensor, isOnline: isOnline(sensor, this.#onlineTimes()) }
  }

  /** @returns the sensor after the change, `undefined` if the user has no such sensor */
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

  #questionOf(userId: number, sealed: string | undefined): ChangesQuestion {
    const since = sealed === undefined ? undefined : this.#seal.open(userId, sealed)
    return { userId, online: this.#onlineTimes(), since }
  }

  #onlineTimes(): OnlineTimes {
    return onlineTimes(this.#with.clock.nowMs(), this.#settings)
  }

  #statesOf({ userId, online }: ChangesQuestion, changes: SensorChanges): StateChanges {
    // As at the cursor's moment, which the next changes are counted from.
    const states = changes.sensors.map((sensor) => ({ sensor, isOnline: isOnline(sensor, online) }))
    return { ...changes, states, cursor: this.#seal.seal(userId, changes.cursor) }
  }
}
