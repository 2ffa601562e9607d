// Progress of a long command: on a terminal a bar with rate and time left, elsewhere a plain line
// now and then.

import { grouped } from '../../domain/grouped.ts'
import type { Clock } from '../../ports/system.ts'

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
  readonly #total: number | undefined
  readonly #counted: string
  readonly #startedMs: number
  #what = ''
  #done = 0
  #count = 0
  #notLookedAt = 0
  #shownMs: number

  /** @param settings the total, `undefined` if unknown, and what is counted: `lines` */
  constructor(
    stream: Stream,
    clock: Clock,
    settings: { readonly total: number | undefined; readonly counted: string },
  ) {
    this.#stream = stream
    this.#clock = clock
    this.#total = settings.total
    this.#counted = settings.counted
    this.#startedMs = clock.monotonicMs()
    this.#shownMs = this.#startedMs
  }

  /** @param what the current step: `checking`, `storing` */
  begin(what: string): void {
    this.#what = what
    if (this.#stream.isTTY === true) this.#stream.write(`${CLEAR_LINE}${what} …`)
  }

  /** Adds to the part of the total that is done. */
  readonly advance = (amount: number): void => {
    this.#done += amount
  }

  /** Adds to the count from which the rate is computed. */
  count(amount: number): void {
    this.#count += amount
    this.#notLookedAt += amount
    // Reading the clock for every line would cost more than the line.
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
    const passedSeconds = (nowMs - this.#startedMs) / 1_000
    const rate = grouped(Math.round(this.#count / passedSeconds))
    const share = this.#share()
    const done = share === undefined ? this.#counts() : this.#bar(share, isTerminal)
    const left = share === undefined ? '' : `, ${secondsLeft(share, passedSeconds)} s left`
    const line = `${this.#what}${done}, ${rate} ${this.#counted}/s${left}`
    this.#stream.write(isTerminal ? `${CLEAR_LINE}${line}` : `${line}\n`)
  }

  #share(): number | undefined {
    if (this.#total === undefined) return undefined
    return Math.min(1, this.#done / Math.max(1, this.#total))
  }

  #bar(share: number, isTerminal: boolean): string {
    const filled = '█'.repeat(Math.round(share * BAR_CHARACTERS)).padEnd(BAR_CHARACTERS, '░')
    return `${isTerminal ? ` ${filled}` : ':'} ${Math.floor(share * 100)} %`
  }

  #counts(): string {
    return `: ${grouped(this.#count)} ${this.#counted}`
  }
}

function secondsLeft(share: number, passedSeconds: number): number {
  return share > 0 ? Math.ceil((passedSeconds * (1 - share)) / share) : 0
}
