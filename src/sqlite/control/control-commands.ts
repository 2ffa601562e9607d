// Changes to users, access tokens and sensors, as they run in the commit thread, each in its own
// transaction between groups of submissions.

import { foldEmail } from '../../domain/access.ts'
import type {
  AccessToken,
  Right,
  RotatedToken,
  TokenRotation,
  User,
  VerifiedIdentity,
} from '../../domain/access.ts'
import { sessionsPerUserMax } from '../../domain/limits.ts'
import { serialNumberKey } from '../../domain/sensor.ts'
import type { Sensor, SensorChange } from '../../domain/sensor.ts'
import { DAY_MS } from '../../domain/time.ts'
import type { NewAccessToken, SignInOrder, SignedInUser } from '../../ports/control-writer.ts'
import type { RefusedMeasurement, StoreSwitch } from '../../ports/store-upkeep.ts'
import type { Clock } from '../../ports/system.ts'
import type { Connection } from '../database.ts'
import { SetAside } from '../journal/set-aside.ts'
import { IdentityRows } from './identity-rows.ts'
import { RefusedRows } from './refused-rows.ts'
import { SkippedRows } from './skipped-rows.ts'
import type { Refused, RefusedEntry, SkippedSeries } from '../../ports/refused.ts'
import { SensorRows } from './sensor-rows.ts'
import type { Commands } from '../commit/commands.ts'
import type { SensorDirectory } from '../commit/sensor-directory.ts'

/** The calls of a port, but answered synchronously. */
type Synchronous<Port> = {
  [Call in keyof Port]: Port[Call] extends (...args: infer Args) => Promise<infer Result>
    ? (...args: Args) => Result
    : never
}

interface DaemonTokenRow {
  userId: number
  name: string
  rights: string
  serialNumberPrefix: string
  createdAtMs: number
  expiresAtMs: number | null
}

const INSERT_USER = `
  INSERT INTO users (email, email_key, name, created_at_ms) VALUES (?, ?, ?, ?)
  ON CONFLICT (email_key) DO NOTHING`
const USER_BY_ID = 'SELECT id, email, name FROM users WHERE id = ?'
const USER_ID_BY_EMAIL = 'SELECT id FROM users WHERE email_key = ?'
// Tokens and identities are deleted with it.
const DELETE_USER = 'DELETE FROM users WHERE id = ?'
const LIVE_SENSOR_IDS = 'SELECT id FROM sensors WHERE user_id = ? AND deleted_at_ms IS NULL'
const WIPE_SERIAL_NUMBERS = `
  UPDATE sensors SET serial_number = '', serial_number_key = '' WHERE user_id = ?`
