// A daemon that sends batches, each again until it is acknowledged, and keeps what it delivered.

import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { sendBatch } from './http.ts'
import type { TestAnswer } from './http.ts'

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

  /** As a daemon that has kept what it delivered. @returns how many were not known */
  async sendAgain(): Promise<number> {
    let created = 0
    for (const batch of this.#sent) {
      const answer = await this.#post(batch)
      expect(answer?.status).to.be.oneOf([200, 201])
      created += answer?.body.data.created as number
    }
    return created
  }

  async #send(): Promise<void> {
    while (!this.#isStopping) {
      const batch = Array.from({ length: BATCH }, (_, at) => ({
        event_id: `${this.#sn}/${this.#sent.length}/${at}`,
        sn: this.#sn,
        temp: at,
      }))
      while (!(await this.#isTaken(batch))) await setTimeout(AGAIN_AFTER_MS)
      this.#sent.push(batch)
    }
  }

  async #isTaken(batch: readonly object[]): Promise<boolean> {
    const answer = await this.#post(batch)
    return answer !== undefined && [200, 201].includes(answer.status)
  }

  /** @returns `undefined`: there is no answer */
  async #post(batch: readonly object[]): Promise<TestAnswer | undefined> {
    try {
      return await sendBatch(this.#url, this.#token, batch)
    } catch (error) {
      if (error instanceof Error && 'code' in error) return undefined
      throw error
    }
  }
}
