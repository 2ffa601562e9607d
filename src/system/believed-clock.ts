// The time, by the wall clock as far as it is believed. Anybody may set a wall clock, and wrong
// time servers do; nobody sets the machine's uptime, which counts suspension too. If one has moved
// against the other by more than a few minutes, the time goes on as before until the wall clock is
// back, or has stood still beside the uptime for a minute: then it was set right. Meanwhile nothing
// is accepted, since nobody can tell which of both is wrong.
//
// A clock that was wrong when it was first looked at cannot be told so. But it cannot be before
// what was already received, unless that was received with a wrong clock, which an operator knows.

import { DAY_MS, formatInstant, MINUTE_MS, SECOND_MS } from '../domain/time.ts'
import type { Clock, ClockDoubt, ClockWatch, Log, MachineClock } from '../ports/system.ts'

const LOOK_EVERY_MS = SECOND_MS
const MOVED_MS_MAX = 5 * MINUTE_MS
const STANDS_STILL_MS = MINUTE_MS
const BEFORE_RECEIPT_MS_MAX = DAY_MS
const AFTER_RECEIPT_MS_MAX = 30 * DAY_MS

const SET_IT = 'set the clock, and have it kept: `timedatectl set-ntp true`'
const ACCEPT = '`thermolog clock accept`'

/** The wall clock where it was last moved to: time since the start of the machine, and when. */
interface Moved {
  readonly aheadMs: number
  readonly sinceUptimeMs: number
}

export class BelievedClock implements Clock, ClockWatch {
  readonly #machine: MachineClock
  readonly #log: Log | undefined
  readonly #onMoved: ((byMs: number) => void)[] = []
  /** Wall time less uptime, as long as the wall clock is believed. */
  #aheadMs: number
  /** By the wall clock: what is read between two looks need not ask for the uptime. */
  #lookedAtMs: number
  #moved: Moved | undefined
  /** The time when the wall clock was last moved and believed. */
  #sinceMs = -Infinity
  /** The newest receipt, while the clock is before it. */
  #receiptMs: number | undefined
  #warning: string | undefined

  /** @param log `undefined`: another thread, with a clock of its own, says the same */
  constructor(machine: MachineClock, log?: Log) {
    this.#machine = machine
    this.#log = log
    const nowMs = machine.nowMs()
    this.#aheadMs = nowMs - machine.uptimeMs()
    this.#lookedAtMs = nowMs
  }

  nowMs(): number {
    const nowMs = this.#machine.nowMs()
    const isSoonAfterLook = isNear(nowMs, this.#lookedAtMs)
    if (isSoonAfterLook && this.#moved === undefined) return nowMs
    // It may have been moved, or the machine suspended.
    if (!isSoonAfterLook) this.look()
    return this.#machine.uptimeMs() + this.#aheadMs
  }

  monotonicMs(): number {
    return this.#machine.monotonicMs()
  }

  /** As it was when the time was last asked for, or looked at. */
  get doubt(): ClockDoubt | undefined {
    if (this.#receiptMs !== undefined) {
      const nowMs = this.nowMs()
      if (nowMs < this.#receiptMs) return beforeReceipt(nowMs, this.#receiptMs)
      this.#receiptMs = undefined
    }
    return this.#moved && movedBy(this.#moved.aheadMs - this.#aheadMs)
  }

  get warning(): string | undefined {
    return this.#warning
  }

  /** Looks every second from now on. @returns ends it */
  watch(): () => void {
    const timer = setInterval(() => this.look(), LOOK_EVERY_MS).unref()
    return () => clearInterval(timer)
  }

  /** Compares the wall clock with the uptime. */
  look(): void {
    const machine = this.#machine
    const nowMs = machine.nowMs()
    const uptimeMs = machine.uptimeMs()
    const aheadMs = nowMs - uptimeMs
    this.#lookedAtMs = nowMs
    if (isNear(aheadMs, this.#aheadMs)) {
      if (this.#moved !== undefined) this.#log?.info('the clock is back where it was')
      this.#moved = undefined
      this.#aheadMs = aheadMs
    } else if (this.#moved === undefined || !isNear(aheadMs, this.#moved.aheadMs)) {
      this.#moved = { aheadMs, sinceUptimeMs: uptimeMs }
      this.#log?.error('nothing is accepted', { reason: movedBy(aheadMs - this.#aheadMs).detail })
    } else if (uptimeMs - this.#moved.sinceUptimeMs >= STANDS_STILL_MS) this.#believe(aheadMs)
  }

  isOfNow(atMs: number): boolean {
    return atMs >= this.#sinceMs - MOVED_MS_MAX && atMs <= this.nowMs() + MOVED_MS_MAX
  }

  /**
   * Compares the clock with the newest receipt, once, before anything is accepted.
   *
   * @param newestMs when that was, by the clock of then; 0: there is none
   */
  compareWithReceipt(newestMs: number): void {
    const nowMs = this.nowMs()
    if (nowMs < newestMs - BEFORE_RECEIPT_MS_MAX) {
      this.#receiptMs = newestMs
      const { detail: reason, hint } = beforeReceipt(nowMs, newestMs)
      this.#log?.error('nothing is accepted', { reason, hint })
    } else if (newestMs > 0 && nowMs > newestMs + AFTER_RECEIPT_MS_MAX) {
      this.#warning =
        `The clock said ${formatInstant(nowMs)} at the start, ${lasting(nowMs - newestMs)} after ` +
        `the newest measurement was received: if it is right, ${ACCEPT} ends this warning.`
      this.#log?.warn(this.#warning)
    }
  }

  /** An operator says that the clock is right, wherever it was moved and whatever was received. */
  accept(): void {
    if (this.#moved !== undefined) this.#believe(this.#moved.aheadMs)
    this.#receiptMs = undefined
    this.#warning = undefined
  }

  /** Calls back when the wall clock was moved, and is believed. @param byMs ahead, or back */
  onMoved(call: (byMs: number) => void): void {
    this.#onMoved.push(call)
  }

  #believe(aheadMs: number): void {
    const byMs = aheadMs - this.#aheadMs
    this.#aheadMs = aheadMs
    this.#moved = undefined
    this.#sinceMs = this.#machine.nowMs()
    const now = formatInstant(this.#sinceMs)
    this.#log?.warn('the clock was moved, and is believed', { now })
    for (const call of this.#onMoved) call(byMs)
  }
}

function isNear(oneMs: number, otherMs: number): boolean {
  return Math.abs(oneMs - otherMs) <= MOVED_MS_MAX
}

function beforeReceipt(nowMs: number, receiptMs: number): ClockDoubt {
  const [now, receipt] = [formatInstant(nowMs), formatInstant(receiptMs)]
  return {
    detail: `The server's clock says ${now}, but a measurement was received at ${receipt}.`,
    hint: `${SET_IT}; if it is right, ${ACCEPT}`,
  }
}

function movedBy(ms: number): ClockDoubt {
  const way = ms > 0 ? 'ahead' : 'back'
  return {
    detail:
      `The server's clock was moved ${way} by ${lasting(Math.abs(ms))}: it is not believed until ` +
      'it is back, or has stood still for a minute.',
    hint: `wait a minute if it is right now; else ${SET_IT}`,
  }
}

/** A duration, roughly, for people. */
function lasting(ms: number): string {
  const days = Math.round(ms / DAY_MS)
  return days > 1 ? `${days} days` : `${Math.round(ms / MINUTE_MS)} minutes`
}
