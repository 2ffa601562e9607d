// ControlReader on SQLite: reads users, access tokens and sensors beside the thread that writes.

import { countRefused, listDueRefused, listRefused } from '../../control/refused.ts'
import { findSignInLink } from '../../control/sign-in.ts'
import { countSkipped, listSkipped } from '../../control/skipped.ts'
import { findPrincipal, listSessions, listTokens } from '../../control/tokens.ts'
import { findUser, hasUsers, listIdentities, listUsers } from '../../control/users.ts'
import type { AccessToken, Principal, User, UserIdentity } from '../../domain/access.ts'
import type { Sensor } from '../../domain/sensor.ts'
import type { TimeRange } from '../../domain/time.ts'
import type {
  AcceptedDay,
  ControlReader,
  DataIdentity,
  SensorCursor,
  SensorNews,
  VersionedSensors,
} from '../../ports/control-reader.ts'
import type { ChangesQuestion, SensorChanges } from '../../ports/sensor-changes.ts'
import type { SignInLink } from '../../ports/sign-in-links.ts'
import type { SetAsideMeasurement } from '../../ports/store-upkeep.ts'
import type { Connection } from '../database.ts'
import type {
  RefusedCounts,
  RefusedEntry,
  RefusedListing,
  SkippedEntry,
} from '../../ports/refused.ts'
import { SetAside } from '../journal/set-aside.ts'
import { deriveCursorSecret, readEventSecret } from '../event-secret.ts'
import { AcceptedDays } from './accepted-days.ts'
import { ChangeRows } from './change-rows.ts'
import { FlowRunner } from './run-flow.ts'
import { SensorDeletionRows } from './sensor-deletion-rows.ts'
import { SensorRows } from './sensor-rows.ts'

const DATA_IDENTITY = `
  SELECT text AS id, restored_to_ms AS restoredToMs FROM data_identity WHERE id = 1`
const HAS_STORED_LINES = 'SELECT 1 FROM line_tokens WHERE token_id = ?'

export class SqliteControlReader implements ControlReader {
  readonly #db: Connection
  readonly #flows: FlowRunner
  readonly #sensors: SensorRows
  readonly #changes: ChangeRows
  readonly #accepted: AcceptedDays
  readonly #deletions: SensorDeletionRows
  readonly #setAside: SetAside

  constructor(db: Connection) {
    this.#db = db
    this.#flows = new FlowRunner(db)
    this.#sensors = new SensorRows(db)
    this.#changes = new ChangeRows(db, this.#sensors)
    this.#accepted = new AcceptedDays(db)
    this.#deletions = new SensorDeletionRows(db)
    this.#setAside = new SetAside(db)
  }

  async readDataIdentity(): Promise<DataIdentity> {
    const identity = this.#db.prepare<[], DataIdentity>(DATA_IDENTITY).get()
    if (identity === undefined) throw new Error('BUG: control.db has no identity')
    return identity
  }

  async readCursorSecret(): Promise<Uint8Array> {
    return deriveCursorSecret(readEventSecret(this.#db))
  }

  async findPrincipal(tokenHash: Buffer): Promise<Principal | undefined> {
    return this.#flows.run(findPrincipal(tokenHash))
  }

  async findSignInLink(hash: Uint8Array): Promise<SignInLink | undefined> {
    return this.#flows.run(findSignInLink(hash))
  }

  async findUser(email: string): Promise<User | undefined> {
    return this.#flows.run(findUser(email))
  }

  async hasUsers(): Promise<boolean> {
    return this.#flows.run(hasUsers())
  }

  async listUsers(): Promise<readonly User[]> {
    return this.#flows.run(listUsers())
  }

  async listTokens(userId: number): Promise<readonly AccessToken[]> {
    return this.#flows.run(listTokens(userId))
  }

  async listSessions(userId: number): Promise<readonly AccessToken[]> {
    return this.#flows.run(listSessions(userId))
  }

  async listIdentities(): Promise<readonly UserIdentity[]> {
    return this.#flows.run(listIdentities())
  }

  async listSensors(userId: number): Promise<readonly Sensor[]> {
    return this.#sensors.list(userId)
  }

  async findSensor(userId: number, sensorId: number): Promise<Sensor | undefined> {
    return this.#sensors.find(userId, sensorId)
  }

  async findSensorOfAnyone(sensorId: number): Promise<Sensor | undefined> {
    return this.#sensors.findOfAnyone(sensorId)
  }

  async countMeasurements(sensorIds: readonly number[]): Promise<number> {
    return this.#accepted.totalOf(sensorIds)
  }

  async readSensors(
    userId: number,
    onlineSinceMs: number,
    isKnown: (version: string) => boolean,
  ): Promise<VersionedSensors> {
    // One transaction, so that the version is of exactly the sensors read.
    return this.#db.transaction(() => {
      const version = this.#sensors.version(userId, onlineSinceMs)
      return { version, sensors: isKnown(version) ? undefined : this.#sensors.list(userId) }
    })()
  }

  async readChanges(question: ChangesQuestion): Promise<SensorChanges> {
    return this.#db.transaction(() => this.#changes.read(question))()
  }

  async readSensorNews(userId: number, since: SensorCursor | undefined): Promise<SensorNews> {
    return this.#db.transaction(() => this.#sensors.news(userId, since))()
  }

  async listAcceptedDays(sensorId: number, range: TimeRange): Promise<readonly AcceptedDay[]> {
    return this.#accepted.ofSensor(sensorId, range)
  }

  async countSensorDeletions(): Promise<number> {
    return this.#deletions.count()
  }

  async countSetAside(): Promise<number> {
    return this.#setAside.count()
  }

  async hasSetAside(sensorId: number, range: TimeRange): Promise<boolean> {
    return this.#setAside.sensorsAmong([sensorId], range).length > 0
  }

  async listSetAside(afterId: number, limit: number): Promise<readonly SetAsideMeasurement[]> {
    return this.#setAside.list(afterId, limit)
  }

  async listSkipped(limit: number, userId?: number): Promise<readonly SkippedEntry[]> {
    return this.#flows.run(listSkipped(limit, userId))
  }

  async countSkipped(userId?: number): Promise<number> {
    return this.#flows.run(countSkipped(userId))
  }

  async hasStoredLines(tokenId: number): Promise<boolean> {
    return this.#db.prepare(HAS_STORED_LINES).get(tokenId) !== undefined
  }

  async listRefused(listing: RefusedListing): Promise<readonly RefusedEntry[]> {
    return this.#flows.run(listRefused(listing))
  }

  async listDueRefused(nowMs: number, limit: number): Promise<readonly RefusedEntry[]> {
    return this.#flows.run(listDueRefused(nowMs, limit))
  }

  async countRefused(userId?: number): Promise<RefusedCounts> {
    return this.#flows.run(countRefused(userId))
  }
}
