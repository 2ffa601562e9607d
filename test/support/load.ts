// Senders that send all the time to several services, one after the other, and send again what was
// not acknowledged, as daemons do.

import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { readingsOf } from './influx-story.ts'
import type { Reading } from './influx-story.ts'
import { sendBatch } from './http.ts'
import type { Replicas } from './replicas.ts'
import { until } from './until.ts'

const DAY = '2026-03-10'
const AGAIN_AFTER_MS = 50
const MORE_MS_MAX = 60_000

export class Load {
  /** What was acknowledged, by serial number. */
  readonly acknowledged = new Map<string, Reading[]>()
  /** The most often that something was sent before it was acknowledged. */
  sendsMax = 0
  readonly #replicas: Replicas
  readonly #running: Promise<void>[]
  #isStopping = false

  constructor(replicas: Replicas, settings: { readonly senders: number; readonly batch: number }) {
    this.#replicas = replicas
    this.#running = Array.from({ length: settings.senders }, (_, at) =>
      this.#send(at, settings.batch),
    )
  }

  get count(): number {
    return [...this.acknowledged.values()].reduce((sum, { length }) => sum + length, 0)
  }

  /** Goes on until so many more are acknowledged. */
  async more(count: number): Promise<void> {
    const wanted = this.count + count
    await until(`${count} more are acknowledged`, () => this.count >= wanted, MORE_MS_MAX)
  }

  /** Lets each sender finish what it has begun. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#running)
  }

  /** Sends everything again. @returns how many were not known */
  async sendAgain(): Promise<number> {
    let created = 0
    for (const readings of this.acknowledged.values()) {
      for (let at = 0; at < readings.length; at += 500) {
        const { token } = this.#replicas
        const batch = readings.slice(at, at + 500)
        const { status, body } = await sendBatch(this.#replicas.url(0), token, batch)
        expect(status).to.be.oneOf([200, 201])
        expect(body.data.conflicts).to.equal(0)
        created += body.data.created as number
      }
    }
    return created
  }

  /** Each acknowledged measurement is in the histories, once. */
  async expectWhole(): Promise<void> {
    for (const [sn, readings] of this.acknowledged) {
      const id = await this.#replicas.sensorId(0, sn)
      await until(`all measurements of ${sn}`, async () => {
        return (await this.#replicas.history(0, id, DAY)).isComplete
      })
      const { count } = await this.#replicas.history(0, id, DAY)
      expect(count, `measurements of ${sn}`).to.equal(readings.length)
    }
  }

  async #send(at: number, batch: number): Promise<void> {
    const sn = `sensor-${at}`
    const sent: Reading[] = []
    this.acknowledged.set(sn, sent)
    for (let turn = at; !this.#isStopping; turn++) {
      const readings = readingsOf(sn, sent.length, batch)
      for (let sends = 1; ; sends++, turn++) {
        this.sendsMax = Math.max(this.sendsMax, sends)
        if (await this.#isTaken(turn, readings)) break
        await pause(AGAIN_AFTER_MS)
      }
      sent.push(...readings)
    }
  }

  async #isTaken(turn: number, readings: readonly Reading[]): Promise<boolean> {
    try {
      const status = await this.#replicas.post(turn % this.#replicas.count, readings)
      return status === 200 || status === 201
    } catch (error) {
      if (error instanceof Error && 'code' in error) return false
      throw error
    }
  }
}