const INSERT_TOKEN = `
  INSERT INTO access_tokens
    (user_id, kind, name, rights, serial_number_prefix, app_name, hash, created_at_ms,
      expires_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
const REVOKE_TOKEN = `
  UPDATE access_tokens SET revoked_at_ms = ? WHERE id = ? AND revoked_at_ms IS NULL`
const LIVE_DAEMON_TOKEN = `
  SELECT user_id AS userId, name, rights, serial_number_prefix AS serialNumberPrefix,
    created_at_ms AS createdAtMs, expires_at_ms AS expiresAtMs
  FROM access_tokens WHERE id = ? AND kind = 'daemon' AND revoked_at_ms IS NULL
    AND (expires_at_ms IS NULL OR expires_at_ms > ?)`
const EXPIRE_TOKEN = 'UPDATE access_tokens SET expires_at_ms = ? WHERE id = ?'
const REVOKE_MOBILE_TOKENS = `
  UPDATE access_tokens SET revoked_at_ms = ?
  WHERE user_id = ? AND kind = 'mobile' AND revoked_at_ms IS NULL`
const END_OLD_SESSIONS = `
  UPDATE access_tokens SET revoked_at_ms = ?
  WHERE id IN (
    SELECT id FROM access_tokens
    WHERE user_id = ? AND kind = 'mobile' AND revoked_at_ms IS NULL
    ORDER BY max(created_at_ms, ifnull(last_used_at_ms, 0)) DESC, id DESC LIMIT -1 OFFSET ?)
  RETURNING id`
const RECORD_TOKEN_USE = `
  UPDATE access_tokens SET last_used_at_ms = max(ifnull(last_used_at_ms, 0), ?) WHERE id = ?`
const INSERT_SENSOR = `
  INSERT INTO sensors
    (id, user_id, serial_number, serial_number_key, alias, created_at_ms, info_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?)`
const CHANGE_SENSOR = `
  UPDATE sensors SET alias = ifnull(?, alias),
    compensation_celsius = ifnull(?, compensation_celsius), info_at_ms = max(info_at_ms + 1, ?)
  WHERE id = ? AND user_id = ? AND deleted_at_ms IS NULL`
const DELETE_SENSOR = `
  UPDATE sensors SET deleted_at_ms = ?, alias = '', compensation_celsius = 0
  WHERE id = ? AND user_id = ? AND deleted_at_ms IS NULL`
const FORGET_LATEST = 'DELETE FROM sensor_latest WHERE sensor_id = ?'
const FORGET_DAYS = 'DELETE FROM accepted_per_day WHERE sensor_id = ?'
const FORGET_SET_ASIDE = 'DELETE FROM set_aside WHERE sensor_id = ?'
const DAYS_OF_SENSOR = `
  SELECT min(day) AS first, max(day) AS last FROM accepted_per_day WHERE sensor_id = ?`
const LAST_SEQ = "SELECT seq FROM sqlite_sequence WHERE name = 'journal'"
const INSERT_DELETION = `
  INSERT INTO sensor_deletions (sensor_id, user_id, start_ms, stop_ms, after_seq, due_at_ms)
  VALUES (?, ?, ?, ?, ?, ?)`
const NOTE_PASS =
  'UPDATE sensor_deletions SET passes = passes + 1, due_at_ms = ? WHERE sensor_id = ?'
// After a crash, the rows after the watermark are forwarded again, and the watermark is saved late.
// So a deletion is repeated until the watermark is past its rows.
const END_DELETION = `
  DELETE FROM sensor_deletions
  WHERE sensor_id = ? AND after_seq <= (SELECT forwarded_seq FROM journal_watermark WHERE id = 1)`
const STORE = 'SELECT name FROM measurement_store WHERE id = 1'
const ADOPT_STORE = `
  INSERT INTO measurement_store (id, name) VALUES (1, ?)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name
  WHERE NOT EXISTS (SELECT 1 FROM accepted_per_day)
    AND NOT EXISTS (SELECT 1 FROM sensor_deletions)`
const SWITCH_STORE = 'UPDATE measurement_store SET name = ? WHERE id = 1 AND name = ?'
const INSERT_INFO = `
  INSERT INTO journal (committed_at_ms, measurements, sensor_infos)
  SELECT ?, 0, json_array(json_object('userId', user_id, 'sensorId', id, 'atMs', info_at_ms,
    'serialNumber', serial_number, 'alias', alias, 'compensationCelsius', compensation_celsius))
  FROM sensors WHERE id = ?`

export class ControlCommands implements Synchronous<Commands> {
  readonly #db: Connection
  readonly #directory: SensorDirectory
  readonly #clock: Clock
  readonly #sensorsPerUserMax: number
  readonly #identityRows: IdentityRows
  readonly #sensorRows: SensorRows
  readonly #setAside: SetAside
  readonly #refused: RefusedRows
  readonly #skipped: SkippedRows

  constructor(
    db: Connection,
    directory: SensorDirectory,
    clock: Clock,
    settings: { sensorsPerUserMax: number },
  ) {
    this.#db = db
    this.#directory = directory
    this.#clock = clock
    this.#sensorsPerUserMax = settings.sensorsPerUserMax
    this.#identityRows = new IdentityRows(db)
    this.#sensorRows = new SensorRows(db)
    this.#setAside = new SetAside(db)
    this.#refused = new RefusedRows(db)
    this.#skipped = new SkippedRows(db)
  }

  createUser(email: string, name: string): User | undefined {
    const { changes, lastInsertRowid } = this.#db
      .prepare(INSERT_USER)
      .run(email, foldEmail(email), name, this.#clock.nowMs())
    return changes === 0 ? undefined : { id: Number(lastInsertRowid), email, name: name || email }
  }

  deleteUser(userId: number): number | undefined {
    const nowMs = this.#clock.nowMs()
    const deleted = this.#inTransaction(() => {
      const sensorIds = this.#db.prepare<[number], number>(LIVE_SENSOR_IDS).pluck().all(userId)
      for (const sensorId of sensorIds) this.#deleteSensorRows(userId, sensorId, nowMs)
      this.#db.prepare(WIPE_SERIAL_NUMBERS).run(userId)
      return this.#db.prepare(DELETE_USER).run(userId).changes > 0 ? sensorIds.length : undefined
    })
    this.#directory.closeUser(userId)
    return deleted
  }

  signIn({ identity, maySignUp, token }: SignInOrder): SignedInUser | undefined {
    return this.#inTransaction(() => {
      const userId = this.#userFor(identity, maySignUp)
      const row = userId && this.#db.prepare<[number], User>(USER_BY_ID).get(userId)
      if (!row) return undefined
      const user = { ...row, name: row.name || row.email }
      const created = this.createToken({ ...token, userId: user.id, kind: 'mobile' })
      const endOld = this.#db.prepare<[number, number, number], number>(END_OLD_SESSIONS).pluck()
      const endedTokenIds = endOld.all(this.#clock.nowMs(), user.id, sessionsPerUserMax)
      return { user, token: created, endedTokenIds }
    })
  }

  unlinkIdentity(userId: number, issuer: string): boolean {
    return this.#inTransaction(() => {
      const wasThere = this.#identityRows.remove(userId, issuer)
      if (wasThere) this.#db.prepare(REVOKE_MOBILE_TOKENS).run(this.#clock.nowMs(), userId)
      return wasThere
    })
  }

  createToken(token: NewAccessToken): AccessToken {
    const { userId, kind, name, rights, serialNumberPrefix = '', appName = '', expiresAtMs } = token
    const createdAtMs = this.#clock.nowMs()
    const names = [kind, name, rights.join(' '), serialNumberPrefix, appName]
    const row = [userId, ...names, Buffer.from(token.hash), createdAtMs, expiresAtMs]
    const { lastInsertRowid } = this.#db.prepare(INSERT_TOKEN).run(...row)
    const id = Number(lastInsertRowid)
    const unused = { lastUsedAtMs: null, revokedAtMs: null }
    const what = { id, userId, kind, name, rights, serialNumberPrefix, appName }
    return { ...what, createdAtMs, expiresAtMs, ...unused }
  }

  revokeToken(tokenId: number): boolean {
    return this.#db.prepare(REVOKE_TOKEN).run(this.#clock.nowMs(), tokenId).changes > 0
  }

  rotateToken(tokenId: number, order: TokenRotation): RotatedToken | undefined {
    const { nowMs, overlapMs } = order
    const hash = Buffer.from(order.hash)
    return this.#inTransaction(() => {
      const find = this.#db.prepare<[number, number], DaemonTokenRow>(LIVE_DAEMON_TOKEN)
      const old = find.get(tokenId, nowMs)
      if (old === undefined) return undefined
      const { userId, name, serialNumberPrefix, expiresAtMs } = old
      const rights = old.rights.split(' ') as Right[]
      // What was valid for a year is valid for a year again.
      const lifetimeMs = expiresAtMs === null ? null : expiresAtMs - old.createdAtMs
      const newExpiresAtMs = lifetimeMs === null ? null : nowMs + lifetimeMs
      const ends = { expiresAtMs: newExpiresAtMs }
      const same = { userId, kind: 'daemon', name, rights, serialNumberPrefix } as const
      const token = this.createToken({ ...same, hash, ...ends })
      const oldExpiresAtMs = Math.min(expiresAtMs ?? Infinity, nowMs + overlapMs)
      this.#db.prepare(EXPIRE_TOKEN).run(oldExpiresAtMs, tokenId)
      return { token, oldExpiresAtMs }
    })
  }

  recordTokenUses(lastUsedAtMs: ReadonlyMap<number, number>): void {
    const record = this.#db.prepare(RECORD_TOKEN_USE)
    this.#inTransaction(() => {
      for (const [tokenId, usedAtMs] of lastUsedAtMs) record.run(usedAtMs, tokenId)
    })
  }

  createSensor(
    userId: number,
    serialNumber: string,
    alias: string | undefined,
  ): Sensor | 'taken' | 'quota' {
    if (this.#directory.find(userId, serialNumber) !== undefined) return 'taken'
    if (this.#directory.count(userId) >= this.#sensorsPerUserMax) return 'quota'
    const id = this.#directory.takeId()
    const key = serialNumberKey(serialNumber)
    const nowMs = this.#clock.nowMs()
    this.#inTransaction(() => {
      const row = [id, userId, serialNumber, key, alias ?? serialNumber, nowMs, nowMs]
      this.#db.prepare(INSERT_SENSOR).run(...row)
      this.#db.prepare(INSERT_INFO).run(nowMs, id)
    })
    this.#directory.forgetAll()
    const sensor = this.#sensorRows.find(userId, id)
    if (sensor === undefined) throw new Error(`BUG: sensor ${id} is not there after its creation`)
    return sensor
  }

  changeSensor(userId: number, sensorId: number, change: SensorChange): Sensor | undefined {
    const { alias = null, compensationCelsius = null } = change
    const nowMs = this.#clock.nowMs()
    this.#inTransaction(() => {
      const values = [alias, compensationCelsius, nowMs, sensorId, userId]
      const { changes } = this.#db.prepare(CHANGE_SENSOR).run(...values)
      if (changes > 0) this.#db.prepare(INSERT_INFO).run(nowMs, sensorId)
    })
    return this.#sensorRows.find(userId, sensorId)
  }

  deleteSensor(userId: number, sensorId: number): boolean {
    const nowMs = this.#clock.nowMs()
    const wasThere = this.#inTransaction(() => this.#deleteSensorRows(userId, sensorId, nowMs))
    if (wasThere) this.#directory.forgetAll()
    return wasThere
  }

  noteDeletionPass(sensorId: number, dueAtMs: number | undefined): void {
    if (dueAtMs === undefined) this.#db.prepare(END_DELETION).run(sensorId)
    else this.#db.prepare(NOTE_PASS).run(dueAtMs, sensorId)
  }

  adoptStore(name: string): string {
    this.#db.prepare(ADOPT_STORE).run(name)
    return this.#db.prepare<[], string>(STORE).pluck().get() ?? name
  }

  switchStore({ from, to, leftovers }: StoreSwitch): boolean {
    const nowMs = this.#clock.nowMs()
    return this.#inTransaction(() => {
      if (this.#db.prepare(SWITCH_STORE).run(to, from).changes === 0) return false
      const order = this.#db.prepare(INSERT_DELETION)
      for (const { sensorId, userId, range } of leftovers) {
        order.run(sensorId, userId, range.startMs, range.stopMs, 0, nowMs)
      }
      return true
    })
  }

  setAside(measurements: readonly RefusedMeasurement[]): void {
    this.#setAside.add(measurements, this.#clock.nowMs())
  }

  retrySetAside(ids: readonly number[] | undefined): number {
    return this.#setAside.retry(ids, this.#clock.nowMs())
  }

  dropSetAside(ids: readonly number[] | undefined): number {
    return this.#setAside.drop(ids)
  }

  noteSkipped(skipped: readonly SkippedSeries[]): void {
    this.#inTransaction(() => this.#skipped.note(skipped))
  }

  noteStoredLines(tokenId: number): void {
    this.#skipped.noteToken(tokenId)
  }

  keepRefused(refused: readonly Refused[]): void {
    this.#inTransaction(() => this.#refused.keep(refused))
  }

  noteRefusedAgain(again: readonly Pick<RefusedEntry, 'id' | 'reason'>[]): void {
    this.#inTransaction(() => this.#refused.noteAgain(again))
  }

  dropRefused(ids: readonly number[] | undefined): number {
    return this.#inTransaction(() => this.#refused.drop(ids))
  }

  #deleteSensorRows(userId: number, sensorId: number, nowMs: number): boolean {
    if (this.#db.prepare(DELETE_SENSOR).run(nowMs, sensorId, userId).changes === 0) return false
    this.#orderDeletion(userId, sensorId, nowMs)
    for (const sql of [FORGET_LATEST, FORGET_DAYS, FORGET_SET_ASIDE]) {
      this.#db.prepare(sql).run(sensorId)
    }
    return true
  }

  /** Finds the user of an identity, links an existing user to it, or creates one. */
  #userFor(identity: VerifiedIdentity, maySignUp: boolean): number | undefined {
    const known = this.#identityRows.userOf(identity)
    if (known !== undefined) return known
    const { email, isEmailVerified, name = '' } = identity
    if (email === undefined || !isEmailVerified) return undefined
    const byEmail = this.#db.prepare<[string], number>(USER_ID_BY_EMAIL).pluck()
    const userId =
      byEmail.get(foldEmail(email)) ?? (maySignUp ? this.createUser(email, name)?.id : undefined)
    if (userId === undefined) return undefined
    const isAdded = this.#identityRows.add(identity, userId, this.#clock.nowMs())
    return isAdded ? userId : undefined
  }

  // The accepted days tell between which times the sensor's measurements lie.
  #orderDeletion(userId: number, sensorId: number, nowMs: number): void {
    const days = this.#db.prepare<[number], { first: number | null; last: number | null }>(
      DAYS_OF_SENSOR,
    )
    const { first, last } = days.get(sensorId) ?? { first: null, last: null }
    const range = [(first ?? 0) * DAY_MS, ((last ?? -1) + 1) * DAY_MS]
    const lastSeq = this.#db.prepare<[], number>(LAST_SEQ).pluck().get() ?? 0
    this.#db.prepare(INSERT_DELETION).run(sensorId, userId, ...range, lastSeq, nowMs)
  }

  #inTransaction<Result>(work: () => Result): Result {
    return this.#db.transaction(work).immediate()
  }
}
