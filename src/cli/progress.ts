// How far a long command is: a bar with rate and time left on a terminal, a plain line now and then
// elsewhere.

import type { Clock } from '../ports.ts'

interface Stream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

const LOOK_EVERY = 1_000
const REDRAW_MS = 200
const PLAIN_LINE_MS = 10_000
const BAR_CHARACTERS = 30
const CLEAR_LINE = '\r\u001B[K'

export class Progress {
  readonly #stream: Stream
  readonly #clock: Clock
  readonly #total: number
  readonly #counted: string
  readonly #startedMs: number
  #what = ''
  #done = 0
  #count = 0
  #notLookedAt = 0
  #shownMs: number

  /** @param settings how much is to be done altogether, and what is counted: `lines` */
  constructor(stream: Stream, clock: Clock, settings: { total: number; counted: string }) {
    this.#stream = stream
    this.#clock = clock
    this.#total = settings.total
    this.#counted = settings.counted
    this.#startedMs = clock.monotonicMs()
    this.#shownMs = this.#startedMs
  }

  /** @param what what is being done: `checking`, `storing` */
  begin(what: string): void {
    this.#what = what
  }

  /** So much more of the total is done. */
  readonly advance = (amount: number): void => {
    this.#done += amount
  }

  /** So much more is counted, for the rate. */
  count(amount: number): void {
    this.#count += amount
    this.#notLookedAt += amount
    // A look at the clock for every line would cost more than the line.
    if (this.#notLookedAt < LOOK_EVERY) return
    this.#notLookedAt = 0
    this.#show()
  }

  end(): void {
    if (this.#stream.isTTY === true) this.#stream.write(CLEAR_LINE)
  }

  #show(): void {
    const isTerminal = this.#stream.isTTY === true
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#shownMs < (isTerminal ? REDRAW_MS : PLAIN_LINE_MS)) return
    this.#shownMs = nowMs
    const share = Math.min(1, this.#done / Math.max(1, this.#total))
    const passedSeconds = (nowMs - this.#startedMs) / 1_000
    const rate = Math.round(this.#count / passedSeconds).toLocaleString('en')
    const leftSeconds = share > 0 ? Math.ceil((passedSeconds * (1 - share)) / share) : 0
    const pace = `${rate} ${this.#counted}/s, ${leftSeconds} s left`
    const filled = '█'.repeat(Math.round(share * BAR_CHARACTERS)).padEnd(BAR_CHARACTERS, '░')
    const bar = isTerminal ? `${CLEAR_LINE}${this.#what} ${filled} ` : `${this.#what}: `
    this.#stream.write(`${bar}${Math.floor(share * 100)} %, ${pace}${isTerminal ? '' : '\n'}`)
  }
}
