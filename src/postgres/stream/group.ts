// A group of submissions: what a lane commits in one transaction.

import { EVENT_BITS_WORDS, writeEventBits } from '../../domain/event-bits.ts'
import { groupMeasurementsMax, submissionsInFlightMax } from '../../domain/limits.ts'
import type { Submission, SubmittedMeasurement } from '../../domain/measurement.ts'
import { serialNumberKey } from '../../domain/sensor.ts'
import type { SubmissionGroup } from '../../ports/submissions.ts'

/** A sensor as a submission spells its serial number. */
export interface NamedSensor {
  /** Identifies the sensor in memory. */
  readonly key: string
  readonly userId: number
  readonly serialNumber: string
  readonly serialNumberKey: string
  /** The sensor's name, if the submission registers it. */
  readonly alias: string
}

export function sensorKeyOf({
  userId,
  serialNumberKey: name,
}: Pick<NamedSensor, 'userId' | 'serialNumberKey'>): string {
  return `${userId}:${name}`
}

const words = new Uint32Array(EVENT_BITS_WORDS)
const bytes = Buffer.from(words.buffer)

/**
 * The key of an event in memory: 16 characters for the 16 bytes of its id's bits, then its user.
 * Those of one user sort like the ledger's primary key.
 */
export function eventKeyOf(eventId: string, userId: number): string {
  writeEventBits(eventId, words, 0)
  return keyOfBits(bytes, userId)
}

/** @param bits as stored in the ledger */
export function keyOfBits(bits: Buffer, userId: number): string {
  return bits.toString('latin1') + String(userId)
}

export interface GroupElement {
  /** See `eventKeyOf`; `undefined`: it has no event id. */
  readonly eventKey: string | undefined
  readonly sensor: NamedSensor
  readonly tempCelsius: number
  /** NaN if the sender gave no time. */
  readonly measuredAtMs: number
}

export interface GroupedSubmission {
  readonly userId: number
  readonly receivedAtMs: number
  readonly isOnlyChecked: boolean
  readonly elements: readonly GroupElement[]
}

export class Group implements SubmissionGroup {
  readonly content: GroupedSubmission[] = []
  #measurements = 0

  get submissions(): number {
    return this.content.length
  }

  get measurements(): number {
    return this.#measurements
  }

  hasRoomFor(measurements: number): boolean {
    const hasRoom = this.#measurements + measurements <= groupMeasurementsMax
    return hasRoom && this.content.length < submissionsInFlightMax
  }

  add({ userId, receivedAtMs, measurements }: Submission, isOnlyChecked: boolean): void {
    const sensors = new Map<string, NamedSensor>()
    const elements = Array.from({ length: measurements.length }, (_, index) => {
      const measurement = measurements.at(index)
      if (measurement === undefined) throw new Error(`BUG: no element ${index}`)
      return elementOf(measurement, sensors, userId)
    })
    this.take({ userId, receivedAtMs, isOnlyChecked, elements })
  }

  take(submission: GroupedSubmission): void {
    this.content.push(submission)
    this.#measurements += submission.elements.length
  }
}

/** Splits a group's submissions into two groups. */
export function halvesOf({ content }: Group): [Group, Group] {
  const halves: [Group, Group] = [new Group(), new Group()]
  content.forEach((submission, at) => halves[at * 2 < content.length ? 0 : 1].take(submission))
  return halves
}

/** @param sensors named by the submission so far, by spelling */
function elementOf(
  { eventId, serialNumber, alias, tempCelsius, measuredAtMs }: SubmittedMeasurement,
  sensors: Map<string, NamedSensor>,
  userId: number,
): GroupElement {
  const hasNumbers = Number.isFinite(tempCelsius) && Number.isSafeInteger(measuredAtMs ?? 0)
  const hasTexts = typeof serialNumber === 'string' && typeof (eventId ?? '') === 'string'
  if (!hasNumbers || !hasTexts) {
    throw new TypeError('BUG: a submission with an element that is no measurement')
  }
  let sensor = sensors.get(serialNumber)
  if (sensor === undefined) {
    // PostgreSQL's texts cannot contain this character.
    const name = (alias ?? serialNumber).replaceAll('\0', '\ufffd')
    const names = { userId, serialNumber, serialNumberKey: serialNumberKey(serialNumber) }
    sensor = { ...names, key: sensorKeyOf(names), alias: name }
    sensors.set(serialNumber, sensor)
  }
  const eventKey = eventId === null ? undefined : eventKeyOf(eventId, userId)
  return { eventKey, sensor, tempCelsius, measuredAtMs: measuredAtMs ?? NaN }
}
