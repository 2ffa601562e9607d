// Notices when an InfluxDB that has left a question without an answer answers again, so that the
// questions after it need not wait as long.
//
// It does nothing until a question was met with silence; then it asks for /ping until that is
// answered, in whatever way: the next question shows what is wrong. So a query that takes too long
// keeps others from nothing, as InfluxDB answers pings meanwhile.

import { setTimeout } from 'node:timers/promises'
import { SECOND_MS } from '../domain/time.ts'
import { InfluxConnection, InfluxUnreachable } from './connection.ts'
import type { InfluxTarget } from './connection.ts'

/** With a socket of its own, which no query holds; a far server may need seconds to connect. */
const PINGS = { socketsMax: 1, timeoutMs: 5 * SECOND_MS }

/** If a ping is not answered within this time, questions are refused. */
const PATIENCE_MS = SECOND_MS
const PAUSE_MS = SECOND_MS

export class SilenceWatch {
  readonly #connection: InfluxConnection
  #isSilent: boolean | Promise<boolean> = false

  constructor(target: InfluxTarget) {
    this.#connection = new InfluxConnection(target, PINGS)
  }

  /** Whether nothing is answered; waits for that no longer than a second after a silence. */
  async isSilent(): Promise<boolean> {
    return this.#isSilent
  }

  /** To be told of each question that was met with silence. */
  noteSilence(): void {
    if (this.#isSilent !== false) return
    const pings = this.#pingUntilAnswered()
    this.#isSilent = Promise.race([pings, setTimeout(PATIENCE_MS, true, { ref: false })])
  }

  close(): void {
    this.#connection.close()
  }

  async #pingUntilAnswered(): Promise<false> {
    while (await this.#isPingUnanswered()) await setTimeout(PAUSE_MS, undefined, { ref: false })
    this.#isSilent = false
    return false
  }

  async #isPingUnanswered(): Promise<boolean> {
    try {
      await this.#connection.exchange({ method: 'GET', path: '/ping' })
      return false
    } catch (error) {
      if (!(error instanceof InfluxUnreachable)) throw error
      return error.isSilence
    }
  }
}
