// What every keeper of control data promises to clients that keep sensors and histories.
// Goal: a client that follows the cursor always has what one that reloads gets. Method: random
// histories of submissions, late data, changes, deletions, starts and restores, with several
// clients that ask at times of their own, against what the test itself knows to be stored.

import { expect } from 'chai'
import fc from 'fast-check'
import { compensate, isOnline, onlineTimes } from '../../src/domain/sensor.ts'
import type { Sensor } from '../../src/domain/sensor.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/domain/time.ts'
import { accept, measurement, newUser, NOW_MS, PERMISSIVE } from './open-data.ts'
import type { NewData, OpenData, TestData } from './open-data.ts'

const ONLINE = { offlineAfterMs: 15 * MINUTE_MS, futureMsMax: PERMISSIVE.futureMsMax }
const CLIENTS = 3
/** Of three sensors and more that are deleted. */
const FEW = 1
const NAMES = ['cellar', 'attic', 'roof']

interface Reading {
  readonly atMs: number
  readonly celsius: number
}

/** Sensors as they are shown, and histories by sensor: what a reload gets. */
interface Truth {
  readonly sensors: Map<number, object>
  readonly histories: Map<number, readonly Reading[]>
}

/** How old a measurement is when it arrives. */
const AGES_MS = [
  0,
  0,
  0,
  1_000,
  -4 * MINUTE_MS,
  5 * MINUTE_MS,
  3 * HOUR_MS,
  2 * DAY_MS,
  40 * DAY_MS,
]
const WAITS_MS = [0, 1, MINUTE_MS, 16 * MINUTE_MS, HOUR_MS, 7 * HOUR_MS, 3 * DAY_MS, 12 * DAY_MS]

/** How far the clock of the service is wrong, for a while. */
const STEPS_MS = [20 * MINUTE_MS, 400 * DAY_MS].flatMap((stepMs) => [stepMs, -stepMs])

const age = fc.constantFrom(...AGES_MS)
const name = fc.constantFrom(...NAMES)
const action = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(fc.constant('send'), name, age, fc.integer({ max: 40 })) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('wait'), fc.constantFrom(...WAITS_MS)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('step'), fc.constantFrom(...STEPS_MS)) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constant('calibrate'), name, fc.integer({ max: 3, min: -3 })),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constant('rename'), name) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('delete'), name) },
  { weight: 1, arbitrary: fc.constant(['start'] as const) },
  { weight: 1, arbitrary: fc.constant(['back up'] as const) },
  { weight: 1, arbitrary: fc.constant(['restore'] as const) },
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constant('follow'), fc.integer({ max: CLIENTS - 1, min: 0 })),
  },
)

/** One client: what it has, and how far it has followed. */
class Client {
  #cursor: string | undefined
  #askedAtMs = 0
  readonly #sensors = new Map<number, object>()
  readonly #histories = new Map<number, readonly Reading[]>()

