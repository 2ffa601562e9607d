// A daemon that sends batches, each again until it is acknowledged, and keeps what it delivered.

import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { sendBatch } from './http.ts'

const BATCH = 20
const AGAIN_AFTER_MS = 50

export class ResendingSender {
  readonly #sent: object[][] = []
  readonly #sn: string
  readonly #url: string
  readonly #token: string
  #isStopping = false
  readonly #running: Promise<void>

  constructor(sn: string, url: string, token: string) {
    this.#sn = sn
    this.#url = url
    this.#token = token
    this.#running = this.#send()
  }

  get count(): number {
    return this.#sent.length * BATCH
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }

  /** As a daemon that has kept what it delivered. */
  async sendAgain(): Promise<void> {
    for (const batch of this.#sent) expect(await this.#post(batch)).to.be.oneOf([200, 201])
  }

  async #send(): Promise<void> {
    while (!this.#isStopping) {
      const batch = Array.from({ length: BATCH }, (_, at) => ({
        event_id: `${this.#sn}/${this.#sent.length}/${at}`,
        sn: this.#sn,
        temp: at,
      }))
      while (![200, 201].includes(await this.#post(batch))) await setTimeout(AGAIN_AFTER_MS)
      this.#sent.push(batch)
    }
  }

  /** @returns the status; 0: no answer */
  async #post(batch: readonly object[]): Promise<number> {
    try {
      return (await sendBatch(this.#url, this.#token, batch)).status
    } catch (error) {
      if (error instanceof Error && 'code' in error) return 0
      throw error
    }
  }
}
