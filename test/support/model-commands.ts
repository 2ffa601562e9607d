// The commands of the model test: each acts on the real service and on the model, and holds one
// against the other.

import { expect } from 'chai'
import fc from 'fast-check'
import { serve } from './command.ts'
import type { Environment, RunningService } from './command.ts'
import { createFleetToken } from './fleet-token.ts'
import { send } from './http.ts'
import type { TestAnswer } from './http.ts'
import { historyOf, summariesOf } from './service-model.ts'
import type { AnsweredItem, ModelEvent, ServiceModel } from './service-model.ts'
import { until } from './until.ts'

const HOUR_MS = 3_600_000
const SERIAL_NUMBERS = ['cellar', 'attic', 'barn']
/** Few, so that many meet. */
const TIMES = ['2026-03-10T10:00:00.000Z', '2026-03-10T10:00:00.001Z', '2026-03-10T11:30:00.000Z']
const TEMPS = [-4.5, 0, 21.25]
const EVENT_IDS_MAX = 12

/** A service that can be killed, and one user of it. */
export class RealService {
  readonly #dataDir: string
  readonly #settings: Environment
  #service: RunningService | undefined
  #users = 0
  #token = ''

  constructor(dataDir: string, settings: Environment) {
    this.#dataDir = dataDir
    this.#settings = { ...settings, RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0' }
  }

  async start(): Promise<void> {
    this.#service = await serve(this.#dataDir, this.#settings)
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.#service?.stop(signal)
    this.#service = undefined
  }

  /** Everything from now on is of a user of its own. */
  async newUser(): Promise<void> {
    const email = `user-${++this.#users}@example.org`
    this.#token = await createFleetToken(this.#dataDir, email, this.#settings)
  }

