// Limits the memory of all bodies, from their first byte to their answer, in bytes that have
// arrived: a size that a client only announces costs nothing. Nobody can keep others out:
//
// - A user has at most an eighth of the budget. The user's oldest upload always goes on, the
//   others share a part of it and wait where that is full, so none of them is refused for
//   another one. Half of that part is for those that have begun: most bodies are short, and end.
// - An upload below 512 bytes a second is cut off (a daemon on GPRS has twice that), and while more
//   than half of the budget is in use the slowest is cut off every second. Those who wait for us
//   are not slow.
// - What a user's others have taken may be parts of bodies, none of which can end before the oldest
//   does. So an oldest one that keeps them waiting for 5 s, none of them going on, is cut off if it
//   comes at less than 16 KiB a second.
// - A long answer to an upload counts in its user's part until its client has taken it, and in
//   nobody else's way. Where answers fill the part, all uploads of that user wait: what is never
//   taken ends with its connection.

import { ServiceError, postponedError } from '../../domain/errors.ts'
import { SECOND_MS } from '../../domain/time.ts'
import type { Clock } from '../../ports/system.ts'

const BYTES_PER_SECOND_MIN = 512
/** The same while others of its user wait for it. */
const AWAITED_BYTES_PER_SECOND_MIN = 16 * 1_024
/** The rate of an upload is measured over this period. */
const RATE_PERIOD_MS = 20 * SECOND_MS
/** An upload that has only just begun does not count as slow. */
const SLOW_AFTER_MS = 5 * SECOND_MS
const CHECK_EVERY_MS = SECOND_MS
/** The share of the budget that one user may take, and the part of it beside the oldest upload. */
const USER_SHARE = 1 / 8
const BESIDE_PART = 3 / 8
/** Beyond this share of the budget, the slowest upload is cut off. */
const BUSY_SHARE = 1 / 2
/** Users without an upload who are remembered, because the next one comes soon. */
const IDLE_USERS_MAX = 1_000

export class UploadBudget {
  readonly #bytesMax: number
  readonly #clock: Clock
  readonly #users = new Map<number | undefined, UserUploads>()
  #bytes = 0
  #checking: NodeJS.Timeout | undefined

  constructor(bytesMax: number, clock: Clock) {
    this.#bytesMax = bytesMax
    this.#clock = clock
  }

  /** Bytes of the budget in use. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Begins an upload.
   *
   * @param userId `undefined`: the user is not known yet, so no user's share is limited
   * @param bytesMin what it counts at least, once something of it has arrived
   */
  open(userId: number | undefined, bytesMin = 0): Upload {
    const user = this.#userOf(userId)
    const upload = new Upload(this, user, bytesMin)
    user.open.add(upload)
    return upload
  }

  /** @throws ServiceError `overloaded` when the budget has no room for it */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax) throw postponedError('overloaded')
    this.#bytes += bytes
  }

  give(bytes: number): void {
    this.#bytes -= bytes
  }

  /** From now on the rates of uploads count. */
  noteReceiving(): void {
    this.#checking ??= setInterval(() => this.#check(), CHECK_EVERY_MS).unref()
  }

  get nowMs(): number {
    return this.#clock.monotonicMs()
  }

  #userOf(userId: number | undefined): UserUploads {
    const known = this.#users.get(userId)
    if (known !== undefined) return known
    if (this.#users.size >= IDLE_USERS_MAX) this.#forgetIdle()
    const bytesMax = userId === undefined ? Infinity : this.#bytesMax * USER_SHARE * BESIDE_PART
    const user = new UserUploads(bytesMax, this.#clock)
    this.#users.set(userId, user)
    return user
  }

  #forgetIdle(): void {
    for (const [userId, { isIdle }] of this.#users) {
      if (isIdle) this.#users.delete(userId)
    }
  }

  /** A set of them would change with each request. */
  #receiving(): Upload[] {
    const all = [...this.#users.values()].flatMap(({ open }) => [...open])
    return all.filter(({ isReceiving }) => isReceiving)
  }

  #check(): void {
    const receiving = this.#receiving()
    if (receiving.length === 0) {
      clearInterval(this.#checking)
      this.#checking = undefined
    }
    const { nowMs } = this
    for (const upload of receiving) {
      if (upload.isTooSlow(nowMs) || upload.keepsOthersWaiting(nowMs)) upload.cutOff()
    }
    if (this.#bytes > this.#bytesMax * BUSY_SHARE) this.#cutSlowest(nowMs)
  }

  #cutSlowest(nowMs: number): void {
    let slowest: Upload | undefined
    for (const upload of this.#receiving()) {
      if (upload.isWaiting || upload.ageMs(nowMs) < SLOW_AFTER_MS) continue
      if (slowest === undefined || upload.rate(nowMs) < slowest.rate(nowMs)) slowest = upload
    }
    slowest?.cutOff()
  }
}

