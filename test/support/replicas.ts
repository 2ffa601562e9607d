// Several services on one database, each in a process of its own, with one user and its token.

import { expect } from 'chai'
import type { Environment, RunningService } from './command.ts'
import { serve } from './command.ts'
import { createFleetToken } from './fleet-token.ts'
import { send, sendBatch } from './http.ts'
import type { TestAnswer } from './http.ts'
import type { Reading } from './influx-story.ts'

/** They keep nothing in it. */
const NO_FOLDER = 'nowhere'

export class Replicas {
  readonly token: string
  readonly #environment: Environment
  readonly #services: RunningService[]

  private constructor(token: string, environment: Environment, services: RunningService[]) {
    this.token = token
    this.#environment = environment
    this.#services = services
  }

  /** @param environment with DATABASE_URL */
  static async start(count: number, environment: Environment): Promise<Replicas> {
    const token = await createFleetToken(NO_FOLDER, 'fleet@example.org', environment)
    const starting = Array.from({ length: count }, () => serve(NO_FOLDER, environment))
    return new Replicas(token, environment, await Promise.all(starting))
  }

  get count(): number {
    return this.#services.length
  }

  url(at: number): string {
    return this.#services[at]?.url ?? ''
  }

  /** Ends one at once. */
  async kill(at: number): Promise<void> {
    await this.#services[at]?.stop('SIGKILL')
  }

  /** Starts another one in its place. */
  async replace(at: number): Promise<void> {
    this.#services[at] = await serve(NO_FOLDER, this.#environment)
  }

  async stop(): Promise<void> {
    const running = this.#services.splice(0).filter(({ child }) => {
      return child.exitCode === null && child.signalCode === null
    })
    await Promise.all(running.map((service) => service.stop()))
  }

  get(at: number, path: string): Promise<TestAnswer> {
    return send(this.url(at), { path, token: this.token })
  }

  async post(at: number, readings: readonly Reading[]): Promise<number> {
    return (await sendBatch(this.url(at), this.token, readings)).status
  }

  async deleteSensor(at: number, id: number): Promise<void> {
    const order = { method: 'DELETE', path: `/api/v1/sensors/${id}`, token: this.token }
    expect((await send(this.url(at), order)).status).to.equal(204)
  }

  async sensorId(at: number, serialNumber: string): Promise<number> {
    const { body } = await this.get(at, '/api/v1/sensors')
    const sensors = body.data as { readonly id: number; readonly sn: string }[]
    return sensors.find(({ sn }) => sn === serialNumber)?.id ?? 0
  }

  /** What a history has of a day, and whether it says that this is all. */
  async history(at: number, sensorId: number, day: string) {
    const next = new Date(Date.parse(day) + 86_400_000).toISOString()
    const range = `from=${new Date(day).toISOString()}&to=${next}&bucket=raw`
    const { status, body } = await this.get(at, `/api/v1/sensors/${sensorId}/measurements?${range}`)
    const points: readonly { readonly timestamp: string }[] = body.data?.points ?? []
    return { status, isComplete: body.data?.complete === true, count: points.length }
  }
}
