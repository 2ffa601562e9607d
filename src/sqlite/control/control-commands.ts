// Changes to users, access tokens and sensors, as they run in the commit thread, each in its own
// transaction between groups of submissions.

import type { Flow } from '../../control/flow.ts'
import {
  dropRefused,
  keepRefused,
  makeRoomForRefused,
  noteRefusedRetries,
} from '../../control/refused.ts'
import { createSignInLink, redeemSignInLink, signIn } from '../../control/sign-in.ts'
import { noteSkipped } from '../../control/skipped.ts'
import { createToken, revokeToken, rotateToken } from '../../control/tokens.ts'
import { createUser, mayLeave, renameUser, unlinkIdentity } from '../../control/users.ts'
import type { AddState } from '../../control/users.ts'
import type {
  AccessToken,
  RotatedToken,
  TokenRotation,
  User,
  UserChange,
} from '../../domain/access.ts'
import { serialNumberKey } from '../../domain/sensor.ts'
import type { Sensor, SensorChange } from '../../domain/sensor.ts'
import { DAY_MS } from '../../domain/time.ts'
import type {
  LinkRedemption,
  NewAccessToken,
  SignInOrder,
  SignedInUser,
} from '../../ports/control-writer.ts'
import type { NewSignInLink } from '../../ports/sign-in-links.ts'
import type { RefusedMeasurement, StoreSwitch } from '../../ports/store-upkeep.ts'
import type { Clock } from '../../ports/system.ts'
import type { Connection } from '../database.ts'
import { SetAside } from '../journal/set-aside.ts'
import type { Refused, RefusedRetry, SkippedSeries } from '../../ports/refused.ts'
import { FlowRunner } from './run-flow.ts'
import { SensorRows } from './sensor-rows.ts'
import type { Commands } from '../commit/commands.ts'
import type { SensorDirectory } from '../commit/sensor-directory.ts'

/** The calls of a port, but answered synchronously. */
type Synchronous<Port> = {
  [Call in keyof Port]: Port[Call] extends (...args: infer Args) => Promise<infer Result>
    ? (...args: Args) => Result
    : never
}

// Tokens and identities are deleted with it.
const DELETE_USER = 'DELETE FROM users WHERE id = ?'
const WIPE_SERIAL_NUMBERS = `
  UPDATE sensors SET serial_number = '', serial_number_key = '' WHERE user_id = ?`