/** The uploads of one user. */
class UserUploads {
  /** The oldest first. */
  readonly open = new Set<Upload>()
  readonly #waiting = new Map<Upload, () => void>()
  readonly #besideBytesMax: number
  readonly #clock: Clock
  #bytes = 0
  /** Of these, in answers that are not taken. */
  #answerBytes = 0
  /** When one last went on or ended, or the first began to wait. */
  #wentOnAtMs = 0

  constructor(besideBytesMax: number, clock: Clock) {
    this.#besideBytesMax = besideBytesMax
    this.#clock = clock
  }

  get isIdle(): boolean {
    return this.open.size === 0 && this.#answerBytes === 0
  }

  count(bytes: number): void {
    this.#bytes += bytes
    if (bytes < 0) this.#wake()
  }

  isWaiting(upload: Upload): boolean {
    return this.#waiting.has(upload)
  }

  /** Whether others wait for this one, and none of them has gone on for a while. */
  areStuckBehind(upload: Upload, nowMs: number): boolean {
    const [oldest] = this.open
    const isBehind = upload === oldest && this.#waiting.size > 0 && !this.isWaiting(upload)
    return isBehind && !this.#mustTakeAnswers() && nowMs - this.#wentOnAtMs >= SLOW_AFTER_MS
  }