  async follow(
    { control }: OpenData,
    { userId, nowMs }: { readonly userId: number; readonly nowMs: number },
    truth: Truth,
  ): Promise<void> {
    const question = { userId, online: onlineTimes(nowMs, ONLINE), since: this.#cursor }
    const few = await control.readFewChanges(question, FEW)
    const changes = await control.readChanges(question)
    const isFew = !changes.isReset && changes.sensors.length + changes.deletedIds.length <= FEW
    expect(few).to.deep.equal(isFew ? changes : undefined)
    if (changes.isReset) {
      this.#sensors.clear()
      this.#histories.clear()
      for (const [id, history] of truth.histories) this.#histories.set(id, history)
    }
    for (const sensor of changes.sensors) this.#sensors.set(sensor.id, shown(sensor, nowMs))
    for (const id of changes.deletedIds) {
      this.#sensors.delete(id)
      this.#histories.delete(id)
    }
    for (const { sensorId, acceptedFromMs, isCompensated } of changes.histories) {
      if (acceptedFromMs !== undefined) this.#expectPrecise(sensorId, acceptedFromMs, nowMs)
      if (isCompensated) expect(this.isCalibrated).to.equal(true)
      const from = isCompensated ? -Infinity : (acceptedFromMs ?? Infinity)
      const kept = this.#histories.get(sensorId) ?? []
      const read = truth.histories.get(sensorId) ?? []
      this.#histories.set(sensorId, [
        ...kept.filter(({ atMs }) => atMs < from),
        ...read.filter(({ atMs }) => atMs >= from),
      ])
    }
    expect(this.#sensors).to.deep.equal(truth.sensors)
    expect(this.#histories).to.deep.equal(truth.histories)
    this.#cursor = changes.cursor
    this.#askedAtMs = nowMs
    this.isCalibrated = false
    this.isStepped = false
    this.oldestAtMs.clear()
  }

  /** Whether a compensation was changed since it asked. */
  isCalibrated = false
  /** Whether the clock was set since then: what is kept of histories goes by it. */
  isStepped = false
  /** Of what was accepted since then, by sensor. */
  readonly oldestAtMs = new Map<number, number>()

  #expectPrecise(sensorId: number, fromMs: number, nowMs: number): void {
    if (fromMs === -Infinity) {
      expect(this.isStepped || nowMs - this.#askedAtMs > 7 * DAY_MS).to.equal(true)
    } else {
      const oldestAtMs = this.oldestAtMs.get(sensorId) ?? NaN
      expect(fromMs).to.be.within(oldestAtMs - HOUR_MS, oldestAtMs)
    }
  }
}

function shown(sensor: Sensor, nowMs: number): object {
  const { dataVersion: _dataVersion, ...rest } = sensor
  return { ...rest, isOnline: isOnline(sensor, onlineTimes(nowMs, ONLINE)) }
}

/** Declares the suite for one engine. */
export function describeChanges(engine: string, newData: NewData): void {
  describe(`${engine}, asked for changes`, () => {
    it('tells of all of a history when it is not known any more from when on', async () => {
      const world = await World.open(await newData(PERMISSIVE))
      const late: Action = ['send', 'cellar', 40 * DAY_MS, 7]
      const now: Action = ['send', 'cellar', 0, 8]
      const order: Action[] = [now, ['follow', 0], late, ['wait', HOUR_MS], now]
      for (const one of [...order, ['wait', 12 * DAY_MS], now]) await world.run(one)
      await world.run(['follow', 0])
      await world.close()
    })

    it('tells every client all that differs from what it has', async () => {
      const runs = fc.array(action, { minLength: 30, maxLength: 60 })
      await fc.assert(
        fc.asyncProperty(runs, async (actions) => {
          const files = await newData(PERMISSIVE)
          const world = await World.open(files)
          try {
            for (const one of actions) await world.run(one)
            for (let client = 0; client < CLIENTS; client++) await world.run(['follow', client])
          } finally {
            await world.close()
          }
        }),
        // Shrinking would take minutes.
        { numRuns: Number(process.env['CHANGES_RUNS'] ?? 4), endOnFailure: true },
      )
    })
  })
}

type Action = readonly (string | number)[]

class World {
  readonly #files: TestData
  #data: OpenData
  readonly #userId: number
  #nowMs = NOW_MS
  #readings = new Map<number, Reading[]>()
  #backup: { restore: () => Promise<void>; readings: Map<number, Reading[]> } | undefined
  readonly #clients = Array.from({ length: CLIENTS }, () => new Client())

  private constructor(files: TestData, data: OpenData, userId: number) {
    this.#files = files
    this.#data = data
    this.#userId = userId
  }

  static async open(files: TestData): Promise<World> {
    const data = await files.open()
    return new World(files, data, await newUser(data))
  }

  async close(): Promise<void> {
    await this.#data.close()
    await this.#files.remove()
  }

