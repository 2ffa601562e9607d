// ControlReader on SQLite: reads users, access tokens and sensors beside the thread that writes.

import { foldEmail } from '../../domain/access.ts'
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
import { RefusedRows } from './refused-rows.ts'
import { SkippedRows } from './skipped-rows.ts'
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
import { IdentityRows } from './identity-rows.ts'
import { SensorDeletionRows } from './sensor-deletion-rows.ts'
import { SensorRows } from './sensor-rows.ts'
import { SignInLinkRows } from './sign-in-link-rows.ts'
import { TOKEN_BY_HASH, TOKEN_COLUMNS, toToken } from './token-rows.ts'
import type { TokenRow } from './token-rows.ts'

interface UserRow {
  id: number
  email: string
  name: string
}

const TOKENS_OF_USER = `
  SELECT ${TOKEN_COLUMNS} FROM access_tokens t WHERE t.user_id = ? ORDER BY t.id`
const SESSIONS_OF_USER = `
  SELECT ${TOKEN_COLUMNS} FROM access_tokens t
  WHERE t.user_id = ? AND t.kind = 'mobile' AND t.revoked_at_ms IS NULL ORDER BY t.id DESC`
const USER_BY_ID = 'SELECT id, email, name FROM users WHERE id = ?'
const USER_BY_EMAIL = 'SELECT id, email, name FROM users WHERE email_key = ?'
const DATA_IDENTITY = `
  SELECT text AS id, restored_to_ms AS restoredToMs FROM data_identity WHERE id = 1`
const ANY_USER = 'SELECT 1 FROM users LIMIT 1'
const USERS = 'SELECT id, email, name FROM users ORDER BY id'

export class SqliteControlReader implements ControlReader {
  readonly #db: Connection
  readonly #tokenByHash
  readonly #tokensOfUser
  readonly #sessionsOfUser
  readonly #userById
  readonly #userByEmail
  readonly #users
  readonly #identities: IdentityRows
  readonly #sensors: SensorRows
  readonly #changes: ChangeRows
  readonly #accepted: AcceptedDays
  readonly #deletions: SensorDeletionRows
  readonly #setAside: SetAside
  readonly #refused: RefusedRows
  readonly #skipped: SkippedRows
  readonly #links: SignInLinkRows

  constructor(db: Connection) {
    this.#db = db
    this.#tokenByHash = db.prepare<[Buffer], TokenRow>(TOKEN_BY_HASH)
    this.#tokensOfUser = db.prepare<[number], TokenRow>(TOKENS_OF_USER)
    this.#sessionsOfUser = db.prepare<[number], TokenRow>(SESSIONS_OF_USER)
    this.#userById = db.prepare<[number], UserRow>(USER_BY_ID)
    this.#userByEmail = db.prepare<[string], UserRow>(USER_BY_EMAIL)
    this.#users = db.prepare<[], UserRow>(USERS)
    this.#identities = new IdentityRows(db)
    this.#sensors = new SensorRows(db)
    this.#changes = new ChangeRows(db, this.#sensors)
    this.#accepted = new AcceptedDays(db)
    this.#deletions = new SensorDeletionRows(db)
    this.#setAside = new SetAside(db)
    this.#refused = new RefusedRows(db)
    this.#skipped = new SkippedRows(db)
    this.#links = new SignInLinkRows(db)
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
    const token = this.#tokenByHash.get(tokenHash)
    const user = token && this.#userById.get(token.userId)
    return user && { token: toToken(token), user: toUser(user) }
  }

  async findSignInLink(hash: Uint8Array): Promise<SignInLink | undefined> {
    return this.#links.find(hash)
  }

  async findUser(email: string): Promise<User | undefined> {
    const row = this.#userByEmail.get(foldEmail(email))
    return row && toUser(row)
  }

  async hasUsers(): Promise<boolean> {
    return this.#db.prepare(ANY_USER).get() !== undefined
  }

  async listUsers(): Promise<readonly User[]> {
    return this.#users.all().map(toUser)
  }

  async listTokens(userId: number): Promise<readonly AccessToken[]> {
    return this.#tokensOfUser.all(userId).map(toToken)
  }

  async listSessions(userId: number): Promise<readonly AccessToken[]> {
    return this.#sessionsOfUser.all(userId).map(toToken)
  }

  async listIdentities(): Promise<readonly UserIdentity[]> {
    return this.#identities.list()
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
    return this.#skipped.list(limit, userId)
  }

  async countSkipped(userId?: number): Promise<number> {
    return this.#skipped.count(userId)
  }

  async hasStoredLines(tokenId: number): Promise<boolean> {
    return this.#skipped.hasToken(tokenId)
  }

  async listRefused(listing: RefusedListing): Promise<readonly RefusedEntry[]> {
    return this.#refused.list(listing)
  }

  async listDueRefused(nowMs: number, limit: number): Promise<readonly RefusedEntry[]> {
    return this.#refused.due(nowMs, limit)
  }

  async countRefused(userId?: number): Promise<RefusedCounts> {
    return this.#refused.count(userId)
  }
}

function toUser({ id, email, name }: UserRow): User {
  return { id, email, name: name || email }
}