  mayTake(upload: Upload, bytes: number): boolean {
    if (this.#mustTakeAnswers()) return false
    const bytesMax = this.#besideBytesMax / (upload.takenBytes === 0 ? 2 : 1)
    // Finding the oldest takes longer than all the rest.
    if (this.#bytes + bytes <= bytesMax) return true
    const [oldest] = this.open
    return upload === oldest || this.#bytes - (oldest?.takenBytes ?? 0) + bytes <= bytesMax
  }

  wait(upload: Upload, goOn: () => void): void {
    if (this.#waiting.size === 0) this.#wentOnAtMs = this.#clock.monotonicMs()
    this.#waiting.set(upload, goOn)
  }

  /** An upload is answered: only its answer counts any more. */
  keepAnswer(upload: Upload, bytes: number): void {
    this.open.delete(upload)
    this.#answerBytes += bytes
    this.count(bytes)
    this.#wake()
  }

  /** @param answerBytes of its answer, if that was kept */
  close(upload: Upload, answerBytes: number): void {
    this.#waiting.delete(upload)
    this.open.delete(upload)
    this.#answerBytes -= answerBytes
    this.#bytes -= upload.takenBytes + answerBytes
    if (this.#waiting.size === 0) return
    this.#wentOnAtMs = this.#clock.monotonicMs()
    // Also after one without a byte: another is the oldest then.
    this.#wake()
  }

  #wake(): void {
    const [oldest] = this.open
    if (oldest !== undefined && this.mayTake(oldest, oldest.wantedBytes)) this.#goOn(oldest)
    for (const upload of this.#waiting.keys()) {
      if (this.mayTake(upload, upload.wantedBytes)) this.#goOn(upload)
    }
  }

  /** Whether answers fill the part that uploads share. */
  #mustTakeAnswers(): boolean {
    return this.#answerBytes > this.#besideBytesMax
  }

  #goOn(upload: Upload): void {
    const goOn = this.#waiting.get(upload)
    if (this.#waiting.delete(upload)) this.#wentOnAtMs = this.#clock.monotonicMs()
    goOn?.()
  }
}

/** One body and then its answer, with their share of the budget. */
export class Upload {
  readonly user: UserUploads
  readonly #budget: UploadBudget
  readonly #bytesMin: number
  #startedAtMs = 0
  #rateFromMs = 0
  #rateBytes = 0
  #arrivedBytes = 0
  #takenBytes = 0
  #answerBytes = 0
  #wantedBytes = 0
  #isClosed = false
  #stop: ((reason: ServiceError) => void) | undefined

  constructor(budget: UploadBudget, user: UserUploads, bytesMin: number) {
    this.#budget = budget
    this.user = user
    this.#bytesMin = bytesMin
  }

  get takenBytes(): number {
    return this.#takenBytes
  }

  /** What it waits for. */
  get wantedBytes(): number {
    return this.#wantedBytes
  }

  get isReceiving(): boolean {
    return this.#stop !== undefined
  }

  get isWaiting(): boolean {
    return this.user.isWaiting(this)
  }

  /** @param stop called once when the upload is cut off because it is too slow */
  beginReceiving(stop: (reason: ServiceError) => void): void {
    this.#stop = stop
    this.#startedAtMs = this.#budget.nowMs
    this.#rateFromMs = this.#startedAtMs
    this.#budget.noteReceiving()
  }

  /**
   * Counts bytes that have arrived, or were decompressed.
   *
   * @returns when others of this user must be answered before it goes on
   * @throws ServiceError `overloaded`
   */
  take(bytes: number): Promise<void> | undefined {
    const beforeBytes = this.#arrivedBytes
    this.#arrivedBytes += bytes
    this.#rateBytes += bytes
    const countedBytes = beforeBytes === 0 ? 0 : Math.max(beforeBytes, this.#bytesMin)
    const more = Math.max(this.#arrivedBytes, this.#bytesMin) - countedBytes
    if (more === 0) return undefined
    if (!this.user.mayTake(this, more)) return this.#takeInTurn(more)
    this.#count(more)
    return undefined
  }

  /** Returns a part of it that is needed no more. */
  give(bytes: number): void {
    if (this.#isClosed) return
    this.#takenBytes -= bytes
    this.#budget.give(bytes)
    this.user.count(-bytes)
  }

  /** All of it has arrived: its rate no longer matters. */
  noteReceived(): void {
    // V8 keeps for a while what was in a set, and with this would keep the request.
    this.#stop = undefined
  }

  /** Its request is answered at length: counts the answer, until it is closed. */
  keepAnswer(bytes: number): void {
    this.noteReceived()
    this.give(this.#takenBytes)
    this.#answerBytes = bytes
    this.user.keepAnswer(this, bytes)
  }

  /** Its request is answered, or its answer is taken: returns its share of the budget. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.noteReceived()
    this.#budget.give(this.#takenBytes)
    this.user.close(this, this.#answerBytes)
  }

  isTooSlow(nowMs: number): boolean {
    const periodMs = nowMs - this.#rateFromMs
    if (this.isWaiting || periodMs < RATE_PERIOD_MS) return false
    const isSlow = this.#rateBytes < (BYTES_PER_SECOND_MIN * periodMs) / SECOND_MS
    this.#rateFromMs = nowMs
    this.#rateBytes = 0
    return isSlow
  }

  keepsOthersWaiting(nowMs: number): boolean {
    const isSlow = this.rate(nowMs) * SECOND_MS < AWAITED_BYTES_PER_SECOND_MIN
    return isSlow && this.user.areStuckBehind(this, nowMs)
  }

  ageMs(nowMs: number): number {
    return nowMs - this.#startedAtMs
  }

  /** Bytes per millisecond since it began. */
  rate(nowMs: number): number {
    return this.#arrivedBytes / Math.max(1, this.ageMs(nowMs))
  }

  cutOff(): void {
    const stop = this.#stop
    this.noteReceived()
    const detail = 'The body arrives too slowly.'
    stop?.(new ServiceError('request_timeout', { detail }))
  }

  #count(bytes: number): void {
    this.#budget.take(bytes)
    this.#takenBytes += bytes
    this.user.count(bytes)
  }

  #takeInTurn(bytes: number): Promise<void> {
    this.#wantedBytes = bytes
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const sinceMs = this.#budget.nowMs
    this.user.wait(this, () => {
      const waitedMs = this.#budget.nowMs - sinceMs
      this.#startedAtMs += waitedMs
      this.#rateFromMs += waitedMs
      try {
        this.#count(bytes)
        resolve()
      } catch (error) {
        reject(error)
      }
    })
    return promise
  }
}
