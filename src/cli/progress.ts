// How far an import is: a bar with rate and time left on a terminal, a plain line now and then
// elsewhere.

import type { Clock } from '../../ports.ts'

interface Stream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

const REDRAW_MS = 200
const PLAIN_LINE_MS = 10_000
const BAR_CHARACTERS = 30
const CLEAR_LINE = '\r\u001B[K'

export class Progress {
  readonly #stream: Stream
  readonly #clock: Clock
  readonly #bytesTotal: number
  readonly #startedMs: number
  #what = ''
  #bytes = 0
  #lines = 0
  #shownMs: number

  constructor(stream: Stream, clock: Clock, bytesTotal: number) {
    this.#stream = stream
    this.#clock = clock
    this.#bytesTotal = bytesTotal
    this.#startedMs = clock.monotonicMs()
    this.#shownMs = this.#startedMs
  }

  /** @param what what is being done with the file: `checking`, `storing` */
  begin(what: string): void {
    this.#what = what
  }

  readonly onBytes = (bytes: number): void => {
    this.#bytes += bytes
  }

  line(): void {
    this.#lines++
    // A look at the clock for every line would cost more than the line.
    if (this.#lines % 1_000 === 0) this.#show()
  }

  end(): void {
    if (this.#stream.isTTY === true) this.#stream.write(CLEAR_LINE)
  }

  #show(): void {
    const isTerminal = this.#stream.isTTY === true
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#shownMs < (isTerminal ? REDRAW_MS : PLAIN_LINE_MS)) return
    this.#shownMs = nowMs
    const share = Math.min(1, this.#bytes / Math.max(1, this.#bytesTotal))
    const passedSeconds = (nowMs - this.#startedMs) / 1_000
    const rate = Math.round(this.#lines / passedSeconds).toLocaleString('en')
    const leftSeconds = share > 0 ? Math.ceil((passedSeconds * (1 - share)) / share) : 0
    const figures = `${Math.floor(share * 100)} %, ${rate} lines/s, ${leftSeconds} s left`
    const filled = '█'.repeat(Math.round(share * BAR_CHARACTERS)).padEnd(BAR_CHARACTERS, '░')
    const bar = isTerminal ? `${CLEAR_LINE}${this.#what} ${filled} ` : `${this.#what}: `
    this.#stream.write(`${bar}${figures}${isTerminal ? '' : '\n'}`)
  }
}
