// Goal: whoever applies live events to what they know has what a list shows, however much happens,
// however slowly they take it and however often they are cut off. Method: anything happens in any
// order to sensors on a real database; a client applies what it is told, and is compared.

import { expect } from 'chai'
import fc from 'fast-check'
import { SensorWatch } from '../../src/sensors/sensor-watch.ts'
import { LiveClient, ONLINE, shownOf } from '../support/live-client.ts'
import { WatchedSensors } from '../support/watched-sensors.ts'

const USER = 1
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']

function newWatch(sensors: WatchedSensors, watchedDeletionsMax = 1_000): SensorWatch {
  const settings = { ...ONLINE, watchedDeletionsMax }
  return new SensorWatch(USER, sensors, settings)
}

describe('Subscription', () => {
  let sensors: WatchedSensors

  beforeEach(() => {
    sensors = new WatchedSensors()
  })

  afterEach(() => sensors.close())

  const anyName = fc.constantFrom(...NAMES)
  const happenings = fc.array(
    fc.oneof(
      fc.record({
        what: fc.constant('submit' as const),
        name: anyName,
        tempCelsius: fc.integer(),
        ageMs: fc.constantFrom(0, 0, 0, 4_000_000, 90_000_000),
      }),
      fc.record({ what: fc.constant('rename' as const), name: anyName, alias: fc.string() }),
      fc.record({ what: fc.constant('delete' as const), name: anyName }),
      fc.record({ what: fc.constant('wait' as const), ms: fc.constantFrom(1, 30_000, 70_000) }),
      fc.record({ what: fc.constant('look' as const) }),
      fc.record({ what: fc.constant('take' as const), allowance: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ what: fc.constant('come again' as const) }),
    ),
    { maxLength: 40 },
  )
  type Happening = typeof happenings extends fc.Arbitrary<(infer One)[]> ? One : never

  async function happen(it: Happening, watch: SensorWatch, client: LiveClient): Promise<void> {
    const idOf = async (name: string) =>
      (await sensors.list(USER)).find(({ serialNumber }) => serialNumber === name)?.id ?? 0
    const { commands, bench } = sensors
    if (it.what === 'submit') sensors.submit(USER, [it.name], it)
    if (it.what === 'rename') commands.changeSensor(USER, await idOf(it.name), { alias: it.alias })
    if (it.what === 'delete') commands.deleteSensor(USER, await idOf(it.name))
    if (it.what === 'wait') bench.nowMs += it.ms
    if (it.what === 'look') await watch.look()
    if (it.what === 'take') await client.take(it.allowance)
    if (it.what === 'come again') await client.comeAgain()
  }

  it('brings a client to what a list shows, whatever happens', async () => {
    const story = fc.asyncProperty(
      happenings,
      fc.constantFrom(1, 1_000),
      async (all, deletions) => {
        const watch = newWatch(sensors, deletions)
        await watch.look()
        const client = new LiveClient(sensors, USER, watch)
        await client.load()
        for (const happening of all) await happen(happening, watch, client)
        await watch.look()
        await client.take(Infinity)
        expect(client.known).to.deep.equal(await shownOf(sensors, USER))
        for (const { sensor } of client.known) {
          expect(client.timesOf(sensor.id)).to.deep.equal(sensors.timesOf(sensor.id))
        }
        if (deletions > all.length) expect(client.resets).to.equal(0)
        expect(await client.take(Infinity), 'there is nothing more').to.equal(0)
      },
    )
    await fc.assert(story, { numRuns: 200 })
  })

  it('tells from when on a history has changed where one event stands for several', async () => {
    const watch = newWatch(sensors)
    sensors.submit(USER, ['a', 'b'])
    await watch.look()
    const client = new LiveClient(sensors, USER, watch)
    await client.load()
    const happened = async (name: string, ageMs: number) => {
      sensors.submit(USER, [name], { ageMs })
      await watch.look()
    }
    const isWhole = () =>
      client.known.every(({ sensor: { id } }) => {
        return String(client.timesOf(id)) === String(sensors.timesOf(id))
      })
    await happened('a', 90_000_000)
    await happened('b', 0)
    await happened('a', 0)
    // It takes the event of b, and breaks off before the one of a.
    sensors.submit(USER, ['b'])
    await client.take(1)
    expect(isWhole()).to.equal(false)
    await client.comeAgain()
    await watch.look()
    await client.take(Infinity)
    expect(isWhole()).to.equal(true)
  })

  it('is not asked for with an id that was not given', async () => {
    const watch = newWatch(sensors)
    await watch.look()
    sensors.control.readChanges = () => Promise.reject(new Error('it was asked'))
    expect(await watch.placeAfter('made.up')).to.equal(undefined)
  })

  it('keeps one event of a sensor for a client that takes nothing', async () => {
    const watch = newWatch(sensors)
    await watch.look()
    const client = new LiveClient(sensors, USER, watch)
    for (let temp = 0; temp < 100; temp++) {
      sensors.submit(USER, NAMES, { tempCelsius: temp })
      await watch.look()
    }
    expect(watch.size).to.be.lessThan(20)
    expect(await client.take(Infinity)).to.equal(NAMES.length)
    const temps = client.known.map(({ sensor }) => sensor.latest?.rawCelsius)
    expect(temps).to.deep.equal(NAMES.map(() => 99))
  })

  it('leaves no sensor out when a client takes less than happens', async () => {
    const watch = newWatch(sensors)
    await watch.look()
    const client = new LiveClient(sensors, USER, watch)
    for (let temp = 0; temp < 12; temp++) {
      sensors.submit(USER, NAMES, { tempCelsius: temp })
      await watch.look()
      await client.take(2)
    }
    const temps = client.known.map(({ sensor }) => sensor.latest?.rawCelsius ?? 0)
    expect(temps).to.have.length(NAMES.length)
    expect(Math.min(...temps), String(temps)).to.be.greaterThan(3)
  })

  it('resets a client that has missed more deletions than are kept', async () => {
    const watch = newWatch(sensors, 2)
    sensors.submit(USER, NAMES)
    await watch.look()
    const client = new LiveClient(sensors, USER, watch)
    for (const { id } of (await sensors.list(USER)).slice(0, 3)) {
      sensors.commands.deleteSensor(USER, id)
      await watch.look()
    }
    expect(await client.take(Infinity)).to.equal(1)
    expect(client.resets).to.equal(1)
    expect(client.known.length).to.equal(3)
  })
})
