// What the database knows of a group, read by the statements of its transaction: its sensors, how
// many its users have, its known events, and the state of each sensor, which is locked.

import { decodeSpans, isCovered } from '../../domain/time-spans.ts'
import type { JournalPlace } from '../../ports/journal-queue.ts'
import { READ_FORWARDED } from '../journal/journal-statements.ts'
import { int4Array, int8Array, uuidArray } from './binary-arrays.ts'
import { keyOfBits, sensorKeyOf } from './group.ts'
import type { Group, GroupedSubmission, NamedSensor } from './group.ts'
import type { GroupKnowledge, KnownEvent, KnownSensor } from './group-decider.ts'
import * as sql from './lane-statements.ts'
import type { Session } from './session.ts'

/** Up to so many are remembered, about 200 bytes each. */
const SENSORS_MAX = 100_000

/**
 * Sensors that lanes have seen, so that most groups need not look them up. A deleted sensor is
 * noticed when its state is to be locked: that row is gone.
 */
export class SensorCache {
  readonly #sensors = new Map<string, KnownSensor>()

  /** @param key see NamedSensor */
  find(key: string): KnownSensor | undefined {
    return this.#sensors.get(key)
  }

  add(key: string, sensor: KnownSensor): void {
    if (this.#sensors.size >= SENSORS_MAX) this.#sensors.clear()
    this.#sensors.set(key, sensor)
  }

  forget(key: string): void {
    this.#sensors.delete(key)
  }
}

/** A sensor under the lock of the transaction. */
export interface SensorState {
  readonly id: number
  readonly userId: number
  /** Of the latest reading; `null` before the first. */
  readonly measuredAtMs: number | null
  readonly tempCelsius: number | null
  readonly tieBreakNs: number
  readonly pending: string
  readonly spans: ArrayLike<number>
  /** Whether its next row has to keep a revision of its history. */
  readonly hasRevision: boolean
}

interface EventRow extends Omit<KnownEvent, 'sensor'> {
  readonly bits: Buffer
  readonly userId: number
  readonly sensorId: number
  readonly serialNumber: string
  readonly serialNumberKey: string
}

interface TimeOfSensor {
  readonly sensorId: number
  readonly atMs: number
}

export class GroupView implements GroupKnowledge {
  readonly states = new Map<number, SensorState>()
  readonly #session: Session
  readonly #content: readonly GroupedSubmission[]
  readonly #cache: SensorCache
  readonly #named: readonly NamedSensor[]
  readonly #sensors = new Map<string, KnownSensor>()
  readonly #counts = new Map<number, number>()
  readonly #gone = new Set<number>()
  readonly #events = new Map<string, KnownEvent>()
  readonly #tieBreaks = new Map<string, number>()
  #forwarded: readonly JournalPlace[] = []

  constructor(session: Session, { content }: Group, cache: SensorCache) {
    this.#session = session
    this.#content = content
    this.#cache = cache
    const named = new Map<string, NamedSensor>()
    for (const { elements } of content) {
      for (const { sensor } of elements) named.set(sensor.key, sensor)
    }
    this.#named = [...named.values()]
    for (const key of named.keys()) {
      const sensor = cache.find(key)
      if (sensor !== undefined) this.#sensors.set(key, sensor)
    }
  }

  findSensor(named: NamedSensor): KnownSensor | undefined {
    return this.#sensors.get(named.key)
  }

  isGone(userId: number): boolean {
    return this.#gone.has(userId)
  }

  sensorCount(userId: number): number {
    return this.#counts.get(userId) ?? 0
  }

  findEvent(eventKey: string): KnownEvent | undefined {
    return this.#events.get(eventKey)
  }

  spansOf({ id }: KnownSensor): ArrayLike<number> {
    return this.states.get(id)?.spans ?? []
  }

  nextTieBreak({ id }: KnownSensor, atMs: number): number {
    return this.#tieBreaks.get(`${id}@${atMs}`) ?? 1
  }

  /** Sensors that the group names and no look-up has found yet. */
  get unknownSensors(): readonly NamedSensor[] {
    return this.#named.filter((named) => this.findSensor(named) === undefined)
  }

