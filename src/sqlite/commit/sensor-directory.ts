// Sensors as the commit thread needs them: by the user and the spelling, and by id, in a bounded
// memory in front of the table. It also holds the sensors that a group of submissions is about to
// register, until their transaction is through or they are taken back.

import { serialNumberKey } from '../../domain/sensor.ts'
import type { Connection } from '../database.ts'

export interface DirectoryEntry {
  readonly id: number
  readonly userId: number
  readonly serialNumber: string
  readonly serialNumberKey: string
}

/** A sensor that its group's transaction will create. */
export interface PendingSensor extends DirectoryEntry {
  readonly alias: string
  readonly createdAtMs: number
}

/** Sensors kept in memory, about 200 bytes each. */
const CACHE_MAX = 100_000

const LIVE_BY_KEY = `
  SELECT id, user_id AS userId, serial_number AS serialNumber, serial_number_key AS serialNumberKey
  FROM sensors WHERE user_id = ? AND serial_number_key = ? AND deleted_at_ms IS NULL`
const BY_ID = `
  SELECT id, user_id AS userId, serial_number AS serialNumber, serial_number_key AS serialNumberKey
  FROM sensors WHERE id = ?`
const COUNT_LIVE = 'SELECT count(*) FROM sensors WHERE user_id = ? AND deleted_at_ms IS NULL'
const LAST_ID = "SELECT seq FROM sqlite_sequence WHERE name = 'sensors'"

export class SensorDirectory {
  readonly #liveByKey
  readonly #byId
  readonly #countLive
  readonly #cacheByKey = new Map<string, DirectoryEntry>()
  readonly #cacheById = new Map<number, DirectoryEntry>()
  readonly #liveCounts = new Map<number, number>()
  /** Deleted since the start; a request of theirs may still be under way. */
  readonly #closedUsers = new Set<number>()
  readonly #pending: PendingSensor[] = []
  #lastId: number

  constructor(db: Connection) {
    this.#liveByKey = db.prepare<[number, string], DirectoryEntry>(LIVE_BY_KEY)
    this.#byId = db.prepare<[number], DirectoryEntry>(BY_ID)
    this.#countLive = db.prepare<[number], number>(COUNT_LIVE).pluck()
    this.#lastId = db.prepare<[], number>(LAST_ID).pluck().get() ?? 0
  }

  /** The live sensor that a user means by this spelling, one that is being registered included. */
  find(userId: number, serialNumber: string): DirectoryEntry | undefined {
    const key = serialNumberKey(serialNumber)
    const cacheKey = `${userId}:${key}`
    const cached = this.#cacheByKey.get(cacheKey)
    if (cached !== undefined) return cached
    const found = this.#liveByKey.get(userId, key)
    if (found !== undefined) this.#remember(cacheKey, found)
    return found
  }

  /** Any sensor there ever was, deleted ones included. */
  byId(id: number): DirectoryEntry | undefined {
    const cached = this.#cacheById.get(id)
    if (cached !== undefined) return cached
    const found = this.#byId.get(id)
    if (found === undefined) return undefined
    if (this.#cacheById.size >= CACHE_MAX) this.#forgetEntries()
    this.#cacheById.set(id, found)
    return found
  }

  /** Whether the user was deleted: they get no sensors any more. */
  isClosed(userId: number): boolean {
    return this.#closedUsers.has(userId)
  }

  /** Live sensors of a user, pending ones included. */
  count(userId: number): number {
    const known = this.#liveCounts.get(userId)
    if (known !== undefined) return known
    if (this.#liveCounts.size >= CACHE_MAX && this.#pending.length === 0) this.#liveCounts.clear()
    const pending = this.#pending.filter((sensor) => sensor.userId === userId).length
    const count = (this.#countLive.get(userId) ?? 0) + pending
    this.#liveCounts.set(userId, count)
    return count
  }

  /** Registers a sensor for the group at hand. */
  addPending(
    userId: number,
    serialNumber: string,
    { alias, createdAtMs }: Pick<PendingSensor, 'alias' | 'createdAtMs'>,
  ): PendingSensor {
    const key = serialNumberKey(serialNumber)
    const id = ++this.#lastId
    const sensor = { id, userId, serialNumber, serialNumberKey: key, alias, createdAtMs }
    this.#pending.push(sensor)
    this.#addToCount(userId, 1)
    this.#remember(`${userId}:${key}`, sensor)
    return sensor
  }

  get pending(): readonly PendingSensor[] {
    return this.#pending
  }

  /** Takes back all but the first `count` pending sensors: they were never given out. */
  truncatePending(count: number): void {
    for (const sensor of this.#pending.splice(count)) {
      this.#cacheByKey.delete(`${sensor.userId}:${sensor.serialNumberKey}`)
      this.#cacheById.delete(sensor.id)
      this.#addToCount(sensor.userId, -1)
      this.#lastId--
    }
  }

  /** The transaction is through: pending sensors exist now. */
  settlePending(): void {
    this.#pending.length = 0
  }

  /** Reserves an id for a sensor that an operator creates. */
  takeId(): number {
    return ++this.#lastId
  }

  /** Drops what is remembered, after sensors changed by another way than a group. */
  forgetAll(): void {
    this.#liveCounts.clear()
    this.#forgetEntries()
  }

  /** A user is deleted. */
  closeUser(userId: number): void {
    this.#closedUsers.add(userId)
    this.forgetAll()
  }

  #forgetEntries(): void {
    this.#cacheByKey.clear()
    this.#cacheById.clear()
    for (const sensor of this.#pending) {
      this.#remember(`${sensor.userId}:${sensor.serialNumberKey}`, sensor)
    }
  }

  #addToCount(userId: number, difference: number): void {
    const count = this.#liveCounts.get(userId)
    if (count !== undefined) this.#liveCounts.set(userId, count + difference)
  }

  #remember(cacheKey: string, entry: DirectoryEntry): void {
    if (this.#cacheByKey.size >= CACHE_MAX) this.#forgetEntries()
    this.#cacheByKey.set(cacheKey, entry)
    this.#cacheById.set(entry.id, entry)
  }
}