const INSERT_SENSOR = `
  INSERT INTO sensors
    (id, user_id, serial_number, serial_number_key, alias, created_at_ms, info_at_ms, changed_seq)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
const CHANGE_SENSOR = `
  UPDATE sensors SET alias = ifnull(@alias, alias),
    compensation_celsius = ifnull(@compensation, compensation_celsius),
    info_at_ms = max(info_at_ms + 1, @nowMs), changed_seq = @seq,
    compensated_seq =
      iif(@compensation <> compensation_celsius, @seq, compensated_seq)
  WHERE id = @sensorId AND user_id = @userId AND deleted_at_ms IS NULL`
const DELETE_SENSORS = `
  UPDATE sensors SET deleted_at_ms = @nowMs, changed_seq = @seq, alias = '',
    compensation_celsius = 0
  WHERE user_id = @userId AND deleted_at_ms IS NULL`
const DELETE_ALL = `${DELETE_SENSORS} RETURNING id`
const DELETE_ONE = `${DELETE_SENSORS} AND id = @sensorId RETURNING id`
// The accepted days tell between which times a sensor's measurements lie.
const ORDER_DELETIONS = `
  INSERT INTO sensor_deletions (sensor_id, user_id, start_ms, stop_ms, after_seq, due_at_ms)
  SELECT value, @userId, ifnull(min(day), 0) * ${DAY_MS}, (ifnull(max(day), -1) + 1) * ${DAY_MS},
    @seq - 1, @nowMs
  FROM json_each(@ids) LEFT JOIN accepted_per_day ON sensor_id = value GROUP BY value`
const forgetIn = (table: string) => `
  DELETE FROM ${table} WHERE sensor_id IN (SELECT value FROM json_each(@ids))`
const FORGET = ['sensor_latest', 'history_steps', 'accepted_per_day', 'set_aside'].map(forgetIn)
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
const RECORD_USE = `
  UPDATE access_tokens SET last_used_at_ms = max(ifnull(last_used_at_ms, 0), ?) WHERE id = ?`
const NOTE_STORED_LINES = `
  INSERT OR IGNORE INTO line_tokens (token_id) SELECT id FROM access_tokens WHERE id = ?`
const STORE = 'SELECT name FROM measurement_store WHERE id = 1'
const ADOPT_STORE = `
  INSERT INTO measurement_store (id, name, since_seq)
  VALUES (1, ?, ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'journal'), 0))
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, since_seq = excluded.since_seq
  WHERE name <> excluded.name AND NOT EXISTS (SELECT 1 FROM accepted_per_day)
    AND NOT EXISTS (SELECT 1 FROM sensor_deletions)`
const SWITCH_STORE = 'UPDATE measurement_store SET name = ? WHERE id = 1 AND name = ?'
const INSERT_EMPTY_ROW = 'INSERT INTO journal (committed_at_ms, measurements) VALUES (?, 0)'
const INSERT_INFO = `
  INSERT INTO journal (committed_at_ms, measurements, sensor_infos)
  SELECT ?, 0, json_array(json_object('userId', user_id, 'sensorId', id, 'atMs', info_at_ms,
    'serialNumber', serial_number, 'alias', alias, 'compensationCelsius', compensation_celsius))
  FROM sensors WHERE id = ?`

/** Nothing else is kept of a user here. */
const NO_STATE: AddState = function* () {}

function* thenMakeRoom<Result>(flow: Flow<Result>): Flow<Result> {
  const result = yield* flow
  yield* makeRoomForRefused()
  return result
}

export class ControlCommands implements Synchronous<Commands> {
  readonly #db: Connection
  readonly #directory: SensorDirectory
  readonly #clock: Clock
  readonly #sensorsPerUserMax: number
  readonly #flows: FlowRunner
  readonly #sensorRows: SensorRows
  readonly #setAside: SetAside

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
    this.#flows = new FlowRunner(db)
    this.#sensorRows = new SensorRows(db)
    this.#setAside = new SetAside(db)
  }

  createUser(email: string, name: string): User | undefined {
    const nowMs = this.#clock.nowMs()
    return this.#run(createUser({ email, name, nowMs }, NO_STATE))
  }

  renameUser(userId: number, change: UserChange): User | undefined {
    return this.#run(renameUser(userId, change))
  }

  deleteUser(userId: number): number | undefined {
    const nowMs = this.#clock.nowMs()
    const deleted = this.#inTransaction(() => this.#deleteUserRows(userId, nowMs))
    this.#directory.closeUser(userId)
    return deleted
  }

  deleteAccount(userId: number): boolean {
    const nowMs = this.#clock.nowMs()
    const isDeleted = this.#inTransaction(() => {
      const isAllowed = this.#flows.run(mayLeave(userId, nowMs))
      return isAllowed && this.#deleteUserRows(userId, nowMs) !== undefined
    })
    if (isDeleted) this.#directory.closeUser(userId)
    return isDeleted
  }

  signIn(order: SignInOrder): SignedInUser | undefined {
    return this.#run(signIn(order, this.#clock.nowMs(), NO_STATE))
  }

  createSignInLink(link: NewSignInLink): void {
    this.#run(createSignInLink(link))
  }

  redeemSignInLink(order: LinkRedemption): SignedInUser | undefined {
    return this.#run(redeemSignInLink(order, NO_STATE))
  }

  unlinkIdentity(userId: number, issuer: string): boolean {
    return this.#run(unlinkIdentity(userId, issuer, this.#clock.nowMs()))
  }

  createToken(token: NewAccessToken): AccessToken {
    return this.#run(createToken(token, this.#clock.nowMs()))
  }

  revokeToken(tokenId: number): boolean {
    return this.#run(revokeToken(tokenId, this.#clock.nowMs()))
  }

  rotateToken(tokenId: number, order: TokenRotation): RotatedToken | undefined {
    return this.#run(rotateToken(tokenId, order))
  }

  recordTokenUses(lastUsedAtMs: ReadonlyMap<number, number>): void {
    const record = this.#db.prepare(RECORD_USE)
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
      this.#db.prepare(INSERT_SENSOR).run(...row, this.#nextSeq())
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
      const values = { alias, compensation: compensationCelsius, nowMs, sensorId, userId }
      const row = { ...values, seq: this.#nextSeq() }
      const { changes } = this.#db.prepare(CHANGE_SENSOR).run(row)
      if (changes > 0) this.#db.prepare(INSERT_INFO).run(nowMs, sensorId)
    })
    return this.#sensorRows.find(userId, sensorId)
  }

  deleteSensor(userId: number, sensorId: number): boolean {
    const nowMs = this.#clock.nowMs()
    const wasThere = this.#inTransaction(() => {
      const isDeleted = this.#deleteSensorRows(userId, nowMs, sensorId) > 0
      // The row that cursors are compared with.
      if (isDeleted) this.#db.prepare(INSERT_EMPTY_ROW).run(nowMs)
      return isDeleted
    })
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
    this.#run(noteSkipped(skipped))
  }

  noteStoredLines(tokenId: number): void {
    this.#db.prepare(NOTE_STORED_LINES).run(tokenId)
  }

  keepRefused(refused: readonly Refused[]): void {
    this.#run(thenMakeRoom(keepRefused(refused)))
  }

  noteRefusedRetries(retries: readonly RefusedRetry[]): number {
    return this.#run(thenMakeRoom(noteRefusedRetries(retries)))
  }

  dropRefused(ids: readonly number[] | undefined): number {
    return this.#run(dropRefused(ids))
  }

  /** @returns how many sensors they had, `undefined` if there is no such user */
  #deleteUserRows(userId: number, nowMs: number): number | undefined {
    const sensors = this.#deleteSensorRows(userId, nowMs)
    this.#db.prepare(WIPE_SERIAL_NUMBERS).run(userId)
    return this.#db.prepare(DELETE_USER).run(userId).changes > 0 ? sensors : undefined
  }

  /** @param sensorId `undefined`: all of the user's @returns how many were there */
  #deleteSensorRows(userId: number, nowMs: number, sensorId?: number): number {
    const of = { userId, sensorId, nowMs, seq: this.#nextSeq() }
    const deletion = this.#db.prepare(sensorId === undefined ? DELETE_ALL : DELETE_ONE)
    const deleted = deletion.pluck().all(of)
    const sensors = { ...of, ids: JSON.stringify(deleted) }
    for (const sql of [ORDER_DELETIONS, ...FORGET]) this.#db.prepare(sql).run(sensors)
    return deleted.length
  }

  /** Of the row that this transaction is about to write. */
  #nextSeq(): number {
    return (this.#db.prepare<[], number>(LAST_SEQ).pluck().get() ?? 0) + 1
  }

  #run<Result>(flow: Flow<Result>): Result {
    return this.#inTransaction(() => this.#flows.run(flow))
  }

  #inTransaction<Result>(work: () => Result): Result {
    return this.#db.transaction(work).immediate()
  }
}