  /** The last forwarded row of each stream. */
  get forwarded(): readonly JournalPlace[] {
    return this.#forwarded
  }

  async readForwarded(): Promise<void> {
    this.#forwarded = (await this.#session.send<JournalPlace>(READ_FORWARDED)).rows
  }

  /** Looks up the unknown sensors. */
  async findSensors(): Promise<void> {
    const unknown = this.unknownSensors
    if (unknown.length === 0) return
    const { rows } = await this.#session.send<KnownSensor & { readonly userId: number }>(
      sql.FIND_SENSORS,
      [int4Array(unknown.map(({ userId }) => userId)), unknown.map((one) => one.serialNumberKey)],
    )
    for (const row of rows) {
      const key = sensorKeyOf(row)
      this.#cache.add(key, row)
      this.#sensors.set(key, row)
    }
  }

  /** Locks the users of sensors that have to be registered, and counts their sensors. */
  async lockUsers(): Promise<void> {
    const ids = [...new Set(this.unknownSensors.map(({ userId }) => userId))]
    const { rows } = await this.#session.send<{ userId: number; sensors: number }>(sql.LOCK_USERS, [
      int4Array(ids),
    ])
    for (const { userId, sensors } of rows) this.#counts.set(userId, sensors)
    for (const id of ids) if (!this.#counts.has(id)) this.#gone.add(id)
  }

  /** @returns whether all of them are there: else one was deleted, and is no longer remembered */
  async lockSensors(): Promise<boolean> {
    const known = this.#named.flatMap((named) => {
      const sensor = this.findSensor(named)
      return sensor === undefined ? [] : [{ named, sensor }]
    })
    const { rows } = await this.#session.send<Omit<SensorState, 'spans'> & { spans: Buffer }>(
      sql.LOCK_SENSORS,
      [int4Array(known.map(({ sensor }) => sensor.id))],
    )
    for (const row of rows) this.states.set(row.id, { ...row, spans: decodeSpans(row.spans) })
    // After a restore that nobody has noticed, it may be another user's.
    const missing = known.filter(({ named, sensor }) => {
      return this.states.get(sensor.id)?.userId !== named.userId
    })
    for (const { named } of missing) this.#cache.forget(named.key)
    return missing.length === 0
  }

  /** Looks up which events of the group are stored. */
  async findKnown(): Promise<void> {
    const users = new Map<string, number>()
    for (const { userId, elements } of this.#content) {
      for (const { eventKey } of elements) if (eventKey !== undefined) users.set(eventKey, userId)
    }
    const { rows } = await this.#session.send<EventRow>(sql.FIND_KNOWN, [
      uuidArray([...users.keys()]),
      int4Array([...users.values()]),
    ])
    for (const { bits, userId, sensorId: id, measuredAtMs, tempCelsius, ...names } of rows) {
      const event = { sensor: { id, ...names }, measuredAtMs, tempCelsius }
      this.#events.set(keyOfBits(bits, userId), event)
    }
  }

  /** Looks up the next free tie-breaks of times that may have measurements. */
  async findTieBreaks(): Promise<void> {
    const times = this.#coveredTimes()
    if (times.length === 0) return
    const { rows } = await this.#session.send<{ sensorId: number; atMs: number; next: number }>(
      sql.FIND_TIE_BREAKS,
      [int4Array(times.map(({ sensorId }) => sensorId)), int8Array(times.map(({ atMs }) => atMs))],
    )
    for (const { sensorId, atMs, next } of rows) this.#tieBreaks.set(`${sensorId}@${atMs}`, next)
  }

  #coveredTimes(): TimeOfSensor[] {
    const times = new Map<string, TimeOfSensor>()
    for (const { receivedAtMs, elements } of this.#content) {
      for (const { sensor: named, measuredAtMs } of elements) {
        const sensor = this.findSensor(named)
        const atMs = Number.isNaN(measuredAtMs) ? receivedAtMs : measuredAtMs
        if (sensor === undefined || !isCovered(this.spansOf(sensor), atMs)) continue
        times.set(`${sensor.id}@${atMs}`, { sensorId: sensor.id, atMs })
      }
    }
    return [...times.values()]
  }
}
