// The faults of one measurement of an import, for people. Its form is checked against the API's
// schemas, everything else against the rules of the service that is to store it.

import { judgeTime } from '../domain/acceptance.ts'
import type { SubmittedMeasurement } from '../domain/measurement.ts'
import { serialNumberKey } from '../domain/sensor.ts'
import type { Sensor } from '../domain/sensor.ts'
import { formatInstant } from '../domain/time.ts'
import common from '../../schemas/common.json' with { type: 'json' }
import type { ImportRules } from './import-order.ts'
import { isSerialNumber } from './serial-number.ts'

const { eventId: eventIdForm, celsius } = common.$defs

/** @returns the fault of its form, or `undefined` */
export function formFault(measurement: Readonly<Record<string, unknown>>): string | undefined {
  const { eventId, serialNumber, tempCelsius, measuredAtMs } = measurement
  if (!isSerialNumber(serialNumber))
    return `sn ${JSON.stringify(serialNumber)} is not a valid serial number`
  if (typeof tempCelsius !== 'number') {
    return `temp ${JSON.stringify(tempCelsius ?? null)} is not a number`
  }
  if (!(tempCelsius >= celsius.minimum && tempCelsius <= celsius.maximum)) {
    return `temp ${tempCelsius} °C is not between ${celsius.minimum} and ${celsius.maximum} °C`
  }
  if (!Number.isSafeInteger(measuredAtMs)) return 'timestamp is not a valid time'
  return eventId === null || isEventId(eventId)
    ? undefined
    : `event_id must have 1 to ${eventIdForm.maxLength} characters`
}

function isEventId(eventId: unknown): boolean {
  if (typeof eventId !== 'string' || eventId === '' || !eventId.isWellFormed()) return false
  const { maxLength } = eventIdForm
  return eventId.length <= maxLength || Array.from(eventId).length <= maxLength
}

interface Settings {
  readonly futureMsMax: number
  readonly measuredAtMsMin: number
  readonly mayRegisterSensors: boolean
  readonly sensorsPerUserMax: number
}

/** @param sensors those that the user has */
export function importRules(
  sensors: readonly Sensor[],
  nowMs: number,
  settings: Settings,
): ImportRules {
  return {
    measuredAtMsMin: settings.measuredAtMsMin,
    measuredAtMsMax: nowMs + settings.futureMsMax,
    mayRegisterSensors: settings.mayRegisterSensors,
    sensorKeys: sensors.map(({ serialNumber }) => serialNumberKey(serialNumber)),
    sensorsMax: settings.sensorsPerUserMax,
  }
}

/**
 * Checks measurements against the rules of a service. Remembers the sensors that an import would
 * register, so that a user's limit is noticed before anything is stored.
 */
export class RuleCheck {
  readonly #rules: ImportRules
  readonly #sensorKeys: Set<string>

  constructor(rules: ImportRules) {
    this.#rules = rules
    this.#sensorKeys = new Set(rules.sensorKeys)
  }

  /** @returns its fault, or `undefined` */
  fault({ serialNumber, measuredAtMs }: SubmittedMeasurement): string | undefined {
    const wrong = measuredAtMs === null ? undefined : this.timeFault(measuredAtMs)
    return wrong ?? this.#sensorFault(serialNumber)
  }

  /** @returns the fault of a measurement's time, or `undefined` */
  timeFault(measuredAtMs: number): string | undefined {
    const { measuredAtMsMin, measuredAtMsMax } = this.#rules
    const fault = judgeTime(measuredAtMs, measuredAtMsMin, measuredAtMsMax)
    if (fault === undefined) return undefined
    const bound =
      fault === 'timestamp_too_old'
        ? `before ${formatInstant(measuredAtMsMin)} (MIN_TIMESTAMP)`
        : `after ${formatInstant(measuredAtMsMax)} (now plus MAX_FUTURE)`
    return `timestamp is ${bound}`
  }

  #sensorFault(serialNumber: string): string | undefined {
    const key = serialNumberKey(serialNumber)
    if (this.#sensorKeys.has(key)) return undefined
    if (!this.#rules.mayRegisterSensors) {
      return `sensor ${serialNumber} is not registered: create it, or set AUTO_REGISTER=true`
    }
    if (this.#sensorKeys.size >= this.#rules.sensorsMax) {
      return `sensor ${serialNumber} would exceed MAX_SENSORS_PER_USER`
    }
    this.#sensorKeys.add(key)
    return undefined
  }
}