  call(method: string, path: string, body?: unknown): Promise<TestAnswer> {
    const order = { method, path: `/api/v1/${path}`, token: this.#token }
    return send(this.#service?.url ?? '', body === undefined ? order : { ...order, body })
  }

  async forwarded(): Promise<void> {
    await until('the journal is forwarded', async () => {
      const { body } = await send(this.#service?.url ?? '', { path: '/readyz' })
      return body.backlog.entries === 0
    })
  }
}

abstract class Command implements fc.AsyncCommand<ServiceModel, RealService> {
  check(_model: Readonly<ServiceModel>): boolean {
    return true
  }

  abstract run(model: ServiceModel, real: RealService): Promise<void>
  abstract toString(): string
}

class Submit extends Command {
  readonly #events: readonly ModelEvent[]

  constructor(events: readonly ModelEvent[]) {
    super()
    this.#events = events
  }

  async run(model: ServiceModel, real: RealService): Promise<void> {
    model.submissions.push(this.#events)
    await submit(this.#events, model, real)
  }

  toString(): string {
    return `submit ${JSON.stringify(this.#events)}`
  }
}

async function submit(
  events: readonly ModelEvent[],
  model: ServiceModel,
  real: RealService,
): Promise<void> {
  const wanted = model.decide(events)
  const answer = await real.call('POST', 'measurements/batch', { measurements: events })
  expect(answer.status, answer.text).to.equal(wanted.includes('created') ? 201 : 200)
  const items = answer.body.data.measurements as AnsweredItem[]
  expect(items.map(({ status }) => status)).to.deep.equal(wanted)
  expect(model.accept(events, items)).to.equal(undefined)
}

class SubmitOne extends Command {
  readonly #event: ModelEvent

  constructor(event: ModelEvent) {
    super()
    this.#event = event
  }

  async run(model: ServiceModel, real: RealService): Promise<void> {
    const [wanted = 'created'] = model.decide([this.#event])
    const answer = await real.call('POST', 'measurements', this.#event)
    const statuses = { created: 201, duplicate: 200, conflict: 409 }
    expect(answer.status, answer.text).to.equal(statuses[wanted])
    if (wanted === 'conflict') return
    expect(model.accept([this.#event], [answer.body.data as AnsweredItem])).to.equal(undefined)
  }

  toString(): string {
    return `submit one ${JSON.stringify(this.#event)}`
  }
}

/** All or nothing: with one bad element nothing of a batch is there. */
class SubmitBad extends Command {
  readonly #events: readonly ModelEvent[]

  constructor(events: readonly ModelEvent[]) {
    super()
    this.#events = [...events, { event_id: 'bad', sn: 'never', temp: 1e6 }]
  }

  async run(_model: ServiceModel, real: RealService): Promise<void> {
    const answer = await real.call('POST', 'measurements/batch', { measurements: this.#events })
    expect(answer.status).to.equal(422)
  }

  toString(): string {
    return `submit bad ${JSON.stringify(this.#events)}`
  }
}

class Retry extends Command {
  readonly #which: number

  constructor(which: number) {
    super()
    this.#which = which
  }

  override check(model: Readonly<ServiceModel>): boolean {
    return model.submissions.length > 0
  }

  async run(model: ServiceModel, real: RealService): Promise<void> {
    const events = model.submissions[this.#which % model.submissions.length] ?? []
    await submit(events, model, real)
  }

  toString(): string {
    return `retry ${this.#which}`
  }
}

class Delete extends Command {
  readonly #sn: string

  constructor(sn: string) {
    super()
    this.#sn = sn
  }

  override check(model: Readonly<ServiceModel>): boolean {
    return model.sensors.has(this.#sn)
  }

  async run(model: ServiceModel, real: RealService): Promise<void> {
    const path = `sensors/${model.sensors.get(this.#sn)?.id}`
    expect((await real.call('DELETE', path)).status).to.equal(204)
    expect((await real.call('DELETE', path)).status).to.equal(404)
    model.sensors.delete(this.#sn)
  }

  toString(): string {
    return `delete ${this.#sn}`
  }
}

class Change extends Command {
  readonly #sn: string
  readonly #change: { readonly alias: string; readonly compensation: number }

  constructor(sn: string, alias: string, compensation: number) {
    super()
    this.#sn = sn
    this.#change = { alias, compensation }
  }

  override check(model: Readonly<ServiceModel>): boolean {
    return model.sensors.has(this.#sn)
  }

  async run(model: ServiceModel, real: RealService): Promise<void> {
    const sensor = model.sensors.get(this.#sn)
    const { status } = await real.call('PATCH', `sensors/${sensor?.id}`, this.#change)
    expect(status).to.equal(200)
    if (sensor !== undefined) Object.assign(sensor, this.#change)
  }

  toString(): string {
    return `change ${this.#sn} ${JSON.stringify(this.#change)}`
  }
}

class Crash extends Command {
  async run(_model: ServiceModel, real: RealService): Promise<void> {
    await real.stop('SIGKILL')
    await real.start()
  }

  toString(): string {
    return 'crash'
  }
}

class Flush extends Command {
  async run(_model: ServiceModel, real: RealService): Promise<void> {
    await real.forwarded()
  }

  toString(): string {
    return 'flush'
  }
}

/** Lists and histories of all sensors. */
export class Read extends Command {
  async run(model: ServiceModel, real: RealService): Promise<void> {
    const { body } = await real.call('GET', 'sensors')
    const listed = (body.data as { sn: string }[]).map(({ sn }) => sn)
    expect(listed).to.have.members([...model.sensors.keys()])
    for (const row of body.data) {
      const sensor = model.sensors.get(row.sn)
      if (sensor === undefined) continue
      const { id, alias, compensation } = sensor
      expect(row).to.deep.include({ id, alias, compensation })
      expect(row.latest).to.deep.include(historyOf(sensor).at(-1))
    }
    await real.forwarded()
    for (const sensor of model.sensors.values()) {
      const times = sensor.points.map(({ timestamp }) => Date.parse(timestamp))
      const from = new Date(Math.min(...times)).toISOString()
      const to = new Date(Math.max(...times) + 1).toISOString()
      const history = async (bucket: string) => {
        const path = `sensors/${sensor.id}/measurements?from=${from}&to=${to}&bucket=${bucket}`
        const answer = await real.call('GET', path)
        expect(answer.body.data.complete).to.equal(true)
        return answer.body.data.points as unknown
      }
      expect(await history('hour')).to.deep.equal(summariesOf(sensor, HOUR_MS))
      const isShort = Math.max(...times) - Math.min(...times) < 7 * 24 * HOUR_MS
      if (isShort) expect(await history('raw')).to.deep.equal(historyOf(sensor))
    }
  }

  toString(): string {
    return 'read'
  }
}

const serialNumbers = fc.constantFrom(...SERIAL_NUMBERS)
const events = fc
  .record(
    {
      event_id: fc.nat(EVENT_IDS_MAX).map((at) => `event ${at}`),
      sn: serialNumbers,
      temp: fc.constantFrom(...TEMPS),
      timestamp: fc.constantFrom(...TIMES),
    },
    { requiredKeys: ['event_id', 'sn', 'temp'] },
  )
  .map((event) => event as ModelEvent)
const submissions = fc.array(events, { minLength: 1, maxLength: 8 })

/** Every command, in proportion. */
export const allCommands: fc.Arbitrary<fc.AsyncCommand<ServiceModel, RealService>>[] = [
  submissions.map((one) => new Submit(one)),
  submissions.map((one) => new Submit(one)),
  events.map((one) => new SubmitOne(one)),
  submissions.map((one) => new SubmitBad(one)),
  fc.nat(20).map((which) => new Retry(which)),
  serialNumbers.map((sn) => new Delete(sn)),
  fc
    .tuple(serialNumbers, fc.constantFrom('Cellar', '☀', 'x'), fc.constantFrom(-1.5, 0, 0.25))
    .map(([sn, alias, compensation]) => new Change(sn, alias, compensation)),
  fc.constant(new Crash()),
  fc.constant(new Flush()),
  fc.constant(new Read()),
]
