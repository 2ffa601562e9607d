// ControlReader on PostgreSQL: users, access tokens and sensors.

import { countRefused, listDueRefused, listRefused } from '../../control/refused.ts'
import { findSignInLink } from '../../control/sign-in.ts'
import { countSkipped, listSkipped } from '../../control/skipped.ts'
import { listSessions, listTokens } from '../../control/tokens.ts'
import { findUser, hasUsers, listIdentities, listUsers } from '../../control/users.ts'
import type { AccessToken, Principal, User, UserIdentity } from '../../domain/access.ts'
import type { Sensor } from '../../domain/sensor.ts'
import { DAY_MS } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type {
  AcceptedDay,
  ControlReader,
  DataIdentity,
  SensorCursor,
} from '../../ports/control-reader.ts'
import type { ChangesQuestion, SensorChanges } from '../../ports/sensor-changes.ts'
import type { RefusedListing } from '../../ports/refused.ts'
import type { SignInLink } from '../../ports/sign-in-links.ts'
import type { Database } from '../database.ts'
import { PrincipalLookUps } from './principal-look-ups.ts'
import { runFlow } from './run-flow.ts'
import { readChanges } from './sensor-changes.ts'
import {
  findSensor,
  findSensorOfAnyone,
  listSensors,
  readSensorNews,
  readSensors,
} from './sensor-rows.ts'
import { countSetAside, hasSetAside, listSetAside } from './set-aside.ts'

const DATA_IDENTITY = 'SELECT id, restored_to_ms AS "restoredToMs" FROM data_identity'
const CURSOR_SECRET = 'SELECT cursor_secret AS secret FROM data_identity'
const HAS_STORED_LINES = 'SELECT 1 FROM access_tokens WHERE id = $1 AND has_stored_lines'
const OF_SENSORS = `
  FROM accepted_per_day d JOIN sensors s ON s.bucket = d.bucket AND s.id = d.sensor_id
  WHERE s.id`
const ACCEPTED = `
  SELECT coalesce(sum(d.measurements), 0)::bigint AS count ${OF_SENSORS} = ANY ($1::bigint[])`
const ACCEPTED_DAYS = `
  SELECT d.day, d.measurements ${OF_SENSORS} = $1::bigint AND d.day >= $2 AND d.day < $3
  ORDER BY d.day`
const DELETIONS = `
  SELECT (SELECT count(*) FROM sensor_deletions) + (
    SELECT count(*) FROM user_deletions JOIN sensor_state USING (bucket, user_id)) AS count`

export class PostgresControlReader implements ControlReader {
  readonly #database: Database
  readonly #principals: PrincipalLookUps

  constructor(database: Database) {
    this.#database = database
    this.#principals = new PrincipalLookUps(database)
  }

  async readDataIdentity(): Promise<DataIdentity> {
    const [identity] = await this.#database.rows<DataIdentity>(DATA_IDENTITY)
    if (identity === undefined) throw new Error('BUG: the database has no identity')
    return identity
  }

  async readCursorSecret(): Promise<Uint8Array> {
    const [row] = await this.#database.rows<{ secret: Buffer }>(CURSOR_SECRET)
    if (row === undefined) throw new Error('BUG: the database has no identity')
    return row.secret
  }

  findPrincipal(tokenHash: Buffer): Promise<Principal | undefined> {
    return this.#principals.find(tokenHash)
  }

  findSignInLink(hash: Uint8Array): Promise<SignInLink | undefined> {
    return runFlow(this.#database, findSignInLink(hash))
  }

  findUser(email: string): Promise<User | undefined> {
    return runFlow(this.#database, findUser(email))
  }

  hasUsers(): Promise<boolean> {
    return runFlow(this.#database, hasUsers())
  }

  listUsers(): Promise<readonly User[]> {
    return runFlow(this.#database, listUsers())
  }

  listTokens(userId: number): Promise<readonly AccessToken[]> {
    return runFlow(this.#database, listTokens(userId))
  }

  listSessions(userId: number): Promise<readonly AccessToken[]> {
    return runFlow(this.#database, listSessions(userId))
  }

  listIdentities(): Promise<readonly UserIdentity[]> {
    return runFlow(this.#database, listIdentities())
  }

  listSensors(userId: number): Promise<readonly Sensor[]> {
    return listSensors(this.#database, userId)
  }

  findSensor(userId: number, sensorId: number): Promise<Sensor | undefined> {
    return findSensor(this.#database, userId, sensorId)
  }

  findSensorOfAnyone(sensorId: number): Promise<Sensor | undefined> {
    return findSensorOfAnyone(this.#database, sensorId)
  }

  countMeasurements(sensorIds: readonly number[]): Promise<number> {
    return this.#count(ACCEPTED, [sensorIds])
  }

  readSensors(userId: number, onlineSinceMs: number, isKnown: (version: string) => boolean) {
    return readSensors(this.#database, { userId, onlineSinceMs }, isKnown)
  }

  readChanges(question: ChangesQuestion): Promise<SensorChanges> {
    return readChanges(this.#database, question)
  }

  readSensorNews(userId: number, since: SensorCursor | undefined) {
    return readSensorNews(this.#database, userId, since)
  }

  async listAcceptedDays(
    sensorId: number,
    { startMs, stopMs }: TimeRange,
  ): Promise<readonly AcceptedDay[]> {
    const days = [Math.floor(startMs / DAY_MS), Math.ceil(stopMs / DAY_MS)]
    const values = [sensorId, ...days]
    const rows = await this.#database.rows<{ day: number; measurements: number }>(
      ACCEPTED_DAYS,
      values,
    )
    return rows.map(({ day, measurements }) => ({ dayMs: day * DAY_MS, measurements }))
  }

  countSensorDeletions(): Promise<number> {
    return this.#count(DELETIONS)
  }

  countSetAside(): Promise<number> {
    return countSetAside(this.#database)
  }

  hasSetAside(sensorId: number, range: TimeRange): Promise<boolean> {
    return hasSetAside(this.#database, sensorId, range)
  }

  listSetAside(afterId: number, limit: number) {
    return listSetAside(this.#database, afterId, limit)
  }

  listSkipped(limit: number, userId?: number) {
    return runFlow(this.#database, listSkipped(limit, userId))
  }

  countSkipped(userId?: number): Promise<number> {
    return runFlow(this.#database, countSkipped(userId))
  }

  async hasStoredLines(tokenId: number): Promise<boolean> {
    return (await this.#database.rows(HAS_STORED_LINES, [tokenId])).length > 0
  }

  listRefused(listing: RefusedListing) {
    return runFlow(this.#database, listRefused(listing))
  }

  listDueRefused(nowMs: number, limit: number) {
    return runFlow(this.#database, listDueRefused(nowMs, limit))
  }

  countRefused(userId?: number) {
    return runFlow(this.#database, countRefused(userId))
  }

  async #count(text: string, values: readonly unknown[] = []): Promise<number> {
    const [row] = await this.#database.rows<{ count: number }>(text, values)
    return row?.count ?? 0
  }
}
