// Limits the memory of all bodies being read, in bytes that have arrived: a size that a client only
// announces costs nothing. Nobody can keep others out by uploading slowly: a user has at most an
// eighth of the budget, an upload below 512 bytes a second is cut off (a daemon on GPRS has twice
// that), and while more than half of the budget is in use the slowest upload is cut off every
// second.

import { ServiceError, refusalError } from '../../domain/errors.ts'
import { SECOND_MS } from '../../domain/time.ts'
import type { Clock } from '../../ports/system.ts'

const BYTES_PER_SECOND_MIN = 512
/** The rate of an upload is measured over this period. */
const RATE_WINDOW_MS = 20 * SECOND_MS
/** An upload that has only just begun does not count as slow. */
const SLOW_AFTER_MS = 5 * SECOND_MS
const CHECK_EVERY_MS = SECOND_MS
/** The share of the budget that one user may take. */
const USER_SHARE = 1 / 8
/** Beyond this share of the budget, the slowest upload is cut off. */
const BUSY_SHARE = 1 / 2

export class UploadBudget {
  readonly #bytesMax: number
  readonly #clock: Clock
  readonly #receiving = new Set<Upload>()
  readonly #bytesOfUser = new Map<number, number>()
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
   * @param userId `undefined`: the user is not known yet, so no user's share is counted
   */
  open(userId: number | undefined): Upload {
    const upload = new Upload(this, userId, this.#clock.monotonicMs())
    this.#receiving.add(upload)
    this.#checking ??= setInterval(() => this.#check(), CHECK_EVERY_MS).unref()
    return upload
  }

  /** @throws ServiceError `overloaded` when the budget, or the user's share, has no room for it */
  take(userId: number | undefined, bytes: number): void {
    const ofUser = userId === undefined ? 0 : (this.#bytesOfUser.get(userId) ?? 0)
    const isUserFull = ofUser + bytes > this.#bytesMax * USER_SHARE
    if (this.#bytes + bytes > this.#bytesMax || isUserFull) throw refusalError('overloaded')
    this.#bytes += bytes
    if (userId !== undefined) this.#bytesOfUser.set(userId, ofUser + bytes)
  }

  give(userId: number | undefined, bytes: number): void {
    this.#bytes -= bytes
    if (userId === undefined) return
    // Removed only when nothing is being received: it may be needed again at once.
    this.#bytesOfUser.set(userId, (this.#bytesOfUser.get(userId) ?? 0) - bytes)
  }

  /** The upload has arrived, or has failed. */
  noteReceived(upload: Upload): void {
    this.#receiving.delete(upload)
  }

  #check(): void {
    if (this.#receiving.size === 0) {
      clearInterval(this.#checking)
      this.#checking = undefined
      for (const [userId, bytes] of this.#bytesOfUser) {
        if (bytes === 0) this.#bytesOfUser.delete(userId)
      }
    }
    const nowMs = this.#clock.monotonicMs()
    for (const upload of this.#receiving) {
      if (upload.isTooSlow(nowMs)) upload.cutOff()
    }
    if (this.#bytes > this.#bytesMax * BUSY_SHARE) this.#cutSlowest(nowMs)
  }

  #cutSlowest(nowMs: number): void {
    let slowest: Upload | undefined
    for (const upload of this.#receiving) {
      if (upload.ageMs(nowMs) < SLOW_AFTER_MS) continue
      if (slowest === undefined || upload.rate(nowMs) < slowest.rate(nowMs)) slowest = upload
    }
    slowest?.cutOff()
  }
}

/** One body being received, and its share of the budget. */
export class Upload {
  readonly #budget: UploadBudget
  readonly #userId: number | undefined
  readonly #startedAtMs: number
  #windowStartedAtMs: number
  #windowBytes = 0
  #arrivedBytes = 0
  #takenBytes = 0
  #stop: ((reason: ServiceError) => void) | undefined

  constructor(budget: UploadBudget, userId: number | undefined, nowMs: number) {
    this.#budget = budget
    this.#userId = userId
    this.#startedAtMs = nowMs
    this.#windowStartedAtMs = nowMs
  }

  /** @param stop called once when the upload is cut off */
  onTooSlow(stop: (reason: ServiceError) => void): void {
    this.#stop = stop
  }

  /** Counts bytes that have arrived. @throws ServiceError `overloaded` */
  arrive(bytes: number): void {
    this.#arrivedBytes += bytes
    this.#windowBytes += bytes
    this.take(bytes)
  }

  /** Takes more of the budget, for decompressed bytes. @throws ServiceError `overloaded` */
  take(bytes: number): void {
    this.#budget.take(this.#userId, bytes)
    this.#takenBytes += bytes
  }

  /** All of it has arrived: its rate no longer matters. */
  noteReceived(): void {
    this.#budget.noteReceived(this)
  }

  /** Returns its share of the budget. */
  close(): void {
    this.noteReceived()
    this.#budget.give(this.#userId, this.#takenBytes)
    this.#takenBytes = 0
  }

  isTooSlow(nowMs: number): boolean {
    const windowMs = nowMs - this.#windowStartedAtMs
    if (windowMs < RATE_WINDOW_MS) return false
    const isSlow = this.#windowBytes < (BYTES_PER_SECOND_MIN * windowMs) / SECOND_MS
    this.#windowStartedAtMs = nowMs
    this.#windowBytes = 0
    return isSlow
  }

  ageMs(nowMs: number): number {
    return nowMs - this.#startedAtMs
  }

  /** Bytes per millisecond since it began. */
  rate(nowMs: number): number {
    return this.#arrivedBytes / Math.max(1, this.ageMs(nowMs))
  }

  cutOff(): void {
    this.noteReceived()
    const detail = 'The body arrives too slowly.'
    this.#stop?.(new ServiceError('request_timeout', { detail }))
  }
}
