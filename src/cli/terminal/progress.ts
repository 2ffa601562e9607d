// Progress of a long command, on standard error: on a terminal a bar with rate and time left,
// elsewhere a plain line now and then; for some commands one after another.

import { counted, grouped } from '../../domain/grouped.ts'
import type { WorkProgress } from '../../ports/system.ts'
import { systemClock } from '../../system/clock.ts'
import type { Terminal } from './terminal.ts'

const LOOK_EVERY = 1_000
const REDRAW_MS = 200
const PLAIN_LINE_MS = 10_000
const BAR_CHARACTERS = 30
const CLEAR_LINE = '\r\u001B[K'

const BYTES_PER_MB = 1_000_000
/** A bar of bytes reads the clock once per this many counts: at every megabyte. */
const COUNTS_PER_MB = 1_000

export class Progress {
  readonly #terminal: Terminal
  readonly #total: number | undefined
  readonly #counted: string
  readonly #startedMs = systemClock.monotonicMs()
  #what = ''
  #done = 0
  #count = 0
  #notLookedAt = 0
  #shownMs = this.#startedMs

  /** @param total `undefined` if unknown @param noun what is counted: `lines` */
  constructor(terminal: Terminal, total: number | undefined, noun: string) {
    this.#terminal = terminal
    this.#total = total
    this.#counted = noun
  }

  /** @param what the current step: `checking`, `storing` */
  begin(what: string): void {
    this.#what = what
    if (this.#terminal.isWatched) this.#write(`${CLEAR_LINE}${what} …`)
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

  /** What else there is to say of the step. */
  note(text: string): void {
    this.#terminal.note(text)
  }

  end(): void {
    if (this.#terminal.isWatched) this.#write(CLEAR_LINE)
  }

  #show(): void {
    const isTerminal = this.#terminal.isWatched
    const nowMs = systemClock.monotonicMs()
    if (nowMs - this.#shownMs < (isTerminal ? REDRAW_MS : PLAIN_LINE_MS)) return
    this.#shownMs = nowMs
    const passedSeconds = (nowMs - this.#startedMs) / 1_000
    const rate = grouped(Math.round(this.#count / passedSeconds))
    const share = this.#share()
    const done = share === undefined ? this.#counts() : this.#bar(share, isTerminal)
    const left = share === undefined ? '' : `, ${secondsLeft(share, passedSeconds)} s left`
    const line = `${this.#what}${done}, ${rate} ${this.#counted}/s${left}`
    this.#write(isTerminal ? `${CLEAR_LINE}${line}` : `${line}\n`)
  }

  #write(text: string): void {
    this.#terminal.io.stderr.write(text)
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

/** Of a command that moves bytes: one bar after another. */
export class ByteProgress {
  readonly #terminal: Terminal
  #current: Progress | undefined

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  begin(what: string, totalBytes: number): void {
    this.end()
    this.#current = new Progress(this.#terminal, totalBytes, 'kB')
    this.#current.begin(what)
  }

  advance(bytes: number): void {
    this.#current?.advance(bytes)
    this.#current?.count((bytes / BYTES_PER_MB) * COUNTS_PER_MB)
  }

  end(): void {
    this.#current?.end()
    this.#current = undefined
  }
}

/** Of a command of several steps: one bar after another. */
export class StepProgress implements WorkProgress {
  readonly #terminal: Terminal
  #current: Progress | undefined

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  begin(what: string, total: number, noun: string): void {
    this.end()
    this.#terminal.note(`${what}: ${counted(total, noun)}`)
    this.#current = new Progress(this.#terminal, total, `${noun}s`)
    this.#current.begin(what)
  }

  note(text: string): void {
    this.#terminal.note(text)
  }

  advance(amount: number): void {
    this.#current?.advance(amount)
    this.#current?.count(amount)
  }

  end(): void {
    this.#current?.end()
    this.#current = undefined
  }
}