  async run([kind, ...args]: Action): Promise<void> {
    if (kind === 'wait') this.#nowMs += Number(args[0])
    if (kind === 'step') this.#step(Number(args[0]))
    if (kind === 'send') await this.#send(String(args[0]), Number(args[1]), Number(args[2]))
    if (kind === 'calibrate') await this.#change(String(args[0]), Number(args[1]))
    if (kind === 'rename') await this.#change(String(args[0]), undefined)
    if (kind === 'delete') await this.#delete(String(args[0]))
    if (kind === 'start') await this.#restart(async () => undefined)
    if (kind === 'back up') await this.#backUp()
    if (kind === 'restore') await this.#restore()
    if (kind === 'follow') await this.#follow(Number(args[0]))
  }

  #step(stepMs: number): void {
    this.#nowMs += stepMs
    for (const client of this.#clients) client.isStepped = true
  }

  async #send(serialNumber: string, ageMs: number, celsius: number): Promise<void> {
    const measuredAtMs = this.#nowMs - ageMs
    const one = measurement({ serialNumber, measuredAtMs, tempCelsius: celsius })
    const submission = { userId: this.#userId, receivedAtMs: this.#nowMs, measurements: [one] }
    const { sensorId } = (await accept(this.#data, submission)).at(0)
    const readings = this.#readings.get(sensorId) ?? []
    this.#readings.set(sensorId, [...readings, { atMs: measuredAtMs, celsius }])
    for (const { oldestAtMs } of this.#clients) {
      const oldest = Math.min(oldestAtMs.get(sensorId) ?? Infinity, measuredAtMs)
      oldestAtMs.set(sensorId, oldest)
    }
  }

  async #find(serialNumber: string): Promise<Sensor | undefined> {
    const sensors = await this.#data.control.listSensors(this.#userId)
    return sensors.find((sensor) => sensor.serialNumber === serialNumber)
  }

  async #change(serialNumber: string, compensationCelsius: number | undefined): Promise<void> {
    const sensor = await this.#find(serialNumber)
    if (sensor === undefined) return
    const change =
      compensationCelsius === undefined
        ? { alias: `${serialNumber} ${this.#nowMs}` }
        : { compensationCelsius }
    await this.#data.controlWriter.changeSensor(this.#userId, sensor.id, change)
    if (compensationCelsius !== undefined) this.#calibrated()
  }

  #calibrated(): void {
    for (const client of this.#clients) client.isCalibrated = true
  }

  async #delete(serialNumber: string): Promise<void> {
    const sensor = await this.#find(serialNumber)
    if (sensor === undefined) return
    await this.#data.controlWriter.deleteSensor(this.#userId, sensor.id)
    this.#readings.delete(sensor.id)
  }

  async #restart(between: () => Promise<void>): Promise<void> {
    await this.#data.close()
    await between()
    this.#data = await this.#files.open()
  }

  async #backUp(): Promise<void> {
    await this.#restart(async () => {
      const restore = await this.#files.backUp?.()
      if (restore !== undefined) this.#backup = { restore, readings: new Map(this.#readings) }
    })
  }

  async #restore(): Promise<void> {
    const backup = this.#backup
    if (backup === undefined) return
    await this.#restart(backup.restore)
    this.#readings = new Map(backup.readings)
    this.#backup = undefined
  }

  async #follow(client: number): Promise<void> {
    const sensors = await this.#data.control.listSensors(this.#userId)
    const truth: Truth = { sensors: new Map(), histories: new Map() }
    for (const sensor of sensors) {
      truth.sensors.set(sensor.id, shown(sensor, this.#nowMs))
      const readings = this.#readings.get(sensor.id)
      if (readings === undefined) continue
      const inOrder = readings.toSorted((one, other) => one.atMs - other.atMs)
      const compensated = inOrder.map(({ atMs, celsius }) => {
        return { atMs, celsius: compensate(celsius, sensor.compensationCelsius) }
      })
      truth.histories.set(sensor.id, compensated)
    }
    const order = { userId: this.#userId, nowMs: this.#nowMs }
    await this.#clients[client]?.follow(this.#data, order, truth)
  }
}
